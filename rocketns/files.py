"""Replaces a file atomically: write a temporary file, sync it, rename it. MixAll.string2File, made atomic.

And reads a small one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

log = logging.getLogger("rocketns.files")


def replace_with_backup(path: Path, chunks: Iterable[bytes]) -> None:
    """Replace a file's content and keep the previous file as ``<path>.bak``, as Java does. OSError if that fails.

    The new content is on disk before the rename. ``.bak`` is the previous file itself, not a copy.
    """
    path = path.resolve()  # a symbolic link stays a link
    make_folder(path.parent)
    temporary = _temporary(path)
    try:
        _write(temporary, chunks, path)
        with contextlib.suppress(FileNotFoundError):  # there was none, or somebody removes it now
            _back_up(path)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _write(temporary: Path, chunks: Iterable[bytes], path: Path) -> None:
    """Write and sync. While this process lives, its lock keeps another one's `remove_leftovers` away."""
    with temporary.open("wb", buffering=0) as file:
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for chunk in chunks:
            _write_all(file.fileno(), chunk)
        with contextlib.suppress(FileNotFoundError):
            os.fchmod(file.fileno(), path.stat().st_mode)
        os.fsync(file.fileno())


def _write_all(descriptor: int, chunk: bytes) -> None:
    rest = memoryview(chunk)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _back_up(path: Path) -> None:
    """Give the current file a second name with ``.bak``."""
    backup = path.with_name(path.name + ".bak")
    temporary = _temporary(backup)
    temporary.unlink(missing_ok=True)
    try:
        _link_or_copy(path, temporary)
        temporary.replace(backup)
    finally:
        temporary.unlink(missing_ok=True)  # rename does nothing if both names belong to the same file


def _link_or_copy(path: Path, name: Path) -> None:
    try:
        os.link(path, name)
    except OSError:  # this file system has no hard links
        shutil.copy2(path, name)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def read_text(path: str, bytes_max: int) -> str:
    """The text of a small regular file. ValueError says why it cannot be read, and shows nothing of what is in it."""
    try:
        content = _read_regular(path, bytes_max + 1)
    except OSError as error:
        raise ValueError(f"it cannot be read: {error.strerror}") from error
    if len(content) > bytes_max:
        raise ValueError(f"it has more than {bytes_max} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is no UTF-8") from None


def _read_regular(path: str, bytes_max: int) -> bytes:
    """The first bytes of a regular file. OSError, also for anything else: to open a FIFO would wait for its writer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123  it is open
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        return file.read(bytes_max)


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
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(path: Path) -> None:
    """Remove the temporary files that killed processes left in a file's folder. A failure is only logged."""
    path = path.resolve()
    ours = re.compile(rf"\.{re.escape(path.name)}(\.bak)?\.\d+\.tmp")
    try:
        for leftover in list(_matching(path.parent, ours)):
            _remove_if_dead(leftover)
    except OSError as error:
        log.warning("cannot remove the temporary files of %s: %s", path, error)


def _matching(folder: Path, ours: re.Pattern[str]) -> Iterator[Path]:
    if folder.is_dir():
        with os.scandir(folder) as entries:
            yield from (Path(e.path) for e in entries if ours.fullmatch(e.name) and e.is_file(follow_symlinks=False))


def _remove_if_dead(leftover: Path) -> None:
    """Remove the file unless a living process holds its lock."""
    with leftover.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        leftover.unlink(missing_ok=True)
    log.info("removed %s, a temporary file of a killed process", leftover)
