"""Replaces a file atomically: write a temporary file, sync it, rename it. MixAll.string2File, made atomic.

`FileWriter` is the thread that does so in order, so that control does not wait. Waiting changes of one file are one
write. Small files are read here, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import queue
import shutil
import stat
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from rocketns.errors import SystemBusy

log = logging.getLogger("rocketns.files")

# Answers at a time on control's thread: about half a millisecond.
DONE_AT_ONCE_MAX = 64
# Default limits of the waiting changes.
CHANGES_MAX = 10_000
BYTES_MAX = 16 * 1024 * 1024
NOT_WRITTEN = "cannot write {}: {}. The change is in effect, but a restart loses it."
FULL = "[OVERLOAD]system busy, start flow control for a while"

# Called on control's thread: with None when the change is on disk, or with the reason why it is not.
Done = Callable[[str | None], None]


def replace_with_backup(path: Path, chunks: Iterable[bytes]) -> None:
    """Replace a file's content and keep the previous file as ``<path>.bak``, as Java does. OSError if that fails.

    The new content is on disk before the rename. ``.bak`` is the previous file itself, not a copy. Processes take turns
    in a folder, by a lock of it. So a file that a killed one left has the name that the next one writes.
    """
    path = path.resolve()  # a symbolic link stays a link
    make_folder(path.parent)
    temporary = _temporary(path)
    with _opened(path.parent) as folder:
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(folder, fcntl.LOCK_EX)
        try:
            _write(temporary, chunks, path)
            with contextlib.suppress(FileNotFoundError):  # there was none, or somebody removes it now
                _back_up(path)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        os.fsync(folder)


def _write(temporary: Path, chunks: Iterable[bytes], path: Path) -> None:
    """Write and sync."""
    temporary.unlink(missing_ok=True)
    with temporary.open("wb") as file:
        file.writelines(chunks)
        file.flush()
        with contextlib.suppress(FileNotFoundError):
            os.fchmod(file.fileno(), path.stat().st_mode)
        os.fsync(file.fileno())


def _back_up(path: Path) -> None:
    """Give the current file a second name with ``.bak``."""
    backup = path.with_name(path.name + ".bak")
    temporary = _temporary(backup)
    temporary.unlink(missing_ok=True)
    try:
        try:
            os.link(path, temporary)
        except OSError:  # this file system has no hard links
            shutil.copy2(path, temporary)
        temporary.replace(backup)
    finally:
        temporary.unlink(missing_ok=True)  # rename does nothing if both names belong to the same file


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.tmp")


def read_text(path: str, bytes_max: int) -> str:
    """The text of a small regular file. ValueError says why it cannot be read, and shows nothing of what is in it."""
    try:
        # Without O_NONBLOCK, to open a FIFO would wait for its writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:  # noqa: PTH123  it is open
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ValueError("it cannot be read: it is no regular file")
            content = file.read(bytes_max + 1)
    except OSError as error:
        raise ValueError(f"it cannot be read: {error.strerror}") from error
    if len(content) > bytes_max:
        raise ValueError(f"it has more than {bytes_max} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is no UTF-8") from None


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, so that a power loss leaves them. OSError if that is not possible."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        try:
            sync_if_readable(folder.parent)
        except OSError:
            with contextlib.suppress(OSError):
                folder.rmdir()  # so that the next attempt syncs its name
            raise


def sync_if_readable(folder: Path) -> None:
    """`sync_folder`, where a folder may be writable and not readable."""
    with contextlib.suppress(PermissionError):
        sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    with _opened(folder) as descriptor:
        os.fsync(descriptor)


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class WrittenFile(Protocol):
    """A file and how to make its content. ``failure`` is the beginning of the log line after a failed write.

    Without a path nothing is written, and ``done`` is called as if it had been.
    """

    failure: str

    @property
    def path(self) -> Path | None: ...

    def chunks(self, changes: list[Any]) -> Iterable[bytes]:
        """The content after these changes. Called in the writer's thread."""


class WholeFile:
    """A file that each change replaces as a whole."""

    def __init__(self, path: Path, failure: str) -> None:
        self.path = path
        self.failure = failure

    def chunks(self, changes: list[bytes]) -> Iterable[bytes]:
        """The last change."""
        return changes[-1:]


