"""A folder on any path that Spark can write. Each kind of place has its class, which `paths.folder_at` chooses.
Nothing here needs Spark."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.saying import _


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
