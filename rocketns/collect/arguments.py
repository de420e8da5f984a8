"""The options of `rocketns collect`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from rocketns.collect import settings as limits
from rocketns.collect.settings import Settings, parse_names
from rocketns.languages import parsers
from rocketns.languages.parsers import Parser
from rocketns.tools.arguments import duration, number
from rocketns.tools.keys import add_connection_options, read_signer, tls_of

ABOUT = """\
Watch name servers, Java's or rocketns, from outside, and write for each the journal that rocketns writes itself: which
brokers and routes it showed, and when that changed. `rocketns audit` reads these journals. It changes nothing, and it
sends no request that a name server takes as a sign of life of a broker.
"""

EXAMPLES = """\
Examples:
  rocketns collect --name-servers ns-1:9876,ns-2:9876 --journal /var/lib/rocketns/collected
  rocketns collect --name-servers 'east=10.0.0.1:9876;west=10.1.0.1:9876' --journal ./collected --for 10m
  rocketns audit run --journal ./collected

Exit status:
  0  ended by SIGTERM or SIGINT, or after --for, when each name server had been read
  1  after --for some name server had never been read whole, or the end of a journal could not be written, as on a full
     disk; the message names it
  2  a wrong option, or a folder that cannot be written; the message says what to do
"""


def parse(arguments: Sequence[str], environment: Mapping[str, str]) -> Settings:
    """What is asked for. SystemExit after help, or for a wrong option; RocketnsError for one that cannot be used."""
    given = parsers.parse(build, arguments, "help")
    return Settings(
        given.name_servers, given.journal, given.interval, given.requests_per_second, given.brokers, given.for_s,
        given.timeout, tls_of(given, environment), read_signer(environment), given.keep_bytes,
    )  # fmt: skip


def build() -> Parser:
    """The parser."""
    parser = Parser(prog="rocketns collect", description=ABOUT, epilog=EXAMPLES, allow_abbrev=False,
                    formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--name-servers", required=True, type=parse_names, metavar="LIST",
                        help="[NAME=]HOST:PORT of each, separated by commas, semicolons or spaces. NAME is its id in "
                        "the journals; by default HOST-PORT")  # fmt: skip
    parser.add_argument("--journal", required=True, metavar="PATH", help="folder of the journals; it is made")
    parser.add_argument("--interval", type=duration(limits.INTERVAL_S_MIN, limits.INTERVAL_S_MAX), metavar="TIME",
                        default=limits.INTERVAL_S,
                        help="time between two looks at the brokers; by default 5s")  # fmt: skip
    parser.add_argument("--requests-per-second", type=number(limits.PER_SECOND_MIN, limits.PER_SECOND_MAX),
                        default=limits.PER_SECOND, metavar="N",
                        help="requests of all kinds at each name server at most; a Java name server needs 1 to 2 ms of "
                        "CPU time for the route of a topic with 300 brokers; by default %(default)s")  # fmt: skip
    parser.add_argument("--brokers", action="store_true",
                        help="ask a broker that vanished from a name server, once, whether it still runs")  # fmt: skip
    parser.add_argument("--timeout", type=duration(limits.TIMEOUT_S_MIN, limits.TIMEOUT_S_MAX), metavar="TIME",
                        default=limits.TIMEOUT_S, help="time for each answer; by default 5s")  # fmt: skip
    add_connection_options(parser)
    parser.add_argument("--keep-bytes", type=number(limits.KEEP_BYTES_MIN, limits.KEEP_BYTES_MAX), metavar="N",
                        default=limits.KEEP_BYTES,
                        help="bytes of each name server's journal: the oldest files are deleted; by default "
                        "%(default)s (10 GiB)")  # fmt: skip
    parser.add_argument("--for", dest="for_s", type=duration(limits.FOR_S_MIN, limits.FOR_S_MAX), metavar="TIME",
                        help="end after this time; by default at SIGTERM or SIGINT")  # fmt: skip
    return parser
