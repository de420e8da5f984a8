"""Gives simulated disks a place in the file system of this Python process: every path below `/sim/<host>`.

The functions of `os`, `io.open` and `fcntl.flock` are replaced while `interposed` is in force. Paths elsewhere, and
descriptors of others, go to the real ones. So the code under test reads and writes files as it always does.
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import mmap
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.simulation.disk import Disk, File, Folder, error

ROOT = "/sim/"
FIRST_DESCRIPTOR = 1 << 20


@dataclass
class Opened:
    """An open file description."""

    disk: Disk
    path: str
    node: File | Folder
    position: int = 0


class Entry:
    """os.DirEntry."""

    def __init__(self, folder: str, name: str, node: File | Folder) -> None:
        self.name = name
        self.path = f"{folder.rstrip('/')}/{name}"
        self._node = node

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002
        return isinstance(self._node, Folder)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002
        return isinstance(self._node, File)

    def is_symlink(self) -> bool:
        return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:  # noqa: ARG002
        return _stat_of(self._node)

    def __fspath__(self) -> str:
        return self.path


class Listing(list[Entry]):
    """What os.scandir returns: an iterator that can be closed."""

    def __enter__(self) -> Iterator[Entry]:  # type: ignore[override]
        return iter(self)

    def __exit__(self, *_: object) -> None: ...


class RawFile(io.RawIOBase):
    """A file object over a descriptor."""

    def __init__(self, files: FileSystem, descriptor: int, *, writes: bool) -> None:
        self._files = files
        self._descriptor = descriptor
        self._writes = writes
        self.name = files.opened[descriptor].path

    def fileno(self) -> int:
        return self._descriptor

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return self._writes

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._files.read(self._descriptor, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def write(self, data: Any) -> int:
        return self._files.write(self._descriptor, data)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._files.lseek(self._descriptor, offset, whence)

    def truncate(self, size: int | None = None) -> int:
        opened = self._files.opened[self._descriptor]
        wanted = opened.position if size is None else size
        self._files.ftruncate(self._descriptor, wanted)
        return wanted

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._files.close(self._descriptor)


class FileSystem:
    """All simulated disks, and the descriptors of their open files."""

    def __init__(self) -> None:
        self.disks: dict[str, Disk] = {}
        self.opened: dict[int, Opened] = {}
        self._next = FIRST_DESCRIPTOR

    def disk_of(self, path: str) -> Disk:
        name = path[len(ROOT) :].partition("/")[0]
        if name not in self.disks:
            raise error(errno.ENOENT, path)
        return self.disks[name]

    def forget(self, disk: Disk) -> None:
        """The process that used the disk is gone, and its descriptors with it."""
        for descriptor in [number for number, one in self.opened.items() if one.disk is disk]:
            del self.opened[descriptor]
        disk.release_locks()

    def open(self, path: str, flags: int, mode: int = 0o777, **_: Any) -> int:  # noqa: ARG002
        disk = self.disk_of(path)
        try:
            node = disk.find(path)
        except FileNotFoundError:
            if not flags & os.O_CREAT:
                raise
            folder, name = disk.parent(path)
            disk.change(path, grows=True)
            node = File()
            folder.put(name, node)
        else:
            if flags & os.O_CREAT and flags & os.O_EXCL:
                raise error(errno.EEXIST, path)
        if isinstance(node, File) and flags & os.O_TRUNC and node.data:
            disk.change(path)
            node.truncate(0)
        self._next += 1
        self.opened[self._next] = Opened(disk, path, node)
        return self._next

    def _file(self, descriptor: int) -> tuple[Opened, File]:
        opened = self.opened.get(descriptor)
        if opened is None or not isinstance(opened.node, File):
            raise error(errno.EBADF, str(descriptor))
        opened.disk.check_alive()
        return opened, opened.node

    def close(self, descriptor: int) -> None:
        opened = self.opened.pop(descriptor, None)
        if opened is not None and isinstance(opened.node, File) and opened.node.holder == descriptor:
            opened.node.holder = None

    def pwrite(self, descriptor: int, data: Any, offset: int) -> int:
        opened, file = self._file(descriptor)
        return opened.disk.write(file, bytes(data), offset, opened.path)

    def write(self, descriptor: int, data: Any) -> int:
        opened, _ = self._file(descriptor)
        written = self.pwrite(descriptor, data, opened.position)
        opened.position += written
        return written

    def pread(self, descriptor: int, size: int, offset: int) -> bytes:
        return bytes(self._file(descriptor)[1].data[offset : offset + size])

    def read(self, descriptor: int, size: int) -> bytes:
        opened, file = self._file(descriptor)
        data = bytes(file.data[opened.position : opened.position + size])
        opened.position += len(data)
        return data

    def lseek(self, descriptor: int, offset: int, whence: int) -> int:
        opened, file = self._file(descriptor)
        opened.position = offset + (0, opened.position, len(file.data))[whence]
        return opened.position

    def ftruncate(self, descriptor: int, size: int) -> None:
        opened, file = self._file(descriptor)
        if size != len(file.data):
            opened.disk.change(opened.path, grows=size > len(file.data))
            file.truncate(size)

    def fsync(self, descriptor: int) -> None:
        opened = self.opened.get(descriptor)
        if opened is None:
            raise error(errno.EBADF, str(descriptor))
        opened.disk.change(opened.path)
        opened.node.sync()

    def fstat(self, descriptor: int) -> os.stat_result:
        return _stat_of(self._file(descriptor)[1])

    def fchmod(self, descriptor: int, mode: int) -> None: ...

    def flock(self, descriptor: int, operation: int) -> None:
        _, file = self._file(descriptor)
        if operation & fcntl.LOCK_UN:
            file.holder = None
        elif file.holder not in (None, descriptor):
            raise BlockingIOError(errno.EWOULDBLOCK, "locked")
        else:
            file.holder = descriptor

    def stat(self, path: str, **_: Any) -> os.stat_result:
        return _stat_of(self.disk_of(path).find(path))

    def mkdir(self, path: str, mode: int = 0o777, **_: Any) -> None:  # noqa: ARG002
        disk = self.disk_of(path)
        folder, name = disk.parent(path)
        if name in folder.names:
            raise error(errno.EEXIST, path)
        disk.change(path, grows=True)
        folder.put(name, Folder())

    def rmdir(self, path: str, **_: Any) -> None:
        disk = self.disk_of(path)
        folder, name = disk.parent(path)
        node = disk.find(path)
        if not isinstance(node, Folder):
            raise error(errno.ENOTDIR, path)
        if node.names:
            raise error(errno.ENOTEMPTY, path)
        disk.change(path)
        folder.remove(name)

    def unlink(self, path: str, **_: Any) -> None:
        disk = self.disk_of(path)
        folder, name = disk.parent(path)
        if isinstance(disk.find(path), Folder):
            raise error(errno.EISDIR, path)
        disk.change(path)
        folder.remove(name)

    def rename(self, source: str, target: str, **_: Any) -> None:
        """Atomic within a folder. Nothing happens if both names are the same file's."""
        disk = self.disk_of(source)
        node = disk.find(source)
        before, name = disk.parent(source)
        after, new_name = disk.parent(target)
        disk.change(target)
        if after is before and after.names.get(new_name) is not node:
            after.apply({new_name: node, name: None})
        elif after.names.get(new_name) is not node:
            after.put(new_name, node)
            before.remove(name)

    def link(self, source: str, target: str, **_: Any) -> None:
        disk = self.disk_of(source)
        node = disk.find(source)
        folder, name = disk.parent(target)
        if name in folder.names:
            raise error(errno.EEXIST, target)
        disk.change(target)
        folder.put(name, node)

    def scandir(self, path: str = ".") -> Listing:
        node = self.disk_of(path).find(path)
        if not isinstance(node, Folder):
            raise error(errno.ENOTDIR, path)
        return Listing(Entry(path, name, one) for name, one in node.names.items())

    def listdir(self, path: str = ".") -> list[str]:
        return [entry.name for entry in self.scandir(path)]

    def mmap(self, descriptor: int, length: int, *_: Any, **__: Any) -> Mapped:
        data = self._file(descriptor)[1].data
        if not data:
            raise ValueError("cannot mmap an empty file")
        return Mapped(data[: length or len(data)])

    def set_times(self, path: str, *_: Any, **__: Any) -> None:
        """Modes and times are not kept."""
        self.disk_of(path).find(path)

    def listxattr(self, path: str, **_: Any) -> list[str]:
        self.disk_of(path).find(path)
        return []

    def open_file(self, path: str, mode: str = "r", buffering: int = -1, encoding: str | None = None,
                  errors: str | None = None, newline: str | None = None, **_: Any) -> Any:  # fmt: skip
        """`open` for a simulated path."""
        writes = any(letter in mode for letter in "wax+")
        flags = os.O_RDWR if writes else os.O_RDONLY
        if "w" in mode:
            flags |= os.O_CREAT | os.O_TRUNC
        if "a" in mode or "x" in mode:
            flags |= os.O_CREAT | (os.O_EXCL if "x" in mode else 0)
        raw = RawFile(self, self.open(path, flags), writes=writes)
        if "a" in mode:
            raw.seek(0, 2)
        if buffering == 0:
            return raw
        binary = io.BufferedRandom(raw) if writes else io.BufferedReader(raw)
        return binary if "b" in mode else io.TextIOWrapper(binary, encoding, errors, newline)


