"""`rocketns shadow`: options → one run → exit status."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rocketns.errors import StartupError
from rocketns.logs import start_logging
from rocketns.logtext import one_line
from rocketns.shadow import options
from rocketns.shadow.running import Shadow

EXIT_DIFFERENT = 2


def main(arguments: Sequence[str]) -> int:
    """``arguments`` begin with the first word, ``shadow``. Return the exit status."""
    parsed = options.parse(arguments[1:])
    writer = start_logging(parsed.log_level)
    try:
        with tempfile.TemporaryDirectory(prefix="rocketns-shadow-") as folder:
            return asyncio.run(_run(Shadow(parsed, Path(folder), None)))
    except StartupError as error:
        print(one_line(f"rocketns shadow cannot start: {error}"), file=sys.stderr)
        return error.exit_status
    finally:
        writer.stop()


async def _run(shadow: Shadow) -> int:
    await shadow.run(asyncio.Event())
    return EXIT_DIFFERENT if shadow.counts.unwanted else 0
