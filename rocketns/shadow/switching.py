"""`rocketns switch`: whose answers go out of a shadow, from a shell on its machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException

from rocketns.languages import parsers
from rocketns.logtext import one_line
from rocketns.shadow.switch import ALL
from rocketns.tools.arguments import Parser, address, number
from rocketns.tools.output import EXIT_DIFFERENT, EXIT_FOUND, EXIT_UNREADABLE, complain, print_text

ANSWER_WITHIN_S = 5.0
ANSWER_BYTES_MAX = 4096
SERVE, PASS = "serve", "pass"
INTRODUCTION = """\
Say whose answers the clients of a `rocketns shadow` get: rocketns' (serve), or those of the name server behind it
(pass). No connection is closed, and the other answers are still compared. Run it on the shadow's machine.

rocketns switch --status 127.0.0.1:9880 serve --percent 10
rocketns switch --status 127.0.0.1:9880 serve
rocketns switch --status 127.0.0.1:9880 pass
"""
EPILOG = f"""\
Exit status:
  {EXIT_FOUND}  switched
  {EXIT_DIFFERENT}  the shadow refuses; the message has its reason
  {EXIT_UNREADABLE}  the shadow does not answer, or a wrong option; the message says which
"""


def main(arguments: Sequence[str]) -> int:
    """``arguments`` follow the word ``switch``. Return the exit status."""
    options = parsers.parse(parser, arguments, "help")
    host, port = options.status
    try:
        status, said = _post(host, port, 0 if options.to == PASS else options.percent)
    except (OSError, HTTPException) as error:
        complain(f"rocketns switch: no shadow answers at {host}:{port}: {error}")
        return EXIT_UNREADABLE
    if status != HTTPStatus.OK:
        complain(said.strip())
        return EXIT_DIFFERENT
    print_text(f"{one_line(said.strip())}\n")
    return EXIT_FOUND


def _post(host: str, port: int, percent: int) -> tuple[int, str]:
    connection = HTTPConnection(host, port, timeout=ANSWER_WITHIN_S)
    try:
        connection.request("POST", f"/switch?serve_percent={percent}", headers={"X-Rocketns-Change": "yes"})
        answer = connection.getresponse()
        return answer.status, answer.read(ANSWER_BYTES_MAX).decode("utf-8", "replace")
    finally:
        connection.close()


def parser() -> argparse.ArgumentParser:
    """The options of `rocketns switch`."""
    made = Parser(prog="rocketns switch", description=INTRODUCTION, epilog=EPILOG, allow_abbrev=False,
                   formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    made.add_argument("to", choices=(SERVE, PASS), help="whose answers go out")
    made.add_argument("--status", required=True, type=address, metavar="HOST:PORT",
                      help="the status port of the shadow: its own option --status")  # fmt: skip
    made.add_argument("--percent", type=number(1, ALL), default=ALL, metavar="N",
                      help=f"with serve: of the connections, 1 to {ALL}; by default all")  # fmt: skip
    parsers.add_language_option(made)
    return made
