"""A disk whose delay a test controls, for a server in this process."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from rocketns import files

DONE_WITHIN_S = 60.0


class SlowDisk:
    """Each write of a file waits for `go_on`. ``contents`` has the written contents in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._replace = files.replace_with_backup
        self._begun = threading.Semaphore(0)
        self._goes_on = threading.Semaphore(0)
        self.is_full = False
        self.contents: list[tuple[str, bytes]] = []
        monkeypatch.setattr(files, "replace_with_backup", self._write)

    def _write(self, path: Path, chunks: Iterable[bytes]) -> None:
        content = b"".join(chunks)
        self._begun.release()
        assert self._goes_on.acquire(timeout=DONE_WITHIN_S)
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self._replace(path, [content])
        self.contents.append((path.name, content))

    def wait_for_write(self) -> None:
        """Wait until a write has begun."""
        assert self._begun.acquire(timeout=DONE_WITHIN_S)

    def go_on(self, writes: int = 1) -> None:
        """Let this many writes finish."""
        self._goes_on.release(writes)
