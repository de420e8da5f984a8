"""`rocketns shadow`: options → one run → exit status."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rocketns.errors import StartupError
from rocketns.logs import start_logging
from rocketns.shadow.counting.standing import Standing
from rocketns.shadow.counting.summary import exit_status, summary
from rocketns.shadow.options import parse
from rocketns.shadow.running import Shadow
from rocketns.shadow.showing import check_report, write_report
from rocketns.tools.output import EXIT_UNREADABLE, complain, print_text


def main(arguments: Sequence[str]) -> int:
    """``arguments`` without the word shadow. Return the exit status."""
    options = parse(arguments)
    writer = start_logging(options.log_level)
    try:
        if options.report is not None:
            check_report(Path(options.report))
        with tempfile.TemporaryDirectory(prefix="rocketns-shadow-") as folder:
            shadow = Shadow(options, Path(folder))
            asyncio.run(_run(shadow))
    except StartupError as error:
        complain(f"rocketns shadow cannot start: {error}")
        return EXIT_UNREADABLE
    finally:
        writer.stop()
    return _show(shadow.standing(), options.report)


def _show(standing: Standing, path: str | None) -> int:
    print_text(summary(standing))
    if path is not None:
        try:
            for written in write_report(Path(path), standing):
                print_text(f"written: {written}\n")
        except OSError as error:
            complain(f"the report cannot be written to {path}: {error}")
            return EXIT_UNREADABLE
    return exit_status(standing)


async def _run(shadow: Shadow) -> None:
    await shadow.run(asyncio.Event())
