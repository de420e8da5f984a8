"""Writes what shells and `man` need of every program: python packaging/programs.py FOLDER completions|manual.

`setup.py` runs it in each build, so that no shell waits for Python at the Tab key. Nothing here imports compiled
modules, because builds read it before anything is compiled.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import shtab

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rocketns import __version__, cli
from rocketns.collect import arguments as collect
from rocketns.doctor import arguments as doctor
from rocketns.languages.parsers import Parser
from rocketns.pipeline.cli import arguments as audit
from rocketns.shadow import options as shadow
from rocketns.tools import arguments as tools

PROGRAMS: dict[str, tuple[str, Callable[[], argparse.ArgumentParser]]] = {
    "audit": ("compare the journals of several name servers", audit.build),
    "collect": ("watch name servers, and write their journals", collect.build),
    "doctor": ("say why clients find no route, and what mends it", doctor.build),
    "shadow": ("stand in front of a name server, compare", shadow.parser),
    "replay": ("play recorded requests, compare answers", shadow.replay_parser),
}
ABOUT = "name server for Apache RocketMQ, and tools for name servers"
REQUEST = re.compile(r"^(?=[.'])", re.M)  # of roff


def whole() -> argparse.ArgumentParser:
    """Options of the server, and each other program as a command."""
    parser = Parser(prog="rocketns", parents=[cli.parser()], add_help=False)
    commands = parser.add_subparsers(dest="command", parser_class=Parser)
    tools.add_commands(commands)
    for word, (about, build) in PROGRAMS.items():
        commands.add_parser(word, parents=[build()], add_help=False, help=about)
    return parser


def completions() -> Iterator[tuple[str, str]]:
    """(name, text) of each shell's script."""
    for shell in tools.SHELLS:
        yield f"rocketns.{shell}", str(shtab.complete(whole(), shell))


def manual() -> Iterator[tuple[str, str]]:
    """(name, text) of each manual page: the help of the program and of its commands, as it is."""
    yield "rocketns.1", page("rocketns", ABOUT, whole())
    yield "mqnamesrv.1", page("mqnamesrv", ABOUT, cli.parser())
    about = {action.dest: action.help or "" for action in commands_of(tools.build())._choices_actions}
    others = {word: (about[word], made) for word, made in commands_of(tools.build()).choices.items()}
    for word, (said, made) in (others | {word: (said, build()) for word, (said, build) in PROGRAMS.items()}).items():
        yield f"rocketns-{word}.1", page(f"rocketns-{word}", said, made)


def page(name: str, about: str, parser: argparse.ArgumentParser) -> str:
    below = commands_of(parser).choices.values() if name not in ("rocketns", "mqnamesrv") else ()
    helps = "\n".join(one.format_help() for one in (parser, *below))
    head = f'.TH {escaped(name.upper())} 1 "" "rocketns {__version__}" "rocketns"'
    head += f"\n.SH NAME\n{escaped(name)} \\- {about}\n"
    return f"{head}.SH DESCRIPTION\n.nf\n{escaped(helps)}.fi\n.SH SEE ALSO\nrocketns(1), mqnamesrv(1)\n"


def escaped(text: str) -> str:
    """Lines as roff prints them: no requests, no escapes, and hyphens that can be copied."""
    return REQUEST.sub(r"\\&", text.replace("\\", "\\e").replace("-", "\\-"))


def commands_of(parser: argparse.ArgumentParser) -> argparse._SubParsersAction[argparse.ArgumentParser]:
    """Those of a parser without commands are empty."""
    found = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return found[0] if found else argparse.ArgumentParser().add_subparsers()


if __name__ == "__main__":
    os.environ.update(LC_ALL="C.UTF-8", NO_COLOR="1", COLUMNS="78")  # English, whatever the builder's language is
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in completions() if sys.argv[2] == "completions" else manual():
        (folder / name).write_text(text, "utf-8")
