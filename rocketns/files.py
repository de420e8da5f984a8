"""Files that must be whole at any moment: written beside, synced, renamed over. MixAll.string2File, made atomic."""

from __future__ import annotations

import os
from pathlib import Path


def replace_with_backup(path: Path, content: bytes) -> None:
    """Replace a file's content, keeping the previous one as ``<path>.bak`` as Java does. OSError if that fails."""
    path = path.resolve()  # a symbolic link stays one
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        _replace(path.with_name(path.name + ".bak"), path.read_bytes())
    _replace(path, content)


def _replace(path: Path, content: bytes) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("wb") as file:
            file.write(content)
            if path.exists():
                os.fchmod(file.fileno(), path.stat().st_mode)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
