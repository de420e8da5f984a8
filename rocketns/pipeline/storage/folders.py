"""Folders: on this machine, read and written without Java, which takes microseconds and not milliseconds; or
on any path that Spark can write (HDFS, S3 …), through Hadoop's file systems in Spark's Java process.
"""

from __future__ import annotations

import os
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from rocketns.pipeline.contract.terms import BadInput
from rocketns.pipeline.saying import _

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# In these stores a file appears whole when it is closed, and renaming copies it.
OBJECT_STORES = ("s3", "s3a", "s3n", "gs", "oss", "cosn", "obs", "wasb", "wasbs")
# A file's status as Hadoop shows it: one call for a whole listing, instead of four for each file.
_STATUS = re.compile(r"path=([^;]+); isDirectory=false; length=(\d+);[^{}]*? modification_time=(\d+);")


class Folder(ABC):
    """``root``: its path as the user named it; ``absolute``: the same for any working directory, as Hadoop writes it;
    ``here``: its path on this machine, or None if it is elsewhere. Names are relative to it and may have slashes."""

    here: Path | None = None

    def __init__(self, root: str, absolute: str) -> None:
        self.root, self.absolute = root, absolute

    def path(self, name: str) -> str:
        """What Spark reads and writes."""
        return f"{self.root}/{name}"

    @property
    def anywhere(self) -> str:
        """Its name in any working directory."""
        return self.absolute if self.here is None else str(self.here)

    def local_path(self, name: str) -> Path:
        """The file of a folder on this machine."""
        return cast(Path, self.here) / name

    def read(self, name: str) -> bytes:
        """The file's bytes. BadInput if it is absent."""
        data = self.part(name)
        if data is None:
            raise BadInput(_("%(path)s is not there") % {"path": self.path(name)})
        return data

    @abstractmethod
    def exists(self, name: str = "") -> bool: ...

    @abstractmethod
    def names(self, name: str = "") -> list[str]:
        """Names in the folder, sorted; empty if it is absent."""

    @abstractmethod
    def files(self) -> Iterator[tuple[str, int, int]]:
        """Path, size in bytes and epoch ms of the last change of every file below the folder, or below all matching
        folders if it has wildcards; empty if there is none. BadInput if it cannot be read."""

    @abstractmethod
    def part(self, name: str, begin: int = 0, size: int | None = None) -> bytes | None:
        """The file's bytes from ``begin`` on, at most ``size``; None if it is absent."""

    @abstractmethod
    def write(self, name: str, data: bytes) -> None:
        """Write a whole file in one step: a reader finds the old content, if there is any, or the new one."""

    @abstractmethod
    def publish(self, name: str, data: bytes) -> bool:
        """Write a whole file in one step; False if there is one of this name already, which stays as it is.

        In an object store two writers at the same instant may both be told True, and the last one counts.
        """

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete the file, or the folder with its content, if it exists."""


def is_on_this_machine(path: str) -> bool:
    """Whether a path names no other file system. Settings of Hadoop may still give a path without a scheme to one."""
    return "://" not in path or path.startswith("file:")


class Hadoop(Folder):
    """``scheme``: which of Hadoop's file systems has it. ``local_root``: the path without scheme and host."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._jvm: Any = cast(Any, spark.sparkContext._jvm)
        self._root = self._jvm.org.apache.hadoop.fs.Path(root)
        self._conf = spark._jsparkSession.sessionState().newHadoopConf()
        self._system = self._root.getFileSystem(self._conf)
        uri = self._system.makeQualified(self._root).toUri()
        self.scheme, self.local_root = str(uri.getScheme()), Path(uri.getPath())
        super().__init__(root, str(uri.toString()))

    def exists(self, name: str = "") -> bool:
        return bool(self._system.exists(self._at(name)))

    def names(self, name: str = "") -> list[str]:
        if not self.exists(name):
            return []
        return sorted(status.getPath().getName() for status in self._system.listStatus(self._at(name)))

    def files(self) -> Iterator[tuple[str, int, int]]:
        with self._unreadable():
            for found in self.matching():
                yield from self._listed(found)

    def matching(self) -> list[Any]:
        """Hadoop's paths of the folders that the root names, which may have wildcards."""
        with self._unreadable():
            return [found.getPath() for found in self._system.globStatus(self._root) or []]

    @contextmanager
    def _unreadable(self) -> Iterator[None]:
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

        try:
            yield
        except Py4JJavaError as error:
            raise BadInput(
                _("%(path)s cannot be read: %(error)s")
                % {"path": self.root, "error": error.java_exception.getMessage()}
            ) from error

    def _listed(self, below: Any) -> Iterator[tuple[str, int, int]]:
        listed = self._jvm.org.apache.hadoop.util.functional.RemoteIterators.toList(self._system.listFiles(below, True))
        found = _STATUS.findall(listed.toString())
        if len(found) != listed.size():
            found = [(s.getPath().toString(), s.getLen(), s.getModificationTime()) for s in listed]
        for path, size, changed in found:
            yield path, int(size), int(changed)

    def part(self, name: str, begin: int = 0, size: int | None = None) -> bytes | None:
        if not self.exists(name):
            return None
        size = size or self._system.getFileStatus(self._at(name)).getLen()
        stream = self._system.open(self._at(name))
        try:
            stream.seek(begin)
            bounded = self._jvm.org.apache.commons.io.input.BoundedInputStream(stream, size)
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(bounded))
        finally:
            stream.close()

    def write(self, name: str, data: bytes) -> None:
        if self.scheme in OBJECT_STORES:
            self._put(name, data, overwrite=True)
        else:
            self._rename(self._put(f"{name}.{uuid4().hex}.new", data), name)

    def publish(self, name: str, data: bytes) -> bool:
        if self.exists(name):
            return False
        if self.scheme in OBJECT_STORES:
            self._put(name, data)
            return True
        return bool(self._system.rename(self._put(f"{name}.{uuid4().hex}.new", data), self._at(name)))

    def delete(self, name: str) -> None:
        self._system.delete(self._at(name), True)

    def _put(self, name: str, data: bytes, *, overwrite: bool = False) -> Any:
        stream = self._system.create(self._at(name), overwrite)
        try:
            stream.write(bytearray(data))
        finally:
            stream.close()
        return self._at(name)

    def _rename(self, source: Any, name: str) -> None:
        jvm = self._jvm.org.apache.hadoop.fs
        options = self._jvm.java.lang.reflect.Array.newInstance(
            self._jvm.java.lang.Class.forName("org.apache.hadoop.fs.Options$Rename"), 1
        )
        options[0] = getattr(jvm, "Options$Rename").OVERWRITE
        jvm.FileContext.getFileContext(self._root.toUri(), self._conf).rename(
            self._system.makeQualified(source), self._system.makeQualified(self._at(name)), options
        )

    def _at(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.path(name) if name else self.root)


