"""Small files on any path that Spark can write (local, HDFS, S3 …), through Spark's file systems."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.errors import BadInput


class Folder:
    """One folder; names are relative to it and may have slashes."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.root = root.rstrip("/") or "/"
        self._jvm = cast(Any, spark.sparkContext._jvm)
        self._root = self._jvm.org.apache.hadoop.fs.Path(self.root)
        self._system = self._root.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())

    def path(self, name: str) -> str:
        """What Spark reads and writes."""
        return f"{self.root}/{name}"

    def exists(self, name: str = "") -> bool:
        return bool(self._system.exists(self._at(name)))

    def names(self, name: str = "") -> list[str]:
        """Names in the folder, sorted; empty if it is absent."""
        if not self.exists(name):
            return []
        return sorted(status.getPath().getName() for status in self._system.listStatus(self._at(name)))

    def files(self) -> Iterator[tuple[str, int]]:
        """Path and size in bytes of every file below the folder, or below all matching folders if it has wildcards;
        empty if there is none. BadInput if it cannot be read."""
        try:
            for found in self._system.globStatus(self._root) or []:
                listed = self._system.listFiles(found.getPath(), True)
                while listed.hasNext():
                    status = listed.next()
                    yield status.getPath().toString(), status.getLen()
        except Py4JJavaError as error:
            raise BadInput(f"{self.root} cannot be read: {error.java_exception.getMessage()}") from error

    def read(self, name: str) -> bytes:
        """The file's bytes. BadInput if it is absent."""
        if not self.exists(name):
            raise BadInput(f"{self.path(name)} is not there")
        stream = self._system.open(self._at(name))
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def beginning(self, name: str, size: int) -> bytes:
        """The file's first ``size`` bytes, or all of a shorter one."""
        stream = self._system.open(self._at(name))
        try:
            bounded = self._jvm.org.apache.commons.io.input.BoundedInputStream(stream, size)
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(bounded))
        finally:
            stream.close()

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file; an existing one is replaced."""
        stream = self._system.create(self._at(name), True)
        try:
            stream.write(bytearray(data))
        finally:
            stream.close()

    def delete(self, name: str) -> None:
        """Delete the file, or the folder with its content, if it exists."""
        self._system.delete(self._at(name), True)

    def local(self) -> Path | None:
        """The folder on this machine, or None if it is elsewhere."""
        uri = self._system.makeQualified(self._root).toUri()
        return Path(uri.getPath()) if uri.getScheme() == "file" else None

    def _at(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.root}/{name}" if name else self.root)
