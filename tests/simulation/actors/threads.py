"""The two threads of a name server that write files, as work of its process: it takes time and waits with the process.

A piece of work happens at one instant. So a crash comes in the middle of it, and control never does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rocketns.filewriter import Done, FileWriter, WrittenFile
from rocketns.journal.durable.syncer import Syncable, Syncer
from rocketns.journal.segments import Store
from rocketns.journal.writer import Chunk, OpenFile, Retention, Writer
from tests.simulation.world.scheduler import Process

# What the disk work of a process needs: its process, and how long the next piece takes in us.
Working = tuple[Process, Callable[[], int]]


class SyncWork(Syncer):
    """Syncs at an instant of its own, some time after it was asked."""

    def __init__(self, when_done: Callable[[], None], working: Working) -> None:
        super().__init__(when_done)
        self._process, self._delay_us = working

    def begin(self, file: Syncable) -> None:
        self._file = file
        self._idle.clear()
        self._process.after(self._delay_us(), self._sync)

    def wait(self) -> None:
        """The requested sync happens now."""
        self._sync()

    def _sync(self) -> None:
        file, self._file = self._file, None
        if file is None:
            return
        try:
            file.sync()
        except OSError as error:
            self._error = error
        self._idle.set()
        self._when_done()


class JournalWork(Writer):
    """The journal's writer. ``lines`` are all lines that it was given."""

    def __init__(self, store: Store, retention: Retention, working: Working) -> None:
        super().__init__(store, retention)
        self.lines: list[bytes] = []
        self.store = store
        self._written: list[tuple[OpenFile, int, int]] = []
        self._process, self._delay_us = working
        self._syncer = SyncWork(lambda: self.wake(sync=False), working)
        self._is_started = self._is_due = False

    @property
    def synced(self) -> int:
        """How many of the lines are on disk."""
        return sum(lines for file, end, lines in self._written if end <= file.synced)

    def start(self, after_attempt: Callable[[], None] = lambda: None) -> None:
        self._after_attempt = after_attempt
        self._is_started = True

    def push(self, chunk: Chunk, *, sync: bool = True) -> None:
        self.lines += bytes(chunk.data).splitlines()
        super().push(chunk, sync=sync)

    def wake(self, *, sync: bool = True) -> None:
        self._sync_is_wanted |= sync
        if self._is_started and not self._is_due:
            self._is_due = True
            self._process.after(self._delay_us(), self._work)

    def _work(self) -> None:
        self._is_due = False
        self._write_pending(stopping=False)
        self._after_attempt()

    def _write(self, chunk: Chunk) -> OpenFile:
        is_new, lines = chunk.end is None, chunk.data.count(b"\n")
        file = super()._write(chunk)
        if is_new and chunk.end is not None:
            self._written.append((file, chunk.end, lines))
        return file

    def _rewind(self) -> None:
        super()._rewind()
        self._written = [one for one in self._written if one[1] <= one[0].synced]

    def stop(self, within_s: float) -> bool:  # noqa: ARG002
        self._write_pending(stopping=True)
        self._end()
        return not self._chunks


class FileWork(FileWriter):
    """The writer of the KV and configuration files."""

    def __init__(self, working: Working, **limits: Any) -> None:
        super().__init__(**limits)
        self._process, self._delay_us = working
        self._thread = threading.current_thread()  # so that no thread is started
        self._is_due = False

    def submit(self, file: WrittenFile, change: Any, size: int, done: Done) -> None:
        super().submit(file, change, size, done)
        self._want()

    def close(self, done: Done) -> None:
        super().close(done)
        self._want()

    def _want(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._process.after(self._delay_us(), self._work)

    def _work(self) -> None:
        """Write one file, as the thread does: changes that come meanwhile are in the next write."""
        self._is_due = False
        if self._waiting:
            file, group = next(iter(self._waiting.items()))
            del self._waiting[file]
            self._finish(group, self._write(file, group.changes))
        if self._waiting or self._closed is not None:
            self._finish_or_go_on()

    def _finish_or_go_on(self) -> None:
        if self._waiting:
            self._want()
        elif self._closed is not None:
            closed, self._closed = self._closed, None
            self._tell([(closed, None)])
