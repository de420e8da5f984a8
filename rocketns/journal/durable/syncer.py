"""Brings what is written to the disk, in a thread of its own: a sync may take long, and writing goes on meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol


class Syncable(Protocol):
    """An open file."""

    def sync(self) -> None:
        """Bring what is written so far to the disk. OSError if that fails."""


class Syncer:
    """One file at a time. Only the writer's thread calls the methods; ``when_done`` is called on the syncer's."""

    def __init__(self, when_done: Callable[[], None]) -> None:
        self._when_done = when_done
        self._wanted = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._file: Syncable | None = None
        self._error: OSError | None = None
        self._is_unchecked = False
        self._thread = threading.Thread(target=self._run, name="journal-sync", daemon=True)

    @property
    def is_busy(self) -> bool:
        return not self._idle.is_set()

    @property
    def is_unchecked(self) -> bool:
        """Whether something is being synced, or was, and `check` has not seen its end: ``when_done`` may come."""
        return self._is_unchecked

    def begin(self, file: Syncable) -> None:
        """Sync this file. Not while `is_busy`."""
        if not self._thread.is_alive():
            self._thread.start()
        self._file = file
        self._is_unchecked = True
        self._idle.clear()
        self._wanted.set()

    def wait(self) -> None:
        """Until nothing is being synced."""
        self._idle.wait()

    def check(self) -> None:
        """Raise the error of the last sync, once."""
        self._is_unchecked = self.is_busy
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            assert self._file is not None
            try:
                self._file.sync()
            except OSError as error:
                self._error = error
            self._file = None
            self._idle.set()
            self._when_done()
