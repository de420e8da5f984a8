"""A file writer that writes at once, in the caller's thread, for tests without a server."""

from __future__ import annotations

from typing import Any

from rocketns.filewriter import Done, FileWriter, WrittenFile


class InlineWriter(FileWriter):
    """Writes and reports the result before `submit` returns."""

    def __init__(self) -> None:
        super().__init__(changes_max=10, bytes_max=1 << 30)

    def submit(self, file: WrittenFile, change: Any, size: int, done: Done) -> None:
        assert size > 0
        done(self._write(file, [change]))
