"""Lines of progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable


class Progress:
    """Prints each step with the seconds since the start."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._start = clock, clock()

    def __call__(self, text: str) -> None:
        sys.stderr.write(f"{self.seconds():6.1f} s  {text}\n")
        sys.stderr.flush()

    def seconds(self) -> float:
        return self._clock() - self._start
