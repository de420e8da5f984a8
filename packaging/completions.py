"""Writes the completion scripts of the shells, made by shtab from all parsers: python packaging/completions.py FOLDER.

`setup.py` runs it in each build, so that no shell waits for Python at the Tab key.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import shtab

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rocketns import __main__ as programs
from rocketns import cli
from rocketns.collect import arguments as collect
from rocketns.pipeline.cli import arguments as audit
from rocketns.shadow import options as shadow
from rocketns.shadow import switching as switch
from rocketns.shadow.replaying import options as replay
from rocketns.tools import arguments as tools


def whole() -> argparse.ArgumentParser:
    """Options of the server, and each other program as a command."""
    parser = argparse.ArgumentParser(prog="rocketns", parents=[cli.parser()], add_help=False)
    commands = parser.add_subparsers(dest="command", parser_class=tools.Parser)
    tools.add_commands(commands)
    built = audit.build()
    commands.add_parser(
        programs.AUDIT, parents=[built], add_help=False, help="compare the journals of several name servers"
    )
    commands.add_parser(
        programs.COLLECT, parents=[collect.build()], add_help=False, help="watch name servers, and write their journals"
    )
    commands.add_parser(
        programs.SHADOW, parents=[shadow.parser()], add_help=False, help="stand in front of a name server, compare"
    )
    commands.add_parser(
        programs.SWITCH, parents=[switch.parser()], add_help=False, help="say whose answers a shadow's clients get"
    )
    commands.add_parser(
        programs.REPLAY,
        parents=[replay.build()],
        add_help=False,
        help="play recorded requests, compare answers",
    )
    return parser


def write(folder: Path) -> None:
    """One file for each shell."""
    folder.mkdir(parents=True, exist_ok=True)
    for shell in tools.SHELLS:
        (folder / f"rocketns.{shell}").write_text(str(shtab.complete(whole(), shell)), "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
