"""The options of `rocketns shadow`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from rocketns.config.system import parse_definition
from rocketns.languages import parsers
from rocketns.shadow.judge.starting import SETTLE_S
from rocketns.shadow.switch import ALL
from rocketns.tools.arguments import Parser, address, number

DEFAULT_PORT, PORT_MAX = 9876, 65_535
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
TIME = re.compile(r"([0-9]{1,6})([smhd])")

INTRODUCTION = """\
Stand in front of a name server, Java's or another rocketns: pass every connection's bytes to it and its answers back
unchanged, let a whole rocketns of its own work on the same requests, and compare the answers. Clients notice nothing
of the comparing. With --serve, or later by `rocketns switch`, rocketns' answers go out and the others are compared.
See docs/shadow.md.

rocketns shadow --upstream java:9876 -p 9876 --status 127.0.0.1:9880
rocketns shadow --upstream java:9876 -p 9876 --for 24h --report shadow.html
"""
EPILOG = """\
Exit status:
  0  ended by --for, SIGTERM or SIGINT, and no pair differed
  1  ended likewise, and pairs differed, were late or lacked an answer
  2  wrong option, or it could not start; the message says why

Signals:
  SIGUSR1           serve: rocketns' answers go out to all connections
  SIGUSR2           pass: the upstream's answers go out
  SIGTERM, SIGINT   end; the report is written first
"""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options. SystemExit: 0 after help, 2 for a wrong option."""
    parsed = parsers.parse(parser, arguments, "help")
    parsed.system = dict(parsed.system)
    return parsed


def parser() -> Parser:
    """The options of `rocketns shadow`."""
    made = Parser(prog="rocketns shadow", description=INTRODUCTION, epilog=EPILOG, allow_abbrev=False,
                  formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add = made.add_argument
    add("--upstream", required=True, type=address, metavar="HOST:PORT", help="the name server that is in use")
    add("-p", "--port", type=number(0, PORT_MAX), default=DEFAULT_PORT, metavar="PORT",
        help=f"where clients connect; by default {DEFAULT_PORT}")  # fmt: skip
    add("--bind", default="0.0.0.0", metavar="ADDR", help="the address for that; by default every one")
    add("-c", dest="config_file", metavar="FILE", help="Java properties file of rocketns' own half")
    add("--journal", metavar="PATH",
        help="folder in which the own half writes its journal, from which it restores its routes")  # fmt: skip
    _add_switch(made)
    _add_comparing(made)
    add("--for", dest="for_s", type=_time, metavar="TIME", help="end after so long, as 90s, 10m, 24h or 7d")
    add("--proxy-protocol", action="store_true",
        help="tell the upstream the client's address by a PROXY header before each connection's bytes")  # fmt: skip
    add("-D", dest="system", action="append", default=[], type=parse_definition, metavar="NAME=VALUE",
        help="a property of TLS, as tls.server.keyPath; with tls.test.mode.enable=false and keys the shadow ends TLS "
        "itself, and with tls.enable=true it speaks TLS to the upstream for those clients")  # fmt: skip
    add("--log-level", default="INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR"), help="by default INFO")
    parsers.add_language_option(made)
    return made


def _add_switch(made: Parser) -> None:
    add = made.add_mutually_exclusive_group().add_argument
    add("--serve", dest="serve_percent", action="store_const", const=ALL, default=0,
        help="let rocketns' answers go out from the start, as soon as it knows the brokers")  # fmt: skip
    add("--serve-percent", dest="serve_percent", type=number(0, ALL), metavar="N",
        help="likewise, to N %% of the connections")  # fmt: skip
    made.add_argument("--settle", dest="settle_s", type=_time, default=SETTLE_S, metavar="TIME",
                      help=f"the time that brokers have to register at a half; by default {SETTLE_S:g}s")  # fmt: skip


def _add_comparing(made: Parser) -> None:
    add = made.add_argument
    add("--reference", type=address, metavar="HOST:PORT",
        help="a second name server like the upstream: what the two say differently is noise")  # fmt: skip
    add("--record", metavar="FILE", help="write all pairs to this file, for `rocketns replay`")
    add("--record-hash-names", dest="hash_names", action="store_true",
        help="with --record: hash the names of topics, brokers and groups, and addresses")  # fmt: skip
    add("--report", metavar="FILE", help="write a page with the result at the end")
    add("--status", type=address, metavar="HOST:PORT", help="serve counts, /metrics and the switch over HTTP there")


def _time(text: str) -> float:
    found = TIME.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text}: a time as 90s, 10m, 24h or 7d expected")
    return float(int(found[1]) * UNITS[found[2]])
