"""What is being asked, on standard error, where that is a terminal: one line, written over."""

from __future__ import annotations

import sys
from collections.abc import Awaitable
from typing import TextIO, TypeVar

Value = TypeVar("Value")
ERASE = "\r\x1b[K"


class ProgressLine:
    """``stream`` is a terminal; None shows nothing."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._text, self._done, self._total = "", 0, 0

    @classmethod
    def on_terminal(cls) -> ProgressLine:
        """On standard error, if it is a terminal."""
        return cls(sys.stderr if sys.stderr.isatty() else None)

    def stage(self, text: str, total: int) -> None:
        """What is done now, in so many steps."""
        self._text, self._done, self._total = text, 0, total
        self._show()

    async def counted(self, step: Awaitable[Value]) -> Value:
        """Await one step of the stage."""
        value = await step
        self._done += 1
        self._show()
        return value

    def end(self) -> None:
        """Leave an empty line."""
        self._write(ERASE)

    def _show(self) -> None:
        self._write(f"{ERASE}{self._text} {self._done}/{self._total}")

    def _write(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(text)
            self._stream.flush()
