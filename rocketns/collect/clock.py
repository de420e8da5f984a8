"""The time of the journals: the machine's clock, which goes on steadily where that is set."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

log = logging.getLogger("rocketns.collect")

# Time synchronisation moves a clock by less between two readings; more is a step.
STEP_MS = 2_000


def wall_clock_ms() -> int:
    """Epoch ms."""
    return time.time_ns() // 1_000_000


def running_ms() -> int:
    """ms that pass evenly, also while the machine is suspended."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


class SteadyClock:
    """Call it for epoch ms. It follows the machine's clock where that is moved slowly, and never goes back.

    A step is not followed: times before and after it would be in another order than what happened. The log says once
    by how much the clock was set.
    """

    def __init__(self, wall_ms: Callable[[], int] = wall_clock_ms, passed_ms: Callable[[], int] = running_ms) -> None:
        self._wall_ms, self._passed_ms = wall_ms, passed_ms
        self._ahead_ms = wall_ms() - passed_ms()  # what is shown, before what passed
        self._set_by_ms = 0  # of the machine's clock, in all steps
        self._last_ms = 0

    def __call__(self) -> int:
        passed_ms = self._passed_ms()
        moved_ms = self._wall_ms() - self._set_by_ms - self._ahead_ms - passed_ms
        if abs(moved_ms) <= STEP_MS:
            self._ahead_ms += moved_ms
        else:
            self._set_by_ms += moved_ms
            log.warning(
                "the clock of this machine was set by %+.1f s. The journals' times go on as before, %+.1f s off from "
                "it now: start again to take the new time", moved_ms / 1000, -self._set_by_ms / 1000,
            )  # fmt: skip
        self._last_ms = max(self._last_ms, passed_ms + self._ahead_ms)
        return self._last_ms
