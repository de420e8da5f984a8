"""What a shadow shows: its status port while it runs; at its end the summary, the report, and the pairs that differ."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rocketns.errors import StartupError
from rocketns.shadow.counting.kept import Samples
from rocketns.shadow.counting.standing import Standing
from rocketns.shadow.recording.file import Recorder
from rocketns.shadow.status.page import report

if TYPE_CHECKING:
    from rocketns.shadow.status.server import StatusServer

NEEDED = {"aiohttp": "aiohttp", "prometheus_client": "prometheus-client"}
# Beside the report, for `rocketns replay`.
FRAMES = ".frames.jsonl"


def check_report(path: Path) -> None:
    """StartupError if the report could not be written at the end, which may be days away."""
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise StartupError(f"the report cannot be written to {path}. Name a file in a folder that exists and is yours")


def write_report(path: Path, standing: Standing) -> list[Path]:
    """The files that were written: the report, and the frames of the pairs that differ. OSError."""
    path.write_text(report(standing), "utf-8")
    frames = path.with_name(path.name + FRAMES)
    frames.unlink(missing_ok=True)
    if not any(kept.pair for kept in standing.counts.samples):
        return [path]
    _write_frames(frames, standing.counts.samples)
    return [path, frames]


def _write_frames(path: Path, samples: Samples) -> None:
    with Recorder(path, note="pairs that differ") as recorder:
        for kept in samples:
            if kept.pair is not None:
                recorder.record(kept.pair, kept.outcome)


def status_server(
    address: tuple[str, int], stand: Callable[[], Standing], switch: Callable[[int, str], None]
) -> StatusServer:
    """StartupError if a library is missing."""
    missing = [name for module, name in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise StartupError(f"--status needs {' and '.join(missing)}. Install the extra: pip install 'rocketns[admin]', "
                           "or leave out --status")  # fmt: skip
    from rocketns.shadow.status.server import StatusServer  # its libraries take 25 MB

    return StatusServer(*address, stand, switch)


def now_ms() -> int:
    """The wall clock."""
    return round(time.time() * 1000)
