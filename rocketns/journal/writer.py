"""The journal's thread, which writes chunks of whole records in order and retries until it succeeds, and its syncs.

A chunk is written at once, so that it outlives the process, and synced when the producer asks for it, so that it
outlives the machine. Until then it is pending. After a failure everything pending is written again at the same place in
the file, so nothing is lost and nothing is there twice. Meanwhile new records wait in the producer's bounded buffer.
Answers may wait until the records so far are written.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from rocketns.files import make_folder, sync_folder, sync_if_readable
from rocketns.journal.chain import Chain
from rocketns.journal.segments import Segment, Store, sync_folders

# Old files are looked for when a sixteenth of the allowed bytes is new, and when a day begins.
RETENTION_SHARE = 16
# Chunks that wait. Beyond it records wait in the buffer for the next flush.
SMALL_CHUNKS_MAX = 1_000
# An answer waits no longer than this: the journal may lose records, but it must not delay answers.
WITHIN_S = 0.3


log = logging.getLogger("rocketns.journal")


@dataclass(slots=True)
class Chunk:
    """Whole lines for one file; ``ends`` closes the file after them. ``end`` is their end in the file once written.

    ``is_chained``: the chain of hashes has its bytes, and its seal is filled in.
    """

    segment: Segment
    data: bytearray
    ends: bool = False
    end: int | None = None
    is_chained: bool = False


@dataclass(frozen=True, slots=True)
class Retention:
    """How many days and bytes of closed files are kept; 0 is no limit."""

    days: int
    bytes_max: int


class OpenFile:
    """A file being written. ``size`` bytes of it are written, ``synced`` of them are on disk."""

    def __init__(self, store: Store, segment: Segment) -> None:
        self.segment = segment
        self.path = store.open_path(segment)
        self._closed_path = store.closed_path(segment)
        self._folders = store.folders(segment.day)
        make_folder(self.path.parent)
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._is_named = False
        self.size = 0
        self.synced = 0

    def append(self, data: bytearray) -> None:
        """Write. After an OSError call `rewind`."""
        with memoryview(data) as view:
            written = 0
            while written < len(data):
                written += os.pwrite(self._descriptor, view[written:], self.size + written)
        self.size += len(data)

    def sync(self) -> None:
        """Any thread. Bring what is written to the disk. After an OSError call `rewind`."""
        size = self.size
        if self.synced != size:
            os.fdatasync(self._descriptor)
            if not self._is_named:
                for folder in self._folders:  # an earlier process may have made them and died before it synced them
                    sync_if_readable(folder)
                self._is_named = True
            self.synced = size

    def rewind(self) -> None:
        """The next `append` overwrites everything that is not on disk."""
        self.size = self.synced

    def close(self) -> None:
        """Rename the file to its final name. FileNotFoundError if somebody removed it."""
        self.path.rename(self._closed_path)
        sync_folder(self._closed_path.parent)
        self.abandon()

    def abandon(self) -> None:
        os.close(self._descriptor)


class Writer:
    """The producer's thread calls `push` and `wake`. This thread alone works on the disk.

    ``written_bytes`` are on the disk, ``failures`` counts attempts that failed: any thread may read them.
    """

    def __init__(self, store: Store, retention: Retention) -> None:
        self.pending_bytes = 0
        self.written_bytes = 0
        self.failures = 0
        self._store = store
        self._retention = retention
        self._chunks: deque[Chunk] = deque()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._settled = threading.Event()
        self._stopping = False
        self._sync_is_wanted = False
        self._lock_descriptor: int | None = None
        self._file: OpenFile | None = None
        self._chain = Chain()
        self.failure = ""
        self._after_attempt: Callable[[], None] = lambda: None
        self._closed_bytes = 0
        self._retained_on: Segment | None = None
        self._syncing: Future[None] | None = None  # until its outcome was looked at
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)

    @property
    def has_pending(self) -> bool:
        """Whether something waits for the disk or for its final name."""
        return bool(self._chunks)

    @property
    def is_behind(self) -> bool:
        """Whether something is not even written. This thread removes chunks while another asks."""
        try:
            return self._chunks[-1].end is None
        except IndexError:
            return False

    @property
    def has_room(self) -> bool:
        """Whether small chunks may come at any time: the disk works, and not many wait for it."""
        return not self.failure and len(self._chunks) < SMALL_CHUNKS_MAX

    def start(self, after_attempt: Callable[[], None] = lambda: None) -> None:
        """``after_attempt`` is called on this thread whenever it has tried to write everything."""
        self._after_attempt = after_attempt
        self._thread.start()

    def push(self, chunk: Chunk, *, sync: bool = True) -> None:
        """Take a chunk over. The caller must not touch its data afterwards. Without ``sync`` a later call syncs it."""
        with self._lock:
            self._chunks.append(chunk)
            self.pending_bytes += len(chunk.data)
        self.wake(sync=sync)

    def wake(self, *, sync: bool = True) -> None:
        """Try (again) to write what is pending."""
        with self._lock:
            self._sync_is_wanted |= sync
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
            self._write_pending(stopping=stopping)
            self._after_attempt()
            with self._lock:
                if not self._wake.is_set() and self._syncing is None:
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

    def _write_pending(self, *, stopping: bool) -> None:
        try:
            self._prepare()
            if self._syncing is not None and self._syncing.done():
                self._end_sync()
            for chunk in list(self._chunks):
                file = self._write(chunk)
                if chunk.ends:
                    self._sync_now(file)
                    self._close(file)
                    with self._lock:
                        self._chunks.popleft()
            if self._file is not None:
                self._sync(self._file, at_once=stopping)
        except Exception as error:
            self._rewind()
            self._note_failure(error)
        else:
            if self.failure:
                log.warning("the journal can be written again")
            self.failure = ""

    def _prepare(self) -> None:
        """Once: take the lock, and close the files that an earlier process left open."""
        if self._lock_descriptor is not None:
            return
        descriptor = self._store.lock()
        try:
            repaired = self._store.repair()
            for path in repaired:
                log.warning("the journal's file %s was left open by a crash and is closed now", path.name)
            self._chain = Chain(self._store.link())
            if repaired:  # the first records do not wait for it
                self._begin_sync(partial(sync_folders, repaired))
        except BaseException:
            os.close(descriptor)
            raise
        self._lock_descriptor = descriptor

    def _write(self, chunk: Chunk) -> OpenFile:
        """May be called again for the same chunk after an OSError. Returns the chunk's file."""
        if self._file is None or self._file.segment != chunk.segment:
            self._file = OpenFile(self._store, chunk.segment)
        if chunk.end is None:
            if not chunk.is_chained:
                self._chain.add(chunk.data)
                chunk.is_chained = True
            self._file.append(chunk.data)
            chunk.end = self._file.size
        return self._file

    def _sync(self, file: OpenFile, *, at_once: bool) -> None:
        """Sync what is written in another thread, if that is wanted and the last sync has ended."""
        self._release(file)
        if at_once:
            self._sync_now(file)
        elif self._sync_is_wanted and self._syncing is None:
            self._sync_is_wanted = False
            if file.synced != file.size:
                self._begin_sync(file.sync)

    def _begin_sync(self, sync: Callable[[], None]) -> None:
        """Call ``sync``, which raises OSError if it fails, in a thread of its own."""
        syncing = Future[None]()
        threading.Thread(target=self._sync_aside, args=(sync, syncing), name="journal-sync", daemon=True).start()
        self._syncing = syncing

    def _sync_aside(self, sync: Callable[[], None], syncing: Future[None]) -> None:
        """The other thread. It wakes this one at its end."""
        try:
            sync()
        except Exception as error:
            syncing.set_exception(error)
        else:
            syncing.set_result(None)
        self.wake(sync=False)

    def _end_sync(self) -> None:
        """Wait until nothing is being synced. Raises what the last sync failed by, once."""
        syncing, self._syncing = self._syncing, None
        if syncing is not None:
            syncing.result()

    def _sync_now(self, file: OpenFile) -> None:
        self._end_sync()
        file.sync()
        self._release(file)

    def _release(self, file: OpenFile) -> None:
        """Forget the chunks that are on disk. The one that ends a file stays until it is closed."""
        with self._lock:
            while self._chunks and (end := self._chunks[0].end) is not None and end <= file.synced:
                chunk = self._chunks[0]
                self.pending_bytes -= len(chunk.data)
                self.written_bytes += len(chunk.data)
                chunk.data = bytearray()
                if chunk.ends:
                    break
                self._chunks.popleft()

    def _rewind(self) -> None:
        """Everything that is not on disk is to be written again, whether it was being synced or not."""
        with suppress(Exception):
            self._end_sync()
        if self._file is not None:
            self._file.rewind()
            self._release(self._file)
        for chunk in self._chunks:
            chunk.end = None

    def _close(self, file: OpenFile) -> None:
        try:
            file.close()
        except FileNotFoundError:
            log.error("the journal's file %s was removed before it was closed", file.path)
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
        self.failures += 1
        if not self.failure:
            is_foreseen = isinstance(error, OSError)
            log.error("the journal cannot be written and will be tried again: %s", error, exc_info=not is_foreseen)
        self.failure = str(error) or type(error).__name__


Later = Callable[[float, Callable[[], None]], object]


class WriteWaiters:
    """``later(seconds, step)`` calls ``step`` on control's thread after that time. It is there from the start on.

    `note` is called on control's thread after each of the writer's attempts, where anybody waits.
    """

    later: Later

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._waiting: deque[Callable[[], None]] = deque()
        self._called = 0

    @property
    def is_wanted(self) -> bool:
        """Any thread. Whether anybody waits."""
        return bool(self._waiting)

    def when_written(self, call: Callable[[], None]) -> None:
        """``call`` when all that the writer was given is written, or could not be, at the latest after `WITHIN_S`."""
        if not self._writer.is_behind:
            call()
            return
        self._waiting.append(call)
        self.later(WITHIN_S, partial(self.note, self._called + len(self._waiting)))

    def note(self, number: int | None = None) -> None:
        """Call the first so many of all that ever waited; without a number everybody, unless the attempt began before
        the last records came: then another follows.
        """
        if number is None and (not self._writer.is_behind or self._writer.failure):
            number = self._called + len(self._waiting)
        while self._waiting and self._called < (number or 0):
            self._called += 1
            self._waiting.popleft()()
