"""Calls back when the records so far are written, so that an answer can wait for them. Control only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

# An answer waits no longer than this: the journal may lose records, but it must not delay answers.
WITHIN_S = 0.3

Later = Callable[[float, Callable[[], None]], object]


class Attempts(Protocol):
    """The writer, as `Written` sees it."""

    @property
    def is_behind(self) -> bool:
        """Whether something is not written."""

    @property
    def is_failing(self) -> bool:
        """Whether the last attempt failed."""


class Written:
    """``later(seconds, step)`` calls ``step`` on control's thread after that time.

    `note` is called on control's thread after each of the writer's attempts, where anybody waits.
    """

    def __init__(self, writer: Attempts, later: Later) -> None:
        self._writer = writer
        self._later = later
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()
        self._called = 0

    @property
    def is_wanted(self) -> bool:
        """Any thread. Whether anybody waits."""
        return bool(self._waiting)

    def when_written(self, call: Callable[[], None]) -> None:
        """``call`` when all that the writer was given is written, or could not be, at the latest after `WITHIN_S`."""
        if not self._writer.is_behind:
            call()
            return
        number = self._called + len(self._waiting)
        self._waiting.append((number, call))
        self._later(WITHIN_S, lambda: self._call_up_to(number))

    def note(self) -> None:
        """Call everybody, unless the attempt began before the last records came: then another follows."""
        if not self._writer.is_behind or self._writer.is_failing:
            self._call_up_to(self._called + len(self._waiting))

    def _call_up_to(self, number: int) -> None:
        while self._waiting and self._waiting[0][0] <= number:
            self._called += 1
            self._waiting.popleft()[1]()