class Mapped(bytes):
    """A read-only map of a file: what it has when it is mapped."""

    def __enter__(self) -> Mapped:
        return self

    def __exit__(self, *_: object) -> None: ...


def _stat_of(node: File | Folder) -> os.stat_result:
    is_folder = isinstance(node, Folder)
    mode = stat.S_IFDIR | 0o755 if is_folder else stat.S_IFREG | 0o644
    size = 0 if isinstance(node, Folder) else len(node.data)
    return os.stat_result((mode, id(node), 7, 1, 0, 0, size, 0, 0, 0))


BY_PATH = {"open": "open", "stat": "stat", "lstat": "stat", "mkdir": "mkdir", "rmdir": "rmdir", "unlink": "unlink",
           "remove": "unlink", "rename": "rename", "replace": "rename", "link": "link", "scandir": "scandir",
           "listdir": "listdir", "chmod": "set_times", "utime": "set_times", "listxattr": "listxattr"}  # fmt: skip
BY_DESCRIPTOR = {"close": "close", "pwrite": "pwrite", "write": "write", "pread": "pread", "read": "read",
                 "lseek": "lseek", "ftruncate": "ftruncate", "fsync": "fsync", "fdatasync": "fsync", "fstat": "fstat",
                 "fchmod": "fchmod"}  # fmt: skip


