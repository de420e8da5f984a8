"""The options of `rocketns shadow` and of `rocketns replay`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rocketns.config.system import parse_definition
from rocketns.languages import parsers
from rocketns.languages.parsers import Parser
from rocketns.tools.arguments import addr, address, duration, number
from rocketns.tools.keys import add_connection_options

DEFAULT_PORT, PORT_MAX = 9876, 65_535
# Brokers register every 30 s, and at most every 60 s: until then a name server that started has not heard of them.
SETTLE_S = 60.0
RUN_S_MAX = 366 * 86_400.0

INTRODUCTION = """\
Stand in front of a name server, Java's or another rocketns: pass every connection's bytes to it and its answers back
unchanged, let a whole rocketns of its own work on the same requests, and compare the answers. Clients get the answers
of that name server alone, and notice nothing of the comparing. See docs/shadow.md.

rocketns shadow --upstream java:9876 -p 9876 --status 127.0.0.1:9880
rocketns shadow --upstream java:9876 -p 9876 --for 24h --report shadow.html
"""
EPILOG = """\
Exit status:
  0  ended by --for, SIGTERM or SIGINT, and no pair differed
  1  ended likewise, and pairs differed, were late or lacked an answer
  2  nothing was compared, a wrong option, or it could not start; the message says which
"""


ABOUT_REPLAY = """\
Play recorded requests to a name server, Java's or rocketns, and compare its answers with the recorded ones. The file
beside the report of `rocketns shadow` has the pairs that differed. What Java leaves open, such as the order of lists,
does not count.

Requests that change something are not sent unless --all says so. With --all brokers of the recording are registered
and unregistered, and KV items, permissions and properties are changed: use it only with a name server that serves
nobody. Signatures are not in the file, so a name server that checks them refuses the requests.
"""
EPILOG_REPLAY = """\
Examples:
  rocketns replay shadow.html.frames.jsonl --to 127.0.0.1:9876
  rocketns replay clients.frames --to 127.0.0.1:19876 --all

Exit status:
  0  no answer differs, except as docs/differences.md lists
  1  an answer differs, or is missing
  2  the file or the name server cannot be used, nothing was compared, or a wrong option; the message says which
"""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of `rocketns shadow`. SystemExit: 0 after help, 2 for a wrong option."""
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
    add("--settle", dest="settle_s", type=duration(0.0, RUN_S_MAX), default=SETTLE_S, metavar="TIME",
        help=f"the time that brokers have to register at a half; by default {SETTLE_S:g}s")  # fmt: skip
    about = "write a page with the result at the end, and beside it the pairs that differ, for `rocketns replay`"
    add("--report", metavar="FILE", help=about)
    add("--status", type=address, metavar="HOST:PORT", help="serve a page, counts and /metrics over HTTP there")
    add("--for", dest="for_s", type=duration(0.0, RUN_S_MAX), metavar="TIME",
        help="end after so long, as 90s, 10m, 24h or 7d")  # fmt: skip
    add("--proxy-protocol", action="store_true",
        help="tell the upstream the client's address by a PROXY header before each connection's bytes")  # fmt: skip
    add("-D", dest="system", action="append", default=[], type=parse_definition, metavar="NAME=VALUE",
        help="a property of TLS, as tls.server.keyPath; with tls.test.mode.enable=false and keys the shadow ends TLS "
        "itself, and with tls.enable=true it speaks TLS to the upstream for those clients")  # fmt: skip
    parsers.add_language_option(made)
    return made


def parse_replay(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of `rocketns replay`. SystemExit: 0 after help, 2 for a wrong option."""
    return parsers.parse(replay_parser, arguments, "help")


def replay_parser() -> argparse.ArgumentParser:
    """The options of `rocketns replay`."""
    made = Parser(prog="rocketns replay", description=ABOUT_REPLAY, epilog=EPILOG_REPLAY, allow_abbrev=False,
                  formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add = made.add_argument
    add("file", metavar="FILE", type=Path, help="the recorded pairs")
    add("--to", required=True, type=addr, metavar="HOST:PORT", help="the name server")
    add("--all", action="store_true", help="send everything, also what changes the name server")
    add_connection_options(made)
    return made
