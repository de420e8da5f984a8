"""When the next recorded request is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

Now = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


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
