"""`rocketns shadow`: options → one run → exit status."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rocketns.errors import StartupError
from rocketns.logs import start_logging
from rocketns.shadow.checking import check_record, check_upstream
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
        check_upstream(options.upstream, options.bind, options.port)
        if options.record is not None:
            check_record(Path(options.record))
        if options.report is not None:
            check_report(Path(options.report))
        with tempfile.TemporaryDirectory(prefix="rocketns-shadow-") as folder:
            standing = asyncio.run(_run(Shadow(options, Path(folder))))
    except StartupError as error:
        complain(f"rocketns shadow cannot start: {error}")
        return EXIT_UNREADABLE
    finally:
        writer.stop()
    print_text(summary(standing))
    if options.report is not None:
        return _write(Path(options.report), standing)
    return exit_status(standing)


async def _run(shadow: Shadow) -> Standing:
    await shadow.run(asyncio.Event())
    return shadow.standing()


def _write(path: Path, standing: Standing) -> int:
    try:
        for written in write_report(path, standing):
            print_text(f"written: {written}\n")
    except OSError as error:
        complain(f"rocketns shadow: the report cannot be written to {path}: {error.strerror}")
        return EXIT_UNREADABLE
    return exit_status(standing)
