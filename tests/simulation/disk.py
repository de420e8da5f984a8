"""A disk in memory. What a process wrote is seen by all at once, and lost with the power unless it was synced.

The rules are those of POSIX, not of one file system: a file's bytes are durable after fsync or fdatasync of the file,
and a name is durable after fsync of its folder. Without that a name may or may not survive, in the order of the changes
of its folder. Bytes that were not synced survive in part: a prefix of the writes, the last of them torn, or zeros where
the size of the file survived and the bytes did not.
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.simulation.world import Crash

BLOCK_BYTES = 512
# Of the writes and syncs of a broken disk, and of all writes: those that fail, and those that write only a part.
BROKEN_SHARE = 0.5
SHORT_SHARE = 0.15


class File:
    """An inode. ``durable`` is what a power loss leaves for sure, ``writes`` what came after it."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.durable = b""
        self.writes: list[tuple[int, bytes]] = []
        self.holder: int | None = None
        self.mode = 0o100644

    def write(self, data: bytes, at: int) -> None:
        if at > len(self.data):
            self.data.extend(bytes(at - len(self.data)))
        self.data[at : at + len(data)] = data
        self.writes.append((at, bytes(data)))

    def truncate(self, size: int) -> None:
        if size < len(self.data):
            del self.data[size:]
        else:
            self.data.extend(bytes(size - len(self.data)))
        self.writes.append((size, b""))

    def sync(self) -> None:
        self.durable, self.writes = bytes(self.data), []

    def lose_power(self, random: random.Random) -> None:
        """Keep what is durable and some of the rest."""
        kept = bytearray(self.durable)
        survivors = self.writes[: random.randint(0, len(self.writes))]
        for number, (at, data) in enumerate(survivors):
            if not data:
                del kept[at:]
                continue
            if at > len(kept):
                kept.extend(bytes(at - len(kept)))
            if number == len(survivors) - 1:
                data = _torn(data, random)
                del kept[max(at, len(self.durable)) :]  # earlier writes of the same bytes came no further
            kept[at : at + len(data)] = data
        self.data, self.durable, self.writes, self.holder = kept, bytes(kept), [], None


def _torn(data: bytes, random: random.Random) -> bytes:
    """A write that was on its way when the power went: whole, its beginning, or zeros from some block on."""
    cut = random.randint(0, len(data))
    kind = random.randrange(3)
    if kind == 0:
        return data
    return data[:cut] if kind == 1 else data[: cut // BLOCK_BYTES * BLOCK_BYTES].ljust(len(data), b"\0")


@dataclass
class Folder:
    """``names`` is what processes see, ``durable`` what survives for sure, ``changes`` what may survive."""

    names: dict[str, File | Folder] = field(default_factory=dict)
    durable: dict[str, File | Folder] = field(default_factory=dict)
    changes: list[dict[str, File | Folder | None]] = field(default_factory=list)

    def put(self, name: str, node: File | Folder) -> None:
        self.apply({name: node})

    def remove(self, name: str) -> None:
        self.apply({name: None})

    def apply(self, change: dict[str, File | Folder | None]) -> None:
        """One atomic change; None removes a name."""
        _apply(self.names, change)
        self.changes.append(change)

    def sync(self) -> None:
        self.durable, self.changes = dict(self.names), []

    def save(self, place: Path) -> None:
        """Write what processes see into a folder of the machine."""
        place.mkdir(parents=True, exist_ok=True)
        for name, node in self.names.items():
            if isinstance(node, Folder):
                node.save(place / name)
            else:
                (place / name).write_bytes(node.data)

    def lose_power(self, random: random.Random) -> None:
        kept = dict(self.durable)
        for change in self.changes[: random.randint(0, len(self.changes))]:
            _apply(kept, change)
        self.names, self.durable, self.changes = kept, dict(kept), []
        for node in kept.values():
            node.lose_power(random)


def _apply(names: dict[str, File | Folder], change: dict[str, File | Folder | None]) -> None:
    for name, node in change.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


def error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


class Disk:
    """The files below ``root`` of one host. ``crash_in`` counts down the changes until the process dies in one.

    ``is_full``: nothing new can be written. ``is_broken``: half of the writes and syncs fail. ``is_gone``: its process
    died.
    """

    def __init__(self, root: str, random: random.Random) -> None:
        self.root = root
        self.folder = Folder()
        self.is_full = self.is_broken = self.is_gone = False
        self.crash_in: int | None = None
        self.crashed: Callable[[], None] = lambda: None
        self.changes = 0
        self._random = random

    def lose_power(self) -> None:
        """What was not synced is lost, or torn."""
        self.folder.lose_power(self._random)

    def release_locks(self) -> None:
        """The process is gone, and its locks with it."""
        self._release(self.folder)

    def _release(self, folder: Folder) -> None:
        for node in folder.names.values():
            if isinstance(node, Folder):
                self._release(node)
            else:
                node.holder = None

    def find(self, path: str) -> File | Folder:
        """The file or folder. FileNotFoundError or NotADirectoryError."""
        self.check_alive()
        node: File | Folder = self.folder
        for part in self._parts(path):
            if not isinstance(node, Folder):
                raise error(errno.ENOTDIR, path)
            if part not in node.names:
                raise error(errno.ENOENT, path)
            node = node.names[part]
        return node

    def parent(self, path: str) -> tuple[Folder, str]:
        """The folder of a path, and its last name."""
        above, _, name = path.rpartition("/")
        node = self.find(above)
        if not isinstance(node, Folder):
            raise error(errno.ENOTDIR, path)
        return node, name

    def _parts(self, path: str) -> list[str]:
        return [part for part in path[len(self.root) :].split("/") if part]

    def check_alive(self) -> None:
        """A process that is gone does nothing more, also not in its ``finally``."""
        if self.is_gone:
            raise Crash

    def change(self, path: str, *, grows: bool = False) -> None:
        """Called before each change. OSError where the disk does not take it, `Crash` where it is the last one."""
        self.check_alive()
        if self.is_broken and self._random.random() < BROKEN_SHARE:
            raise error(errno.EIO, path)
        if grows and self.is_full:
            raise error(errno.ENOSPC, path)
        self.changes += 1
        if self.crash_in is not None:
            self.crash_in -= 1
            if self.crash_in <= 0:
                self.die()

    def die(self) -> None:
        self.crash_in = None
        self.is_gone = True
        self.crashed()
        raise Crash

    def write(self, file: File, data: bytes, at: int, path: str) -> int:
        """The number of bytes written: sometimes not all, and on a disk that fills up a part."""
        self.check_alive()
        size = len(data)
        if self.crash_in == 1 and size:  # the kernel has written a part of it
            file.write(data[: self._random.randint(0, size)], at)
        elif self.is_full and size > 1 and self._random.random() < 0.3:
            size = self._random.randint(1, size - 1)
            file.write(data[:size], at)
            return size
        self.change(path, grows=at + size > len(file.data))
        if size > 1 and self._random.random() < SHORT_SHARE:
            size = self._random.randint(1, size - 1)
        file.write(data[:size], at)
        return size
