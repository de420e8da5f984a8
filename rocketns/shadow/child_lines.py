"""What a child process says, in the relay's log: peers decide how much that is, so that it is bounded."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

log = logging.getLogger("rocketns.shadow")

LINES_MAX, LINES_S = 50, 1.0


class ChildLines:
    """LINES_MAX lines in LINES_S are logged; others are counted, which the next line says."""

    def __init__(self, name: str, now: Callable[[], float] = time.monotonic) -> None:
        self._name, self._now = name, now
        self._since = float("-inf")
        self._lines = self._left_out = 0

    def log(self, line: str) -> None:
        """One line of its output."""
        now = self._now()
        if now - self._since >= LINES_S:
            self._since, self._lines = now, 0
        self._lines += 1
        if self._lines > LINES_MAX:
            self._left_out += 1
            return
        if self._left_out:
            log.info("%s: %d more lines were left out", self._name, self._left_out)
            self._left_out = 0
        log.info("%s: %s", self._name, line)
