"""A folder on this machine: read and written without Java, which takes microseconds instead of milliseconds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.files.folder import Folder
from rocketns.pipeline.storage.files.hadoop import Hadoop


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
