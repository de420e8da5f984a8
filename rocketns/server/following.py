"""Files that are read again when their content changes: TLS files, and lists of tokens (FileWatchService)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


class Followed:
    """Some files, by their paths, and digests of their content.

    A file that is deleted or cannot be read counts as unchanged, as in Java: somebody is about to replace it.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._digests = {path: _digest(path) for path in paths}

    def changed(self) -> list[str]:
        """The paths whose content is another one than at the last call, or than at the start."""
        found = {path: _digest(path) for path in self._digests}
        new = {path: digest for path, digest in found.items() if digest and digest != self._digests[path]}
        self._digests |= new
        return [*new]


def _digest(path: str) -> bytes:
    try:
        return hashlib.sha256(Path(path).read_bytes()).digest()
    except OSError:
        return b""
