"""A folder on any path that Spark can write (HDFS, S3 …), through Hadoop's file systems in Spark's Java process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.files.folder import Folder

# In these stores a file appears whole when it is closed, and renaming copies it.
OBJECT_STORES = ("s3", "s3a", "s3n", "gs", "oss", "cosn", "obs", "wasb", "wasbs")
# A file's status as Hadoop shows it: one call for a whole listing, instead of four for each file.
_STATUS = re.compile(r"path=([^;]+); isDirectory=false; length=(\d+);[^{}]*? modification_time=(\d+);")


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
