"""The options of `rocketns get`, `diff`, `top`, `health`, `access`, `decode`, `views` and `completion`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence

from rocketns.addresses import listed, read_server
from rocketns.languages import parsers
from rocketns.languages.parsers import Parser
from rocketns.tools.keys import add_connection_options

DEFAULT_ADDR = "127.0.0.1:9876"
SERVERS_MAX = 16
SETTLE_SECONDS = 5.0
TIMEOUT_SECONDS = 10.0
INTERVAL_SECONDS = 2.0
DAY_S = 86_400.0
PER_SECOND_MAX = 1_000_000
SHELLS = ("bash", "zsh")
DIGITS_MAX = 15  # of a number
_PART = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)"
# The parts of a time in their order, from days to ms; or a number alone.
_DURATION = re.compile("".join(f"(?:{_PART}{unit})?" for unit in ("d", "h", "m(?!s)", "s", "ms")) + f"|{_PART}")
_PARTS_S = (86_400.0, 3_600.0, 60.0, 1.0, 0.001, 1.0)

DIFF = """\
Compare the brokers, the routes of all topics and the order configuration of several name servers, Java's or rocketns.
The order of lists does not matter. A difference counts if it lasts: a broker reaches its name servers one after the
other. After a restart of a name server, --settle 60 gives every broker time to register again.
"""

TOP = """\
Brokers of several name servers, Java's or rocketns, side by side: where they differ, and what changed lately. A
terminal is refreshed in place, and shows as much as it has room for. Ctrl-C ends it.
"""

HEALTH = """\
One route lookup through the name server's own port, for health checks and scripts. A name server that starts,
waits for its brokers or drains is not ready.
"""

CHECK = """\
Read a policy of access control as the name server does, and say what it allows and what to notice in it. With a request
say whether it is allowed, and why. A request is words:

  code=105                  or code=GET_ROUTEINFO_BY_TOPIC
  from=10.1.2.3             the address of its sender
  key=KEY                   signed by this access key, rightly
  certificate=CN=broker     a name of the certificate that its sender shows; there may be several
  body=TEXT, body=@FILE     its body
  brokerName=broker-a       any other word is one of its fields, also brokerAddr, namespace, topic;
                            with AccessKey and Signature the signature is verified

rocketns access check policy.toml code=103 from=10.1.2.3 brokerName=broker-a brokerAddr=10.1.2.3:10911
"""

VIEWS = """\
Read a file of views as the name server does, and say what to notice in it: networks within others, and, with a name
server, brokers without a rule, rules without a broker, an address of several brokers, brokers that are in a view.

rocketns views check views.toml -n 127.0.0.1:9876 --as 198.51.100.7
"""

SUGGEST = """\
Print the policy that would have allowed what the journals say was refused, or would have been: a principal for each
access key and for each host that asked without one, with the classes, broker names, addresses and namespaces that were
seen. Read it and cut it down: whoever asked is in it. Admin requests are in it as comments, and secrets are left to be
filled in. It needs tomli_w, and says how to install it.
"""

DECODE = """\
Print frames of RocketMQ as a person reads them: the header, RocketMQ's name of the code, the body, and at which byte it
stops making sense. It reads hex, hex dumps, base64, lists of decimal numbers, bytes, captures (pcap, pcapng) of plain
connections, and the pairs beside a report of `rocketns shadow`. Keys, signatures and passwords are never shown.

  rocketns decode capture.pcap
  rocketns decode --hide-names capture.pcap     with other names, to publish it
  echo 00000065... | rocketns decode
"""

EXIT_STATUS = """\
Exit status, as of diff:
  0  printed; the same, ready, allowed, or without a fault
  1  differences, not ready, refused, a fault, or nothing there; a policy or views that cannot be used
  2  a name server or a file cannot be read, or a wrong option; the message says which
