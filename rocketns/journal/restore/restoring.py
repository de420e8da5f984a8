"""Reads a name server's journal and gives the routes that it had when the journal ended."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path

from rocketns.journal.restore.finding import JournalFile, begins
from rocketns.journal.restore.reading import Reading, Restored
from rocketns.journal.segments import Store

log = logging.getLogger("rocketns.journal")

# If the last snapshots turn out to be incomplete, reading starts again at an earlier one.
ATTEMPTS_MAX = 4


def restore(
    root: Path, ns: str, epoch_ms: int, seconds_max: int, given_up: threading.Event | None = None
) -> Restored | None:
    """The routes of a name server's journal, without brokers whose last sign of life is older than ``seconds_max``.

    None if there is no journal, or if it cannot be read. Waits for the disk, and may run on any thread. Another thread
    may set ``given_up``; then GivenUpError is raised soon.
    """
    store = Store(root, ns)
    try:
        files = [JournalFile(segment, path) for segment, path in store.everything()]
        restored = _read_best(files, ns, given_up or threading.Event())
    except OSError as error:
        log.error("no routes are restored, because the journal cannot be read: %s", error)
        return None
    if restored is not None:
        restored.forget_before(epoch_ms - seconds_max * 1000)
        _log_skipped(restored)
    return restored


def _log_skipped(restored: Restored) -> None:
    if restored.first_skipped is not None:
        path, line = restored.first_skipped
        log.warning(
            "%d lines of the journal are damaged and were left out, the first is line %d of %s: what they said of "
            "brokers is missing until those register. Check the disk of journalPath, and who writes there",
            restored.skipped, line, path,
        )  # fmt: skip


def _read_best(files: Sequence[JournalFile], ns: str, given_up: threading.Event) -> Restored | None:
    """The first beginning from which the state is whole. Without one, what the last attempt gave."""
    reading = None
    for _, begin in zip(range(ATTEMPTS_MAX), begins(files), strict=False):
        reading = Reading(ns, begin.seq, given_up)
        reading.read(files[begin.file :])
        if reading.began_whole:
            break
    return None if reading is None else reading.end()
