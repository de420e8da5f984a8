"""What a shadow leaves at its end: the report, and beside it the frames of the pairs that differ."""

from __future__ import annotations

import os
from pathlib import Path

from rocketns.errors import StartupError
from rocketns.shadow.counting.kept import Samples
from rocketns.shadow.counting.standing import Standing
from rocketns.shadow.recording.file import Recorder
from rocketns.shadow.status.page import report

# After the name of the report; for `rocketns replay`.
FRAMES = ".frames.jsonl"


def check_report(path: Path) -> None:
    """StartupError if the report could not be written at the end, which may be days away."""
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise StartupError(f"the report cannot be written to {path}. Name a file in a folder that exists and is yours")


def write_report(path: Path, standing: Standing) -> list[Path]:
    """The files that were written: the report, and the frames of the pairs that differ, if there are any. OSError."""
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
