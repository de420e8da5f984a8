"""The journal's thread: writes chunks of whole records to disk in order, and retries until it succeeds.

A chunk is pending until it is on disk. A failed write is repeated at the same place in the file, so nothing is lost and
nothing is written twice. Meanwhile new records wait in the producer's bounded buffer.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from dataclasses import dataclass

from rocketns.files import make_folder, sync_folder
from rocketns.journal.segments import Segment, Store

log = logging.getLogger("rocketns.journal")

# Old files are looked for when a sixteenth of the allowed bytes is new, and when a day begins.
RETENTION_SHARE = 16


@dataclass(slots=True)
class Chunk:
    """Whole lines for one file; ``ends`` closes the file after them."""

    segment: Segment
    data: bytearray
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Retention:
    """How many days and bytes of closed files are kept; 0 is no limit."""

    days: int
    bytes_max: int


class OpenFile:
    """A file being written. ``size`` bytes of it are on disk."""

    def __init__(self, store: Store, segment: Segment) -> None:
        self.segment = segment
        self.path = store.open_path(segment)
        self._closed_path = store.closed_path(segment)
        make_folder(self.path.parent)
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._is_named = False
        self.size = 0

    def append(self, data: bytearray) -> None:
        """Write and sync. After an OSError the next call overwrites what this one wrote."""
        with memoryview(data) as view:
            written = 0
            while written < len(data):
                written += os.pwrite(self._descriptor, view[written:], self.size + written)
        os.fdatasync(self._descriptor)
        if not self._is_named:
            sync_folder(self.path.parent)
            self._is_named = True
        self.size += len(data)

    def close(self) -> None:
        """Rename the file to its final name. FileNotFoundError if somebody removed it."""
        self.path.rename(self._closed_path)
        sync_folder(self._closed_path.parent)
        self.abandon()

    def abandon(self) -> None:
        os.close(self._descriptor)


class Writer:
    """The producer's thread calls `push` and `wake`. This thread alone works on the disk."""

    def __init__(self, store: Store, retention: Retention) -> None:
        self.pending_bytes = 0
        self._store = store
        self._retention = retention
        self._chunks: deque[Chunk] = deque()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._settled = threading.Event()
        self._stopping = False
        self._lock_descriptor: int | None = None
        self._file: OpenFile | None = None
        self._failing = False
        self._closed_bytes = 0
        self._retained_on: Segment | None = None
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)

    @property
    def has_pending(self) -> bool:
        """Whether something waits for the disk or for its final name."""
        return bool(self._chunks)

    def start(self) -> None:
        self._thread.start()

    def push(self, chunk: Chunk) -> None:
        """Take a chunk over. The caller must not touch its data afterwards."""
        with self._lock:
            self._chunks.append(chunk)
            self.pending_bytes += len(chunk.data)
        self.wake()

    def wake(self) -> None:
        """Try (again) to write what is pending."""
        with self._lock:
            self._settled.clear()
            self._wake.set()

    def stop(self, within_s: float) -> bool:
        """Try once more to write everything, and end the thread; whether that worked in time."""
        self._stopping = True
        self.wake()
        self._thread.join(within_s)
        return not self._thread.is_alive() and not self._chunks

    def wait_until_settled(self, within_s: float) -> bool:
        """Whether everything pushed before was tried: written, or failed and kept."""
        return self._settled.wait(within_s)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            stopping = self._stopping
            self._write_pending()
            with self._lock:
                if not self._wake.is_set():
                    self._settled.set()
            if stopping:
                break
        self._end()

    def _end(self) -> None:
        if self._chunks:
            log.error("%d bytes of the journal could not be written before the stop", self.pending_bytes)
        if self._file is not None:
            self._file.abandon()
        if self._lock_descriptor is not None:
            os.close(self._lock_descriptor)

    def _write_pending(self) -> None:
        try:
            self._prepare()
            while self._chunks:
                self._write(self._chunks[0])
                with self._lock:
                    self._chunks.popleft()
        except Exception as error:
            self._note_failure(error)
        else:
            self._note_success()

    def _prepare(self) -> None:
        """Once: take the lock, and close the files that an earlier process left open."""
        if self._lock_descriptor is not None:
            return
        descriptor = self._store.lock()
        try:
            for path in self._store.repair():
                log.warning("the journal's file %s was left open by a crash and is closed now", path.name)
        except BaseException:
            os.close(descriptor)
            raise
        self._lock_descriptor = descriptor

    def _write(self, chunk: Chunk) -> None:
        """May be called again for the same chunk after an OSError."""
        if self._file is None or self._file.segment != chunk.segment:
            self._file = OpenFile(self._store, chunk.segment)
        if chunk.data:
            self._file.append(chunk.data)
            self._release(chunk)
        if chunk.ends:
            self._close(self._file)

    def _release(self, chunk: Chunk) -> None:
        with self._lock:
            self.pending_bytes -= len(chunk.data)
            chunk.data = bytearray()

    def _close(self, file: OpenFile) -> None:
        try:
            file.close()
        except FileNotFoundError:
            log.error("the journal's file %s was taken away before it was closed", file.path)
            file.abandon()
        self._file = None
        self._closed_bytes += file.size
        self._retain(file.segment)

    def _retain(self, newest: Segment) -> None:
        limit = self._retention
        same_day = self._retained_on is not None and self._retained_on.day == newest.day
        if same_day and self._closed_bytes * RETENTION_SHARE < (limit.bytes_max or 1 << 62):
            return
        self._retained_on, self._closed_bytes = newest, 0
        try:
            gone = self._store.retain(newest.day, limit.days, limit.bytes_max)
        except OSError as error:
            log.error("old files of the journal could not be deleted: %s", error)
        else:
            for segment in gone:
                log.info("the journal's file %s of %s was deleted", segment.stem, segment.day)

    def _note_failure(self, error: Exception) -> None:
        if not self._failing:
            known = isinstance(error, OSError)
            log.error("the journal cannot be written and will be tried again: %s", error, exc_info=not known)
        self._failing = True

    def _note_success(self) -> None:
        if self._failing:
            log.warning("the journal can be written again")
        self._failing = False