"""

COMPLETION = """\
bash:  source <(rocketns completion bash)
zsh:   rocketns completion zsh > a folder of $fpath, as _rocketns
"""


def build() -> Parser:
    """The parser of all commands of this folder; ``command`` is the first word."""
    made = Parser(prog="rocketns", allow_abbrev=False)
    add_commands(made.add_subparsers(dest="command", metavar="COMMAND", required=True))
    return made


def add_commands(commands: argparse._SubParsersAction[Parser]) -> None:
    """`get`, `diff`, `top`, `health`, `access`, `decode`, `views` and `completion`."""
    _add_get(commands)
    _add_diff(commands)
    _add_top(commands)
    health = _command(commands, "health", "say whether a name server answers route lookups", HEALTH)
    _add_addr(health)
    _add_json(health)
    _add_common(health)
    _add_access(commands)
    about = "print frames of a capture, or of what was pasted, as a person reads them"
    decode = _command(commands, "decode", about, DECODE)
    decode.add_argument("file", nargs="?", default="-", metavar="FILE", help="by default, and for -, standard input")
    decode.add_argument("--hide-names", action="store_true",
                        help="put other names in place of topics, groups, brokers, hosts and texts")  # fmt: skip
    _add_json(decode)
    parsers.add_language_option(decode)
    _add_views(commands)
    completion = _command(commands, "completion", "print what completes these commands in a shell", COMPLETION)
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help=" or ".join(SHELLS))
    parsers.add_language_option(completion)


def _add_get(commands: argparse._SubParsersAction[Parser]) -> None:
    get = _command(commands, "get", "print what a name server, Java's or rocketns, has")
    things = get.add_subparsers(dest="thing", metavar="WHAT", required=True)
    made = {name: _command(things, name, doc) for name, doc in (
        ("brokers", "all brokers: cluster, group, id, address, zone"),
        ("topics", "the names of all topics"),
        ("route", "the brokers and queues of a topic"),
        ("kv", "the KV items of a namespace"),
        ("config", "all properties"),
        ("connections", "the connections of a rocketns with a management port"),
    )}  # fmt: skip
    made["route"].add_argument("topic", metavar="TOPIC")
    made["route"].add_argument("--as", dest="who", metavar="CLIENT",
                               help="the route that a client gets, by its IP address or the name of its view; a "
                               "rocketns with a management port tells it")  # fmt: skip
    made["kv"].add_argument("namespace", metavar="NAMESPACE", nargs="?", default="ORDER_TOPIC_CONFIG",
                            help="by default ORDER_TOPIC_CONFIG; no request lists namespaces")  # fmt: skip
    for thing in made.values():
        _add_addr(thing)
        _add_json(thing)
        _add_common(thing)


def _add_diff(commands: argparse._SubParsersAction[Parser]) -> None:
    diff = _command(commands, "diff", "compare name servers", DIFF)
    diff.add_argument("addrs", nargs="+", type=_addrs, metavar="HOST:PORT",
                      help=f"the name servers, 2 to {SERVERS_MAX}: several words, or one list")  # fmt: skip
    diff.add_argument("--settle", type=duration(0, DAY_S), default=SETTLE_SECONDS, metavar="TIME",
                      help="time that a difference must last; 0 counts each; by default %(default)gs")  # fmt: skip
    diff.add_argument("--lookups-per-second", type=number(0, PER_SECOND_MAX), default=0, metavar="N",
                      help="lookups a second at each name server at most; 0, the default, is no limit")  # fmt: skip
    _add_json(diff)
    _add_common(diff)


def _add_top(commands: argparse._SubParsersAction[Parser]) -> None:
    top = _command(commands, "top", "show name servers side by side, again and again", TOP)
    top.add_argument("addrs", nargs="*", type=_addrs, default=[[DEFAULT_ADDR]], metavar="HOST:PORT",
                     help=f"the name servers, at most {SERVERS_MAX}; by default {DEFAULT_ADDR}")  # fmt: skip
    top.add_argument("--interval", type=duration(0, DAY_S), default=INTERVAL_SECONDS, metavar="TIME",
                     help="time between two rounds; by default %(default)gs")  # fmt: skip
    top.add_argument("--rounds", type=int, default=0, metavar="N", help="end after N rounds; 0, the default, is no end")
    _add_json(top)
    _add_common(top)


def _add_access(commands: argparse._SubParsersAction[Parser]) -> None:
    access = _command(commands, "access", "explain a policy of access control, or suggest one")
    things = access.add_subparsers(dest="thing", metavar="WHAT", required=True)
    check = _command(things, "check", "say what a policy allows, and whether it allows a request", CHECK)
    check.add_argument("file", metavar="FILE", help="the policy, as rocketns.accessFile")
    check.add_argument("request", nargs="*", metavar="NAME=VALUE", help="a request")
    parsers.add_language_option(check)
    suggest = _command(things, "suggest", "print the policy that would have allowed what was refused", SUGGEST)
    suggest.add_argument("--journal", action="append", required=True, metavar="PATH",
                         help="a folder of journals, or a file of one; may be given several times")  # fmt: skip
    parsers.add_language_option(suggest)


def _add_views(commands: argparse._SubParsersAction[Parser]) -> None:
    views = _command(commands, "views", "check a file of views: which addresses of brokers clients get")
    things = views.add_subparsers(dest="thing", metavar="WHAT", required=True)
    check = _command(things, "check", "say what a file of views does to the brokers of a name server", VIEWS)
    check.add_argument("file", metavar="FILE", help="the views, as rocketns.viewsFile")
    check.add_argument("--as", dest="who", metavar="CLIENT",
                       help="print what a client gets, by its IP address or the name of its view")  # fmt: skip
    _add_addr(check, [], "the name server whose brokers are looked at; without it the file alone is")
    _add_common(check)


def _command(commands: argparse._SubParsersAction[Parser], name: str, doc: str, about: str = "") -> Parser:
    return commands.add_parser(
        name, help=doc, description=about or doc, epilog=EXIT_STATUS, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip


def _add_addr(
    parser: argparse.ArgumentParser, default: Sequence[Sequence[str]] = ((DEFAULT_ADDR,),),
    about: str = f"the name server; by default {DEFAULT_ADDR}",
) -> None:  # fmt: skip
    parser.add_argument("-n", "--namesrvAddr", dest="addrs", nargs=1, type=lambda text: [addr(text)], default=default,
                        metavar="HOST:PORT", help=about)  # fmt: skip


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--timeout", type=duration(0, DAY_S), default=TIMEOUT_SECONDS, metavar="TIME",
                        help="time for each answer; by default %(default)gs")  # fmt: skip
    add_connection_options(parser)


def address(text: str) -> tuple[str, int]:
    """A type for argparse: host and port."""
    found = read_server(text)
    if found is None:
        one = "one " if len(listed(text)) > 1 else ""
        raise argparse.ArgumentTypeError(f"{text}: {one}HOST:PORT expected")
    return found


def number(low: int, high: int) -> Callable[[str], int]:
    """A type for argparse: a number within these bounds."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"{text}: a number from {low} to {high} expected")
        return int(text)

    return parse


