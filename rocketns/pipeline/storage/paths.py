"""Small files on any path that Spark can write (local, HDFS, S3 …), through Spark's file systems.

A file on this machine is read and written without Java: that takes microseconds instead of milliseconds.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.errors import BadInput

# Where a file appears whole when it is closed, and renaming copies it.
OBJECT_STORES = ("s3", "s3a", "s3n", "gs", "oss", "cosn", "obs", "wasb", "wasbs")
# A file's status as Hadoop shows it: one call for a whole listing, instead of four for each file.
_STATUS = re.compile(r"path=([^;]+); isDirectory=false; length=(\d+);[^{}]*? modification_time=(\d+);")


class Folder:
    """One folder; names are relative to it and may have slashes."""

    def __init__(self, spark: SparkSession | None, root: str) -> None:
        """``spark`` None: a folder on this machine."""
        self.root = root.rstrip("/") or "/"
        self._jvm: Any = None
        if spark is None:
            self._here: Path | None = _on_this_machine(self.root)
            self._scheme, self.absolute = "file", f"file:{self._here}"
            return
        self._jvm = spark.sparkContext._jvm
        self._root = self._jvm.org.apache.hadoop.fs.Path(self.root)
        self._conf = spark._jsparkSession.sessionState().newHadoopConf()
        self._system = self._root.getFileSystem(self._conf)
        uri = self._system.makeQualified(self._root).toUri()
        self._scheme, self.absolute = str(uri.getScheme()), str(uri.toString())
        self._here = Path(uri.getPath()) if self._scheme == "file" else None

    def path(self, name: str) -> str:
        """What Spark reads and writes."""
        return f"{self.root}/{name}"

    def local(self) -> Path | None:
        """The folder on this machine, or None if it is elsewhere."""
        return self._here

    def local_path(self, name: str) -> Path:
        """The file of a folder on this machine."""
        return cast(Path, self._here) / name

    def exists(self, name: str = "") -> bool:
        if self._here is not None:
            return (self._here / name).exists()
        return bool(self._system.exists(self._at(name)))

    def names(self, name: str = "") -> list[str]:
        """Names in the folder, sorted; empty if it is absent."""
        if not self.exists(name):
            return []
        if self._here is not None:
            return sorted(path.name for path in (self._here / name).iterdir())
        return sorted(status.getPath().getName() for status in self._system.listStatus(self._at(name)))

    def files(self) -> Iterator[tuple[str, int, int]]:
        """Path, size in bytes and epoch ms of the last change of every file below the folder, or below all matching
        folders if it has wildcards; empty if there is none. BadInput if it cannot be read."""
        if self._jvm is None:
            for found in Path("/").glob(str(self._here).lstrip("/") or "."):
                yield from _walked(found)
            return
        try:
            for found in self._system.globStatus(self._root) or []:
                below = found.getPath()
                yield from _walked(Path(below.toUri().getPath())) if self._here is not None else self._listed(below)
        except (Py4JJavaError, OSError) as error:
            reason = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error.strerror
            raise BadInput(f"{self.root} cannot be read: {reason}") from error

    def _listed(self, below: Any) -> Iterator[tuple[str, int, int]]:
        listed = self._jvm.org.apache.hadoop.util.functional.RemoteIterators.toList(self._system.listFiles(below, True))
        found = _STATUS.findall(listed.toString())
        if len(found) != listed.size():
            found = [(s.getPath().toString(), s.getLen(), s.getModificationTime()) for s in listed]
        for path, size, changed in found:
            yield path, int(size), int(changed)

    def read(self, name: str) -> bytes:
        """The file's bytes. BadInput if it is absent."""
        data = self.beginning(name)
        if data is None:
            raise BadInput(f"{self.path(name)} is not there")
        return data

    def beginning(self, name: str, size: int | None = None) -> bytes | None:
        """The file's first ``size`` bytes, or all; None if it is absent."""
        if self._here is not None:
            with suppress(FileNotFoundError), (self._here / name).open("rb") as file:
                return file.read(-1 if size is None else size)
            return None
        if not self.exists(name):
            return None
        size = size or self._system.getFileStatus(self._at(name)).getLen()
        stream = self._system.open(self._at(name))
        try:
            bounded = self._jvm.org.apache.commons.io.input.BoundedInputStream(stream, size)
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(bounded))
        finally:
            stream.close()

    def part(self, name: str, begin: int) -> bytes | None:
        """The file's bytes from this one on; None if it is absent."""
        local = self.local()
        if local is not None:
            with suppress(FileNotFoundError), (local / name).open("rb") as file:
                file.seek(begin)
                return file.read()
            return None
        if not self.exists(name):
            return None
        stream = self._system.open(self._at(name))
        try:
            stream.seek(begin)
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file in one step: a reader finds the old content, if there is any, or the new one."""
        if self._here is not None:
            self._temporary(name, data).replace(self._here / name)
        elif self._scheme in OBJECT_STORES:
            self._put(name, data, overwrite=True)
        else:
            self._rename(self._put(f"{name}.{uuid4().hex}.new", data), name)

    def publish(self, name: str, data: bytes) -> bool:
        """Write a whole file in one step; False if there is one of this name already, which stays as it is.

        On an object store two writers at the same instant may both be told True, and the last one counts.
        """
        if self._here is not None:
            return _linked(self._temporary(name, data), self._here / name)
        if self.exists(name):
            return False
        if self._scheme in OBJECT_STORES:
            self._put(name, data)
            return True
        return bool(self._system.rename(self._put(f"{name}.{uuid4().hex}.new", data), self._at(name)))

    def delete(self, name: str) -> None:
        """Delete the file, or the folder with its content, if it exists."""
        if self._here is None:
            self._system.delete(self._at(name), True)
        elif (self._here / name).is_dir():
            shutil.rmtree(self._here / name, ignore_errors=True)
        else:
            (self._here / name).unlink(missing_ok=True)

    def _temporary(self, name: str, data: bytes) -> Path:
        """A file beside the one that it is to become, with its content on disk."""
        path = cast(Path, self._here) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{uuid4().hex}.new")
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # Hadoop keeps a checksum beside each file that it writes, and would find the new content wrong.
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        return temporary

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
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.root}/{name}" if name else self.root)


def _on_this_machine(root: str) -> Path:
    return Path("/" + root.removeprefix("file:").lstrip("/") if root.startswith("file:") else root).absolute()


def _walked(folder: Path) -> Iterator[tuple[str, int, int]]:
    """As Hadoop names them: file:/…"""
    for at, _, names in os.walk(folder, followlinks=True):
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
