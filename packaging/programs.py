"""Every program behind the command `rocketns`, with its parser: the one list for completions and manual pages.

Nothing here imports compiled modules, because builds read it before anything is compiled.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rocketns import __main__ as words
from rocketns import cli
from rocketns.collect import arguments as collect
from rocketns.doctor import arguments as doctor
from rocketns.languages.parsers import Parser
from rocketns.pipeline.cli import arguments as audit
from rocketns.shadow import options as shadow
from rocketns.tools import arguments as tools

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Program:
    """A program that has a parser of its own. ``page`` is its document below docs/, without the suffix."""

    word: str
    about: str
    parser: Callable[[], argparse.ArgumentParser]
    page: str


PROGRAMS = (
    Program(words.AUDIT, "compare the journals of several name servers", audit.build, "audit"),
    Program(words.COLLECT, "watch name servers, and write their journals", collect.build, "collect"),
    Program(words.DOCTOR, "say why clients find no route, and what mends it", doctor.build, "doctor"),
    Program(words.SHADOW, "stand in front of a name server, compare", shadow.parser, "shadow"),
    Program(words.REPLAY, "play recorded requests, compare answers", shadow.replay_parser, "shadow"),
)
TOOLS_PAGE = "commands"
SERVER_PAGES = ("properties", "operating", "migration")


def server() -> argparse.ArgumentParser:
    """The options of the name server itself."""
    return cli.parser()


def tool_parsers() -> list[Program]:
    """`get`, `diff` and so on, which share one parser."""
    [commands] = [a for a in tools.build()._actions if isinstance(a, argparse._SubParsersAction)]
    about = {action.dest: action.help or "" for action in commands._choices_actions}
    return [Program(name, about[name], lambda made=made: made, TOOLS_PAGE) for name, made in commands.choices.items()]


def whole() -> argparse.ArgumentParser:
    """Options of the server, and each other program as a command."""
    parser = argparse.ArgumentParser(prog="rocketns", parents=[server()], add_help=False)
    commands = parser.add_subparsers(dest="command", parser_class=Parser)
    tools.add_commands(commands)
    for program in PROGRAMS:
        commands.add_parser(program.word, parents=[program.parser()], add_help=False, help=program.about)
    return parser
