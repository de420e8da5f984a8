"""`rocketns shadow`: options → one run → exit status; what it cannot start with is said at once, not after days."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rocketns.addresses import ANY_ADDRESS, with_port
from rocketns.client.resolving import is_own
from rocketns.errors import StartupError
from rocketns.logs import start_logging
from rocketns.shadow.options import parse
from rocketns.shadow.page import report
from rocketns.shadow.recording import write_recording
from rocketns.shadow.running import Shadow
from rocketns.shadow.summary import Comparison, summary
from rocketns.tools.output import EXIT_UNREADABLE, complain, print_text

# After the name of the report; for `rocketns replay`.
FRAMES = ".frames.jsonl"


def main(arguments: Sequence[str]) -> int:
    """``arguments`` without the word shadow. Return the exit status."""
    options = parse(arguments)
    writer = start_logging("INFO")
    try:
        check_upstream(options.upstream, options.bind, options.port)
        if options.report is not None:
            check_report(Path(options.report))
        with tempfile.TemporaryDirectory(prefix="rocketns-shadow-") as folder:
            comparison = asyncio.run(Shadow(options, Path(folder)).run(asyncio.Event()))
    except StartupError as error:
        complain(f"rocketns shadow cannot start: {error}")
        return EXIT_UNREADABLE
    finally:
        writer.stop()
    print_text(summary(comparison))
    try:
        written = [] if options.report is None else write_report(Path(options.report), comparison)
    except OSError as error:
        complain(f"rocketns shadow: the report cannot be written to {options.report}: {error.strerror}")
        return EXIT_UNREADABLE
    for path in written:
        print_text(f"written: {path}\n")
    return comparison.exit_status


def check_upstream(upstream: tuple[str, int], bind: str, port: int) -> None:
    """StartupError if the upstream is the shadow itself. One that cannot be resolved now may be so later."""
    host, its = upstream
    with contextlib.suppress(OSError, UnicodeError):
        found = socket.getaddrinfo(host, its, type=socket.SOCK_STREAM) if its == port else []
        is_bound = any(address[0] == bind for *_, address in found)
        if is_bound or (found and bind in ANY_ADDRESS and asyncio.run(is_own(with_port(host, its), port))):
            raise StartupError(f"the upstream {host}:{port} is the shadow itself. Move the name server to another "
                               "port, and name that as --upstream")  # fmt: skip


def check_report(path: Path) -> None:
    """StartupError if the report could not be written at the end, which may be days away."""
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise StartupError(f"the report cannot be written to {path}. Name a file in a folder that exists and is yours")


def write_report(path: Path, comparison: Comparison) -> list[Path]:
    """The files that were written: the report, and the frames of the pairs that differ, if there are any. OSError."""
    path.write_text(report(comparison), "utf-8")
    frames = path.with_name(path.name + FRAMES)
    frames.unlink(missing_ok=True)
    samples = sorted(comparison.counts.samples, key=lambda sample: sample.at_ms)
    if not any(sample.pair for sample in samples):
        return [path]
    write_recording(frames, [(sample.pair, sample.outcome) for sample in samples if sample.pair is not None])
    return [path, frames]
