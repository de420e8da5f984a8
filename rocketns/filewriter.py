"""The thread that writes files in order, so that control does not wait. Waiting changes of one file are one write."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from rocketns import files
from rocketns.errors import SystemBusy

log = logging.getLogger("rocketns.filewriter")

# Answers at a time on control's thread: about half a millisecond.
DONE_AT_ONCE_MAX = 64
# Default limits of the waiting changes.
CHANGES_MAX = 10_000
BYTES_MAX = 16 * 1024 * 1024
NOT_WRITTEN = "cannot write {}: {}. The change is in effect, but a restart loses it."
FULL = "[OVERLOAD]system busy, start flow control for a while"

# Called on control's thread: with None when the change is on disk, or with the reason why it is not.
Done = Callable[[str | None], None]


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
class _Group:
    """The changes of one write."""

    changes: list[Any] = field(default_factory=list)
    done: list[Done] = field(default_factory=list)
    size: int = 0


class FileWriter:
    """At most ``changes_max`` changes and about ``bytes_max`` bytes wait; `check_room` refuses further ones.

    The thread starts with the first change. `start` gets a function that calls another one on control's thread.
    A mute one writes nothing, and calls ``done`` as if it had.
    """

    def __init__(self, changes_max: int = CHANGES_MAX, bytes_max: int = BYTES_MAX, *, is_mute: bool = False) -> None:
        self._is_mute = is_mute
        self._changes_max = changes_max
        self._bytes_max = bytes_max
        self._call_on_control: Callable[[Callable[[], None]], object] | None = None
        self._wake = threading.Condition()
        self._waiting: dict[WrittenFile, _Group] = {}  # files in the order of their first change
        self._changes = 0
        self._bytes = 0
        self._done: deque[tuple[Done, str | None]] = deque()
        self._thread: threading.Thread | None = None
        self._closed: Done | None = None
        self.failures = 0  # writes that failed; the writer's thread counts, any thread may read

    def start(self, call_on_control: Callable[[Callable[[], None]], object]) -> None:
        """Before the first `submit`."""
        self._call_on_control = call_on_control

    def check_room(self) -> None:
        """SystemBusy if too much waits for the disk."""
        if self._changes >= self._changes_max or self._bytes >= self._bytes_max:
            raise SystemBusy(FULL)

    def submit(self, file: WrittenFile, change: Any, size: int, done: Done) -> None:
        """Write a file with this change of ``size`` bytes after all earlier changes, then call ``done``."""
        if self._is_mute or file.path is None:
            self._tell([(done, None)])
            return
        with self._wake:
            group = self._waiting.setdefault(file, _Group())
            group.changes.append(change)
            group.done.append(done)
            group.size += size
            self._changes += 1
            self._bytes += size
            self._wake.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="files", daemon=True)
            self._thread.start()

    def close(self, done: Done) -> None:
        """Write the waiting changes, then call ``done``. No `submit` may follow."""
        if self._thread is None:
            done(None)
            return
        with self._wake:
            self._closed = done
            self._wake.notify()

    @property
    def unwritten(self) -> int:
        """The number of changes that are not on disk yet."""
        return self._changes

    def _run(self) -> None:
        while (work := self._next()) is not None:
            file, group = work
            self._finish(group, self._write(file, group.changes))
        assert self._closed is not None, "only `close` ends the waiting"
        self._tell([(self._closed, None)])

    def _next(self) -> tuple[WrittenFile, _Group] | None:
        with self._wake:
            self._wake.wait_for(lambda: self._waiting or self._closed is not None)
            file = next(iter(self._waiting), None)
            return None if file is None else (file, self._waiting.pop(file))

    def _write(self, file: WrittenFile, changes: list[Any]) -> str | None:
        """None, or the reason of the failure. The next write of the file contains these changes too."""
        assert file.path is not None, "`submit` took it"
        try:
            files.replace_with_backup(file.path, file.chunks(changes))
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

    def _finish(self, group: _Group, reason: str | None) -> None:
        with self._wake:
            self._changes -= len(group.changes)
            self._bytes -= group.size
        self._tell([(done, reason) for done in group.done])

    def _tell(self, done: list[tuple[Done, str | None]]) -> None:
        assert self._call_on_control is not None, "`start` comes first"
        self._done.extend(done)
        try:
            self._call_on_control(self._call_some)
        except RuntimeError:  # the loop is closed: the server stopped before this write ended
            log.info("%d changes were written after the server had stopped", len(done))

    def _call_some(self) -> None:
        """On control's thread: a bounded number of answers, then the other work of control, then the next ones."""
        for _ in range(min(DONE_AT_ONCE_MAX, len(self._done))):
            done, reason = self._done.popleft()
            done(reason)
        if self._done and self._call_on_control is not None:
            self._call_on_control(self._call_some)
