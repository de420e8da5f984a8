"""The last hour in numbers: a sample each half minute, in a ring, for small pictures of it.

A sample costs a copy of the brokers, which control makes in slices. The ring takes at most BYTES_MAX.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from aiohttp import web

from rocketns.admin.api.copies import copy_brokers
from rocketns.admin.view import ControlView, repeat

PERIOD_S = 30.0
SAMPLES_MAX = 120
BYTES_MAX = 40 * 1024  # five integers and their row take 300 bytes


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One of the last moments: what happened from the start until then, and what there was."""

    at: Annotated[int, "the moment"]
    lookups: Annotated[int, "answered by reactors since the start"]
    registrations: Annotated[int, "since the start"]
    late: Annotated[int, "brokers whose heartbeats were late"]
    connections: int


class LastHour:
    """For the loop of the management port. ``rows``: the oldest first, SAMPLES_MAX at most."""

    def __init__(self, view: ControlView) -> None:
        self.rows: deque[HistoryRow] = deque(maxlen=SAMPLES_MAX)
        self._view = view

    async def follow(self, _: web.Application) -> AsyncIterator[None]:
        """A context of the application: it samples until the port ends."""
        task = asyncio.get_running_loop().create_task(repeat(PERIOD_S, self._sample))
        yield
        task.cancel()
        await asyncio.wait([task])

    async def _sample(self) -> None:
        """One that is left out is not missed: the next one is of a longer time."""
        facts = self._view.facts
        late = sum(row.state == "late" for row in await self._view.copy(copy_brokers))
        now, reactors = facts.now(), facts.reactors
        row = HistoryRow(
            now.epoch_ms, sum(reactors.lookups), facts.context.registrations.total, late, reactors.connections
        )
        self.rows.append(row)
