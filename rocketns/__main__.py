"""`rocketns`: the first word says which program runs. It imports only that one: `rocketns health` is quick."""

from __future__ import annotations

import sys
from collections.abc import Sequence

AUDIT, COLLECT, SHADOW, REPLAY = "audit", "collect", "shadow", "replay"
DOCTOR = "doctor"
TOOLS = ("get", "diff", "top", "health", "access", "decode", "views", "completion")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program that the first word names, by default the name server; return the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == [AUDIT]:
        from rocketns.pipeline.cli.audit import main as audit

        return audit(words[1:])
    if words[:1] == [COLLECT]:
        from rocketns.collect.cli import main as collect

        return collect(words[1:])
    if words[:1] == [DOCTOR]:
        from rocketns.doctor.cli import main as doctor

        return doctor(words[1:])
    if words[:1] == [SHADOW]:
        from rocketns.shadow.cli import main as shadow

        return shadow(words[1:])
    if words[:1] == [REPLAY]:
        from rocketns.shadow.replay import main as replay

        return replay(words[1:])
    if words and words[0] in TOOLS:
        from rocketns.tools.main import main as tool

        return tool(words)
    if words and not words[0].startswith("-"):
        from rocketns.cli import unknown_command

        return unknown_command(words, (AUDIT, COLLECT, DOCTOR, SHADOW, REPLAY, *TOOLS))
    from rocketns.startup import main as name_server

    return name_server(words)


if __name__ == "__main__":
    sys.exit(main())