@dataclass(slots=True)
class _Batch:
    """The changes of one write."""

    changes: list[Any] = field(default_factory=list)
    done: list[Done] = field(default_factory=list)
    size: int = 0


class FileWriter:
    """Control only; it writes on a thread of its own, one file at a time. At most ``changes_max`` changes and about
    ``bytes_max`` bytes wait; `check_room` refuses further ones.

    ``unwritten``: changes that are not on disk yet. ``settled`` is set while none waits for its ``done``. ``failures``:
    writes that failed. A mute one writes nothing, and calls ``done`` as if it had.
    """

    _loop: asyncio.AbstractEventLoop  # control's, from the start on

    def __init__(self, changes_max: int = CHANGES_MAX, bytes_max: int = BYTES_MAX, *, is_mute: bool = False) -> None:
        self._is_mute = is_mute
        self._changes_max = changes_max
        self._bytes_max = bytes_max
        self._waiting: dict[WrittenFile, _Batch] = {}  # files in the order of their first change
        self._bytes = 0
        self._is_writing = False
        self._writes: queue.SimpleQueue[tuple[WrittenFile, _Batch] | None] = queue.SimpleQueue()
        self._written: deque[tuple[Done, str | None]] = deque()
        self.settled = asyncio.Event()
        self.settled.set()
        self.unwritten = self.failures = 0  # any thread may read them

    def start(self) -> None:
        """On control's running loop, before the first `submit`."""
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, name="files", daemon=True).start()

    def stop(self) -> None:
        """The thread ends after the write that it is at."""
        self._writes.put(None)

    def check_room(self) -> None:
        """SystemBusy if too much waits for the disk."""
        if self.unwritten >= self._changes_max or self._bytes >= self._bytes_max:
            raise SystemBusy(FULL)

    def submit(self, file: WrittenFile, change: Any, size: int, done: Done) -> None:
        """Write a file with this change of ``size`` bytes after all earlier changes, then call ``done``."""
        if self._is_mute or file.path is None:
            self._loop.call_soon(done, None)
            return
        batch = self._waiting.setdefault(file, _Batch())
        batch.changes.append(change)
        batch.done.append(done)
        batch.size += size
        self.unwritten += 1
        self._bytes += size
        self.settled.clear()
        self._write_next()

    def _write_next(self) -> None:
        if self._waiting and not self._is_writing:
            self._is_writing = True
            file = next(iter(self._waiting))
            self._writes.put((file, self._waiting.pop(file)))

    def _run(self) -> None:
        """The thread."""
        while (work := self._writes.get()) is not None:
            file, batch = work
            reason = self._write(file, batch.changes)
            try:
                self._loop.call_soon_threadsafe(self._finish, batch, reason)
            except RuntimeError:  # the loop is closed: the server stopped before this write ended
                log.info("%d changes were written after the server had stopped", len(batch.changes))

    def _write(self, file: WrittenFile, changes: list[Any]) -> str | None:
        """None, or the reason of the failure. The next write of the file contains these changes too."""
        assert file.path is not None, "`submit` took it"
        try:
            replace_with_backup(file.path, file.chunks(changes))
        except OSError as error:
            log.error("%s, %s: %s", file.failure, file.path, error)
            reason = error.strerror or str(error)
        except Exception as error:
            log.exception("%s, %s", file.failure, file.path)
            reason = type(error).__name__
        else:
            return None
        self.failures += 1
        return NOT_WRITTEN.format(file.path, reason)

    def _finish(self, batch: _Batch, reason: str | None) -> None:
        self._is_writing = False
        self.unwritten -= len(batch.changes)
        self._bytes -= batch.size
        self._written.extend((done, reason) for done in batch.done)
        self._write_next()
        self._answer_some()

    def _answer_some(self) -> None:
        """A bounded number of answers, then the other work of control, then the next ones."""
        for _ in range(min(DONE_AT_ONCE_MAX, len(self._written))):
            done, reason = self._written.popleft()
            done(reason)
        if self._written:
            self._loop.call_soon(self._answer_some)
        elif not self.unwritten:
            self.settled.set()
