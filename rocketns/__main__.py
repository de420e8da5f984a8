"""`rocketns`: the first word says which program runs. It imports only that one: `rocketns health` is quick."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module

# Where the programs are beside the name server. The tools are one.
PROGRAMS = {
    "audit": "rocketns.pipeline.cli.audit", "collect": "rocketns.collect.cli", "doctor": "rocketns.doctor.cli",
    "shadow": "rocketns.shadow.cli", "replay": "rocketns.shadow.replay",
}  # fmt: skip
TOOLS = ("get", "diff", "top", "health", "access", "decode", "views", "completion")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program that the first word names, by default the name server; return the exit status."""
    try:
        return _run(list(sys.argv[1:] if arguments is None else arguments))
    except SystemExit as stop:  # of argparse: after its help, or a wrong option
        return stop.code if isinstance(stop.code, int) else 2


def _run(words: list[str]) -> int:
    word = words[0] if words else "-"
    if word in PROGRAMS:
        program: Callable[[Sequence[str]], int] = import_module(PROGRAMS[word]).main
        return program(words[1:])
    if word in TOOLS:
        from rocketns.tools.main import main as tool

        return tool(words)
    if not word.startswith("-"):
        from rocketns.cli import unknown_command

        return unknown_command(words, (*PROGRAMS, *TOOLS))
    from rocketns.startup import main as name_server

    return name_server(words)


if __name__ == "__main__":
    sys.exit(main())
