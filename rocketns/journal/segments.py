"""The journal's files: their names, repair after a crash, and retention.

These functions wait for the disk. Only the writer's thread calls them, except `free_boot`.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from rocketns.files import make_folder, sync_folder
from rocketns.journal import chain
from rocketns.journal.record import VERSION

log = logging.getLogger("rocketns.journal")

OPEN_PREFIX = ".open-"
NAME = re.compile(r"(?:\.open-(\d{1,18})-(\d{1,18})|(\d{1,18})-(\d{1,18})\.jsonl)")
TAIL_BYTES = 64 * 1024


class Segment(NamedTuple):
    """One file: the UTC date of its first record, the boot, and its number in the boot. Sorts by age."""

    day: date
    boot: int
    number: int

    @property
    def stem(self) -> str:
        return f"{self.boot}-{self.number:06d}"


class StoredFile(NamedTuple):
    """A file of the journal, closed or left open."""

    segment: Segment
    path: Path


def day_of(epoch_ms: int) -> date:
    """The UTC date of an instant."""
    return datetime.fromtimestamp(epoch_ms // 1000, UTC).date()


@dataclass(frozen=True, slots=True)
class Store:
    """All files of one name server below the journal's folder."""

    root: Path
    ns: str

    @property
    def base(self) -> Path:
        return self.root / f"v={VERSION}"

    def folder(self, day: date) -> Path:
        return self.base / f"dt={day.isoformat()}" / f"ns={self.ns}"

    def folders(self, day: date) -> list[Path]:
        """The folders that must be synced so that a power loss leaves the files of a day."""
        return [self.folder(day), self.folder(day).parent, self.base, self.root, self.root.parent]

    def open_path(self, segment: Segment) -> Path:
        return self.folder(segment.day) / (OPEN_PREFIX + segment.stem)

    def closed_path(self, segment: Segment) -> Path:
        return self.folder(segment.day) / f"{segment.stem}.jsonl"

    def free_boot(self, epoch_ms: int) -> int:
        """This instant, or the number after the last boot if the clock was set back; if unreadable, the instant."""
        with suppress(OSError):
            return max([epoch_ms, *(segment.boot + 1 for segment, _ in self.everything())])
        return epoch_ms

    def everything(self) -> list[StoredFile]:
        """Every file, closed or left open by a crash, in the order in which they were written."""
        paths = self.base.glob(f"dt=*/ns={self.ns}/*")
        found = [StoredFile(segment, path) for path in paths if (segment := segment_of(path)) is not None]
        return sorted(found, key=lambda one: (one.segment.boot, one.segment.number))

    def lock(self) -> int:
        """Become the only writer for this id. Returns the lock's descriptor. OSError if another process has it."""
        make_folder(self.base)
        descriptor = os.open(self.base / f".lock-{self.ns}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def repair(self) -> list[Path]:
        """Remove the torn last line of files that a crash left open, and close them. Returns the closed files.

        `sync_folders` brings that to the disk.
        """
        left_open = sorted(self.base.glob(f"dt=*/ns={self.ns}/{OPEN_PREFIX}*"))
        return [closed for path in left_open if (closed := _close_left(path)) is not None]

    def link(self) -> str:
        """The hash that a new boot's first seal continues. Where the files before cannot be read, a chain begins."""
        try:
            return chain.link([path for _, path in self.everything()])
        except OSError as error:
            log.warning("the journal's chain of hashes begins anew: the files before cannot be read: %s", error)
            return chain.NO_HASH

    def closed(self) -> list[tuple[Segment, int]]:
        """Every closed file and its bytes, in the order in which they were written."""
        return [(segment, path.stat().st_size) for segment, path in self.everything()
                if path.name[0] != OPEN_PREFIX[0]]  # fmt: skip

    def retain(self, today: date, days: int, bytes_max: int) -> list[Segment]:
        """Delete closed files older than ``days`` days, then the oldest beyond ``bytes_max``; 0 is no limit.

        The first file that is left stands alone, so files that a crash left without a seal go with those before them.
        """
        files = self.closed()
        total = sum(size for _, size in files)
        first_day = today - timedelta(days=days) if days else date.min
        gone: list[Segment] = []
        for segment, size in files:
            is_allowed = segment.day >= first_day and not 0 < bytes_max < total
            if is_allowed and (not gone or chain.is_self_contained(self.closed_path(segment))):
                break
            self._delete(segment, today)
            total -= size
            gone.append(segment)
        return gone

    def _delete(self, segment: Segment, today: date) -> None:
        path = self.closed_path(segment)
        path.unlink(missing_ok=True)
        if segment.day != today:
            with suppress(OSError):  # other files or other name servers are still there
                path.parent.rmdir()
                path.parent.parent.rmdir()


def segment_of(path: Path) -> Segment | None:
    """What the path of a file says; None if it is no name of the journal's."""
    match = NAME.fullmatch(path.name)
    try:
        day = date.fromisoformat(path.parent.parent.name.removeprefix("dt="))
    except ValueError:
        return None
    return Segment(day, int(match[1] or match[3]), int(match[2] or match[4])) if match else None


def _close_left(path: Path) -> Path | None:
    """The closed file; None if it had no whole line."""
    with path.open("r+b") as file:
        whole = _whole_lines_bytes(file.fileno())
        file.truncate(whole)
        if whole:  # the disk must not keep the name of a closed file with the bytes of the open one
            os.fsync(file.fileno())
    if not whole:
        path.unlink()
        return None
    closed = path.with_name(path.name.removeprefix(OPEN_PREFIX) + ".jsonl")
    path.rename(closed)
    return closed


def sync_folders(paths: Sequence[Path]) -> None:
    """Bring the names of files to the disk. OSError. Any thread."""
    for folder in {path.parent for path in paths}:
        sync_folder(folder)


def _whole_lines_bytes(descriptor: int) -> int:
    """Bytes up to and with the last newline."""
    end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - TAIL_BYTES)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
