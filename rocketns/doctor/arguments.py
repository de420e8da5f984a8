"""The options of `rocketns doctor`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence

from rocketns.addresses import bare, is_host, listed, read_server, with_port
from rocketns.doctor.facts import DoctorOptions
from rocketns.doctor.words import N_, _
from rocketns.errors import RocketnsError
from rocketns.languages.parsers import Parser
from rocketns.protocol.codes import V4_0_0_SNAPSHOT
from rocketns.tools.arguments import DAY_S, duration
from rocketns.tools.keys import add_connection_options

PORT, BROKER_PORT = 9876, 10911
NAME_SERVERS_MAX = TOPICS_MAX = GROUPS_MAX = BROKERS_MAX = 16
NAME_CHARACTERS_MAX = 255
TIMEOUT_S = 5.0
WATCH_S_MAX = 600
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # a byte of the command line that is no UTF-8
_VERSION = re.compile(r"([45])\.([0-9])\.([0-9])")

ABOUT = N_("""\
Say why clients get "No route info of this topic", or do not reach their brokers: the likeliest cause first, how it is
known, and the command that mends it. It asks name servers, Java's or rocketns, and the brokers that they show. It
changes nothing.
""")
EPILOG = N_("""\
Examples:
  rocketns doctor 10.0.0.1:9876
  rocketns doctor 'ns-1:9876;ns-2:9876' --topic Orders --group orders-consumer
  rocketns doctor ns-1 ns-2 --topic Orders --from-client     on the machine of the client

Exit status:
  0    all checks found nothing wrong
  1    something is wrong; the first finding is the likeliest cause
  2    something that matters cannot be told; or a wrong option
  130  interrupted (143: by SIGTERM)
""")


def build() -> Parser:
    """The parser."""
    parser = Parser(prog="rocketns doctor", description=ABOUT, epilog=EPILOG, allow_abbrev=False,
                    formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("name_servers", nargs="*", metavar="NAME_SERVERS",
                        help=N_("the name servers as the client has them, at most 16, separated by commas, semicolons "
                                "or spaces; a host without a port gets 9876; by default NAMESRV_ADDR of the "
                                "environment, else 127.0.0.1:9876"))  # fmt: skip
    parser.add_argument("--topic", action="append", default=[], metavar="TOPIC",
                        help=N_("a topic that clients find no route of; may be given several times"))  # fmt: skip
    parser.add_argument("--group", action="append", default=[], metavar="GROUP",
                        help=N_("a consumer group that gets no messages; may be given several times"))  # fmt: skip
    parser.add_argument("--broker", action="append", default=[], metavar="HOST:PORT",
                        help=N_("a broker that is not registered, or not as it should; may be given several times; a "
                                "host without a port gets 10911"))  # fmt: skip
    parser.add_argument("--from-client", action="store_true",
                        help=N_("the client runs here: what cannot be reached from here is the fault"))  # fmt: skip
    parser.add_argument("--client-version", metavar="VERSION",
                        help=N_("version of the client, such as 5.3.0: brokers may be too old for it"))  # fmt: skip
    parser.add_argument("--watch", type=duration(0, WATCH_S_MAX), default=0.0, metavar="TIME",
                        help=N_("look at the brokers again every 3.75 s for so long, at most 600: 40 finds two brokers "
                                "that replace each other; by default not at all"))  # fmt: skip
    parser.add_argument("--json", action="store_true", help=N_("print JSON, for programs"))
    parser.add_argument("--timeout", type=duration(0, DAY_S), default=TIMEOUT_S, metavar="TIME",
                        help=N_("time for a connection; an answer may take twice as long; by default 5"))  # fmt: skip
    add_connection_options(parser)
    return parser


def options_of(given: argparse.Namespace, environment: Mapping[str, str], *, tls: bool) -> DoctorOptions:
    """What was asked. RocketnsError."""
    of_environment = environment.get("NAMESRV_ADDR", "")
    texts = given.name_servers or [of_environment or f"127.0.0.1:{PORT}"]
    return DoctorOptions(
        name_servers=addresses(texts, PORT, NAME_SERVERS_MAX),
        topics=_names("--topic", given.topic, TOPICS_MAX),
        groups=_names("--group", given.group, GROUPS_MAX),
        brokers=addresses(given.broker, BROKER_PORT, BROKERS_MAX) if given.broker else (),
        from_client=given.from_client,
        list_option=texts[0] if len(texts) == 1 else "",
        is_clients_list=given.from_client or not given.name_servers,
        client_version=None if given.client_version is None else _version(given.client_version),
        tls=tls,
        timeout_s=given.timeout or TIMEOUT_S,
        watch_s=given.watch,
    )


def addresses(texts: Sequence[str], port: int, most: int) -> tuple[str, ...]:
    """The addresses of lists as people type them. A host without a port gets ``port``. RocketnsError."""
    found = tuple(dict.fromkeys(_address(item, port) for text in texts for item in listed(text)))
    if not 1 <= len(found) <= most:
        raise RocketnsError(_("1 to %(most)d addresses expected, not %(n)d") % {"most": most, "n": len(found)})
    return found


def _address(item: str, port: int) -> str:
    """As RocketMQ reads it: what is behind the last colon is the port, also of IPv6. RocketnsError where it is no
    host, and no host and port."""
    server = read_server(item) or ((bare(item), port) if is_host(item) else None)
    if server is None:
        raise RocketnsError(_("%(item)s: HOST:PORT expected") % {"item": item})
    return with_port(*server)


def _names(option: str, texts: Sequence[str], most: int) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(texts))
    if len(found) > most or any(not 0 < len(text) <= NAME_CHARACTERS_MAX for text in found):
        raise RocketnsError(_("%(option)s: at most %(most)d names, of 1 to %(chars)d characters")
                             % {"option": option, "most": most, "chars": NAME_CHARACTERS_MAX})  # fmt: skip
    if unsendable := [text for text in found if _LONE_SURROGATE.search(text)]:
        raise RocketnsError(_("%(option)s %(name)s: it is no UTF-8")
                             % {"option": option, "name": ascii(unsendable[0])})  # fmt: skip
    return found


def _version(text: str) -> int:
    """The ordinal of MQVersion for a version from 4.0.0 on."""
    match = _VERSION.fullmatch(text)
    if match is None:
        raise RocketnsError(_("--client-version %(text)s: a version such as 5.3.0 expected") % {"text": text})
    major, minor, patch = map(int, match.groups())
    return V4_0_0_SNAPSHOT + 2 * ((major - 4) * 100 + minor * 10 + patch) + 1
