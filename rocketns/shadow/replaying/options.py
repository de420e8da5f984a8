"""The options of `rocketns replay`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rocketns.addresses import listed
from rocketns.config.system import parse_definition
from rocketns.languages import parsers
from rocketns.protocol.codes import RequestCode
from rocketns.tools.arguments import Parser, addr, number, seconds

LANES_MAX = 256
TIMEOUT_S, SETTLE_S = 10.0, 1.0
EXIT_SAME, EXIT_DIFFERENT, EXIT_UNUSABLE = 0, 1, 2

ABOUT = """\
Play the requests that `rocketns shadow --record FILE` wrote to a name server, Java's or rocketns, and compare its
answers with the recorded ones of the upstream. What Java leaves open, such as the order of lists, does not count.

Requests that change something are not sent unless --all says so. With --all brokers of the recording are registered
and unregistered, and KV items, permissions and properties are changed: use it only with a name server that serves
nobody. Signatures were not recorded, so a name server that checks them refuses the requests.
"""
EPILOG = """\
Examples:
  rocketns replay traffic.frames --to 127.0.0.1:9876
  rocketns replay traffic.frames --to 127.0.0.1:9876 --only 105,GET_BROKER_CLUSTER_INFO --rate 100
  rocketns replay traffic.frames --to 127.0.0.1:19876 --all --json

Exit status:
  0  no answer differs, except as docs/differences.md lists
  1  an answer differs, or is missing
  2  the file or the name server cannot be used, nothing was compared, or a wrong option; the message says which
"""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """SystemExit: 0 after help, 2 after a usage error."""
    return parsers.parse(build, arguments, "help")


def build() -> argparse.ArgumentParser:
    """The parser."""
    parser = Parser(
        prog="rocketns replay", description=ABOUT, epilog=EPILOG, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help="the recording")
    add("--to", required=True, type=addr, metavar="HOST:PORT", help="the name server")
    add("--only", type=_codes, default=frozenset(), metavar="CODE,...",
        help="send only these requests, by number or name")  # fmt: skip
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--reads-only", action="store_true", help="send nothing that changes something; the default")
    what.add_argument("--all", action="store_true", help="send everything, also what changes the name server")
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--rate", type=seconds, default=0.0, metavar="N",
                      help="requests a second at most; by default the next one follows an answer at once")  # fmt: skip
    when.add_argument("--as-recorded", action="store_true", help="keep the recorded times between requests")
    add("--connections", type=number(1, LANES_MAX), default=1, metavar="N",
        help="play so many recorded connections side by side, each in its order; by default all requests follow each "
        "other in the order in which they were answered")  # fmt: skip
    add("--settle", type=seconds, default=SETTLE_S, metavar="SECONDS",
        help="ask a read that differs once more after this time; 0 is never, by default %(default)g")  # fmt: skip
    add("--timeout", type=seconds, default=TIMEOUT_S, metavar="SECONDS",
        help="time for each answer; by default %(default)g")  # fmt: skip
    add("--json", action="store_true", help="print JSON, for programs")
    parsers.add_language_option(parser)
    add("-D", dest="system", action="append", default=[], type=parse_definition, metavar="<name>=<value>",
        help="a system property for TLS, as of the server: -Dtls.enable=true")  # fmt: skip
    return parser


def _codes(text: str) -> frozenset[int]:
    if not listed(text):
        raise argparse.ArgumentTypeError("request codes expected, such as 105 or GET_ROUTEINFO_BY_TOPIC")
    return frozenset(_code(word) for word in listed(text))


def _code(word: str) -> int:
    if word.isdecimal():
        return int(word)
    if word.upper() in RequestCode.__members__:
        return RequestCode[word.upper()]
    raise argparse.ArgumentTypeError(f"{word}: a request code expected, such as 105 or GET_ROUTEINFO_BY_TOPIC")