def addr(text: str) -> str:
    """A type for argparse: host and port, as one text."""
    address(text)
    return text


def _addrs(text: str) -> list[str]:
    return [addr(item) for item in listed(text) or [text]]


def seconds_of(text: str) -> float | None:
    """Of 5s, 250ms or 1h30m; a number alone is seconds. None: it is no time."""
    match = _DURATION.fullmatch(text)
    given = match.groups() if match else ()
    known = [float(part) * part_s for part, part_s in zip(given, _PARTS_S, strict=False) if part is not None]
    return sum(known) if known else None


def duration(low_s: float, high_s: float) -> Callable[[str], float]:
    """A type for argparse: seconds within these bounds. A number alone is seconds."""

    def parse(text: str) -> float:
        seconds = seconds_of(text)
        if seconds is None or not low_s <= seconds <= high_s:
            expected = f"a time from {shown(low_s)} to {shown(high_s)} expected, such as 5s, 10m or 1h30m"
            raise argparse.ArgumentTypeError(f"{text}: {expected}")
        return seconds

    return parse


def shown(seconds: float) -> str:
    """A time for people, rounded to what matters."""
    for unit_s, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * unit_s:
            return f"{seconds / unit_s:.0f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 and seconds != int(seconds) else f"{seconds:.0f} s"
