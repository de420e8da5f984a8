"""The two threads of a name server that write files, as work of its process: it takes time and waits with the process.

A piece of work happens at one instant. So a crash comes in the middle of it, and control never does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rocketns.filewriter import Done, FileWriter, WrittenFile
from rocketns.journal.segments import Store
from rocketns.journal.writer import Chunk, Retention, Writer
from tests.simulation.world.scheduler import Process

# What the disk work of a process needs: its process, and how long the next piece takes in us.
Working = tuple[Process, Callable[[], int]]


class JournalWork(Writer):
    """The journal's writer. ``lines`` are all lines that it was given, ``synced`` how many of them are on disk."""

    def __init__(self, store: Store, retention: Retention, working: Working) -> None:
        super().__init__(store, retention)
        self.lines: list[bytes] = []
        self.synced = 0
        self.store = store
        self._process, self._delay_us = working
        self._is_started = self._is_due = False

    def start(self) -> None:
        self._is_started = True

    def push(self, chunk: Chunk) -> None:
        self.lines += bytes(chunk.data).splitlines()
        super().push(chunk)

    def wake(self) -> None:
        if self._is_started and not self._is_due:
            self._is_due = True
            self._process.after(self._delay_us(), self._work)

    def _work(self) -> None:
        self._is_due = False
        self._write_pending()

    def _write(self, chunk: Chunk) -> None:
        lines = chunk.data.count(b"\n")
        super()._write(chunk)
        self.synced += lines

    def stop(self, within_s: float) -> bool:  # noqa: ARG002
        self._write_pending()
        self._end()
        return not self._chunks


class FileWork(FileWriter):
    """The writer of the KV and configuration files."""

    def __init__(self, working: Working, **limits: Any) -> None:
        super().__init__(**limits)
        self._process, self._delay_us = working
        self._thread = threading.current_thread()  # so that none is started
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
        """One file, as the thread does: what comes meanwhile is the next write."""
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