class Local(Folder):
    """``here``: its absolute path. ``there``: the same folder of Hadoop's, whose wildcards count; None: Python's."""

    here: Path

    def __init__(self, root: str, here: Path, there: Hadoop | None = None) -> None:
        super().__init__(root, f"file:{here}" if there is None else there.absolute)
        self.here, self._there = here, there

    def exists(self, name: str = "") -> bool:
        return (self.here / name).exists()

    def names(self, name: str = "") -> list[str]:
        with suppress(FileNotFoundError, NotADirectoryError):
            return sorted(path.name for path in (self.here / name).iterdir())
        return []

    def files(self) -> Iterator[tuple[str, int, int]]:
        try:
            for found in self._matching():
                yield from _walked(found)
        except OSError as error:
            raise BadInput(
                _("%(path)s cannot be read: %(error)s") % {"path": self.root, "error": error.strerror}
            ) from error

    def _matching(self) -> Iterable[Path]:
        if self._there is None:
            return Path("/").glob(str(self.here).lstrip("/") or ".")
        return [Path(found.toUri().getPath()) for found in self._there.matching()]

    def part(self, name: str, begin: int = 0, size: int | None = None) -> bytes | None:
        with suppress(FileNotFoundError), (self.here / name).open("rb") as file:
            file.seek(begin)
            return file.read(-1 if size is None else size)
        return None

    def write(self, name: str, data: bytes) -> None:
        self._temporary(name, data).replace(self.here / name)

    def publish(self, name: str, data: bytes) -> bool:
        return _linked(self._temporary(name, data), self.here / name)

    def delete(self, name: str) -> None:
        if (self.here / name).is_dir():
            shutil.rmtree(self.here / name, ignore_errors=True)
        else:
            (self.here / name).unlink(missing_ok=True)

    def _temporary(self, name: str, data: bytes) -> Path:
        """A file beside the one that it is to become, with its content on disk."""
        path = self.here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{uuid4().hex}.new")
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # Hadoop keeps a checksum beside each file that it writes, and would find the new content wrong.
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        return temporary


def _walked(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Path, size and time of each file below, as Hadoop names them: file:/…"""
    for at, _folders, names in os.walk(folder, followlinks=True):
        for name in names:
            with suppress(FileNotFoundError):  # it was renamed meanwhile
                status = Path(at, name).stat()
                yield f"file:{at}/{name}", status.st_size, status.st_mtime_ns // 1_000_000


def _linked(temporary: Path, path: Path) -> bool:
    """Give the file its name, unless another has it. A file system without hard links cannot do both in one step."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:
        if path.exists():
            return False
        shutil.copyfile(temporary, path)
    finally:
        temporary.unlink()
    return True


def folder_at(spark: SparkSession | None, path: str) -> Folder:
    """The folder at this path. ``spark`` None: on this machine. With Spark, Hadoop's settings decide where a path
    without a scheme is."""
    root = path.rstrip("/") or "/"
    if spark is None:
        return Local(root, Path(f"/{root[5:].lstrip('/')}" if root.startswith("file:") else root).absolute())
    there = Hadoop(spark, root)
    return Local(root, there.local_root, there) if there.scheme == "file" else there
