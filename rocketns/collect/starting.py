"""Whether journals can be written at all: said at the start, not after the first change."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from rocketns.errors import RocketnsError
from rocketns.journal.segments import Store


class FolderError(RocketnsError):
    """The journal's folder cannot be used; the text says why."""


def check_folder(journal: str, ns_names: Iterable[str]) -> None:
    """Make the folder, and try to write in it, and to be the only writer for these ids. FolderError."""
    for ns in ns_names:
        store = Store(Path(journal), ns)
        try:
            descriptor = store.lock()
        except BlockingIOError:
            raise FolderError(f"another process writes the journal of {ns} in {journal}: end it, or give this name "
                              "server another name, NAME=HOST:PORT") from None  # fmt: skip
        except (OSError, ValueError) as error:
            raise FolderError(f"the journal's folder {journal} cannot be written: {_why(error)}") from None
        try:
            _try_to_write(store.base / f".try-{os.getpid()}")
        except OSError as error:
            raise FolderError(f"the journal's folder {journal} cannot be written: {_why(error)}") from None
        finally:
            os.close(descriptor)


def _try_to_write(path: Path) -> None:
    try:
        path.write_bytes(b"\n")
    finally:
        path.unlink(missing_ok=True)


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