def _by_path(real: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    def call(path: Any = ".", *rest: Any, **more: Any) -> Any:
        if not isinstance(path, int):
            text = os.fspath(path)
            if isinstance(text, str) and text.startswith(ROOT):
                return ours(text, *[os.fspath(one) if hasattr(one, "__fspath__") else one for one in rest], **more)
        return real(path, *rest, **more)

    return call


def _by_descriptor(real: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    def call(descriptor: Any, *rest: Any, **more: Any) -> Any:
        if isinstance(descriptor, int) and descriptor > FIRST_DESCRIPTOR:
            return ours(descriptor, *rest, **more)
        return real(descriptor, *rest, **more)

    return call


@contextmanager
def interposed(files: FileSystem) -> Iterator[None]:
    """Until the end of the block, paths below `/sim/` are those of the simulated disks."""
    places: list[tuple[Any, str, Callable[..., Any]]] = []
    for name, ours in BY_PATH.items():
        places.append((os, name, _by_path(getattr(os, name), getattr(files, ours))))
    for name, ours in BY_DESCRIPTOR.items():
        places.append((os, name, _by_descriptor(getattr(os, name), getattr(files, ours))))
    places += [(module, "open", _by_path(io.open, files.open_file)) for module in (io, builtins)]
    places.append((mmap, "mmap", _by_descriptor(mmap.mmap, files.mmap)))
    places.append((fcntl, "flock", _by_descriptor(fcntl.flock, files.flock)))
    before = [(module, name, getattr(module, name)) for module, name, _ in places]
    try:
        for module, name, function in places:
            setattr(module, name, function)
        yield
    finally:
        for module, name, function in before:
            setattr(module, name, function)
