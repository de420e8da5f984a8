"""Which recorded requests are sent, by default only those that change nothing, and when."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum

from rocketns.processor.requests import REQUESTS

Now = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


class Unsent(StrEnum):
    """Why a recorded request is not sent."""

    CHANGES = "changes something"
    UNKNOWN = "unknown request, which may change something"
    OTHER = "not in --only"


@dataclass(frozen=True)
class Choice:
    """``only``: codes; empty for all. ``with_changes``: also what registers, unregisters or changes something."""

    only: frozenset[int] = field(default=frozenset())
    with_changes: bool = False

    def why_not(self, code: int) -> Unsent | None:
        """None for a request that is sent."""
        if self.only and code not in self.only:
            return Unsent.OTHER
        if self.with_changes:
            return None
        if code not in REQUESTS:
            return Unsent.UNKNOWN
        return Unsent.CHANGES if REQUESTS[code].has_effect else None


def changes(code: int) -> bool:
    """Whether a request may change something, so that it is never sent twice."""
    return code not in REQUESTS or REQUESTS[code].has_effect


class Pace:
    """Times are seconds of ``now``. At most ``per_second`` requests a second, 0 for no limit; or ``as_recorded``."""

    def __init__(self, now: Now, sleep: Sleep, *, per_second: float = 0.0, as_recorded: bool = False) -> None:
        self._now, self._sleep, self._as_recorded = now, sleep, as_recorded
        self._every_s = 1 / per_second if per_second else 0.0
        self._next_s = now()
        self._began: tuple[float, int] | None = None

    async def step(self, at_ms: int) -> None:
        """Wait for the time of a request that was recorded at ``at_ms``."""
        now_s = self._now()
        if self._as_recorded:
            self._began = self._began or (now_s, at_ms)
            began_s, first_ms = self._began
            await self._until(began_s + (at_ms - first_ms) / 1000, now_s)
        elif self._every_s:
            self._next_s = max(now_s, self._next_s)
            await self._until(self._next_s, now_s)
            self._next_s += self._every_s

    async def _until(self, at_s: float, now_s: float) -> None:
        if at_s > now_s:
            await self._sleep(at_s - now_s)
