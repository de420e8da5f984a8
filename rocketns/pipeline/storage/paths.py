"""Small files on any path that Spark can write: on this machine, through Hadoop, or in S3 through Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, cast

from pyspark.sql import SparkSession, is_remote

from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.storage.files.bucket import Bucket
from rocketns.pipeline.storage.files.hadoop import Hadoop
from rocketns.pipeline.storage.files.local import Local
from rocketns.pipeline.storage.files.places import is_on_this_machine


class Files(Protocol):
    """The files below one root. `Folder` says what its methods do; ``name`` is "" for the root itself."""

    absolute: str

    def exists(self, name: str) -> bool: ...

    def names(self, name: str) -> list[str]:
        """Of a folder that exists."""

    def files(self) -> Iterator[tuple[str, int, int]]: ...

    def read(self, name: str, begin: int = 0, size: int | None = None) -> bytes | None: ...

    def write(self, name: str, data: bytes) -> None: ...

    def publish(self, name: str, data: bytes) -> bool: ...

    def delete(self, name: str) -> None: ...


class Folder:
    """One folder; names are relative to it and may have slashes."""

    def __init__(self, spark: SparkSession | None, root: str) -> None:
        """``spark`` None: a folder on this machine. BadInput if nothing here can reach it."""
        self.root = root.rstrip("/") or "/"
        self._files = self._listing = _files(spark, self.root)
        self.absolute = self._files.absolute
        if isinstance(self._files, Hadoop) and self._files.here is not None:
            self._files = Local(self._files.here)
        elif spark is not None and is_remote():
            self.root = self.absolute  # the server has another working directory, and maybe another default

    def path(self, name: str) -> str:
        """What Spark reads and writes."""
        return f"{self.root}/{name}"

    @property
    def anywhere(self) -> str:
        """Its name in any working directory."""
        here = self.local()
        return self.absolute if here is None else str(here)

    def local(self) -> Path | None:
        """The folder on this machine, or None if it is elsewhere."""
        return self._files.root if isinstance(self._files, Local) else None

    def local_path(self, name: str) -> Path:
        """The file of a folder on this machine."""
        return cast(Path, self.local()) / name

    def exists(self, name: str = "") -> bool:
        return self._files.exists(name)

    def names(self, name: str = "") -> list[str]:
        """Names in the folder, sorted; empty if it is absent."""
        return self._files.names(name) if self._files.exists(name) else []

    def files(self) -> Iterator[tuple[str, int, int]]:
        """Path, size in bytes and epoch ms of the last change of every file below the folder, or below all matching
        folders if it has wildcards; empty if there is none. BadInput if it cannot be read."""
        return self._listing.files()

    def read(self, name: str) -> bytes:
        """The file's bytes. BadInput if it is absent."""
        data = self._files.read(name)
        if data is None:
            raise BadInput(f"{self.path(name)} is not there")
        return data

    def beginning(self, name: str, size: int | None = None) -> bytes | None:
        """The file's first ``size`` bytes, or all; None if it is absent."""
        return self._files.read(name, 0, size)

    def part(self, name: str, begin: int) -> bytes | None:
        """The file's bytes from this one on; None if it is absent."""
        return self._files.read(name, begin)

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file in one step: a reader finds the old content, if there is any, or the new one."""
        self._files.write(name, data)

    def publish(self, name: str, data: bytes) -> bool:
        """Write a whole file in one step; False if there is one of this name already, which stays as it is.

        In an object store two writers at the same instant may both be told True, and the last one counts.
        """
        return self._files.publish(name, data)

    def delete(self, name: str) -> None:
        """Delete the file, or the folder with its content, if it exists."""
        self._files.delete(name)


def _files(spark: SparkSession | None, root: str) -> Files:
    if spark is not None and not is_remote():
        return Hadoop(spark, root)
    if spark is not None and not is_on_this_machine(root):
        return Bucket(root)
    return Local(Path("/" + root.removeprefix("file:").lstrip("/") if root.startswith("file:") else root).absolute())
