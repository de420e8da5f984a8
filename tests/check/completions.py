"""The completion scripts of the shells, made by shtab from all parsers of the command line.

``python -m tests.check.completions`` writes them again.
"""

from __future__ import annotations

import argparse

import shtab

from rocketns import __main__ as programs
from rocketns import cli
from rocketns.pipeline.cli import arguments as audit
from rocketns.tools import arguments as tools
from tests.check.source import ROOT

FOLDER = ROOT / "rocketns" / "tools" / "completions"


def script(shell: str) -> str:
    """The script of a shell."""
    return str(shtab.complete(_whole(), shell))


def _whole() -> argparse.ArgumentParser:
    """Options of the server, and each other program as a command."""
    whole = argparse.ArgumentParser(prog="rocketns", parents=[cli.parser()], add_help=False)
    commands = whole.add_subparsers(dest="command", parser_class=tools.Parser)
    tools.add_commands(commands)
    built = audit.build()
    commands.add_parser(
        programs.AUDIT, parents=[built], add_help=False, help="compare the journals of several name servers"
    )
    return whole


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for one in tools.SHELLS:
        (FOLDER / f"rocketns.{one}").write_text(script(one), "utf-8")
