"""Asks a name server for one topic after the other: some at a time, and at most so many a second."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

from rocketns.client.name_server import UnusableError

# A Java name server answers 16 lookups at a time with half the CPU time of one at a time.
LOOKUPS_AT_ONCE = 16


async def ask_each(topics: Collection[str], ask: Callable[[str], Awaitable[object]], per_second: float = 0) -> None:
    """Await ``ask`` with each topic; 0 a second is no limit. UnusableError, the first that it raises, ends all."""
    waiting, pace = iter(topics), _Pace(per_second)

    async def ask_some() -> None:
        for topic in waiting:
            await pace.step()
            await ask(topic)

    try:
        async with asyncio.TaskGroup() as asking:
            for _ in range(min(LOOKUPS_AT_ONCE, len(topics))):
                asking.create_task(ask_some())
    except* UnusableError as errors:
        first = errors.exceptions[0]
        raise UnusableError(str(first)) from first


class _Pace:
    """At most so many steps a second; 0 is no limit."""

    def __init__(self, per_second: float) -> None:
        self._every_s = 1 / per_second if per_second else 0.0
        self._next_s = 0.0

    async def step(self) -> None:
        """Wait for the next step's time."""
        if self._every_s:
            now = asyncio.get_running_loop().time()
            self._next_s = max(now, self._next_s + self._every_s)
            await asyncio.sleep(self._next_s - now)
