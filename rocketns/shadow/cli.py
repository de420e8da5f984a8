"""`rocketns shadow`: options → one run → exit status."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rocketns.errors import StartupError
from rocketns.logs import start_logging
from rocketns.shadow.options import parse
from rocketns.shadow.running import Shadow
from rocketns.tools.output import EXIT_DIFFERENT, EXIT_FOUND, EXIT_UNREADABLE, complain


def main(arguments: Sequence[str]) -> int:
    """``arguments`` without the word shadow. Return the exit status."""
    options = parse(arguments)
    writer = start_logging(options.log_level)
    try:
        with tempfile.TemporaryDirectory(prefix="rocketns-shadow-") as folder:
            shadow = Shadow(options, Path(folder))
            asyncio.run(_run(shadow))
            return EXIT_DIFFERENT if shadow.counts.unwanted else EXIT_FOUND
    except StartupError as error:
        complain(f"rocketns shadow cannot start: {error}")
        return EXIT_UNREADABLE
    finally:
        writer.stop()


async def _run(shadow: Shadow) -> None:
    await shadow.run(asyncio.Event())
