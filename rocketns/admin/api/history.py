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
from rocketns.admin.recent import Recent
from rocketns.admin.view import Busy, ControlView

PERIOD_S = 30.0
SAMPLES_MAX = 120
BYTES_MAX = 64 * 1024  # nine integers and their row take 400 bytes


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One of the last moments: what happened since the one before it, and what there was."""

    at: Annotated[int, "the moment"]
    seconds: Annotated[int, "since the one before it"]
    lookups: Annotated[int, "answered by reactors"]
    lookups_missed: Annotated[int, "of them, those of topics without a route"]
    registrations: int
    heartbeats: Annotated[int, "signs of life of brokers: registrations too"]
    brokers: int
    late: Annotated[int, "brokers whose heartbeats were late"]
    connections: int


class LastHour:
    """For the loop of the management port. ``rows``: the oldest first, SAMPLES_MAX at most."""

    def __init__(self, view: ControlView, recent: Recent) -> None:
        self.rows: deque[HistoryRow] = deque(maxlen=SAMPLES_MAX)
        self._view = view
        self._recent = recent
        self._last = self._counters()

    def _counters(self) -> tuple[int, ...]:
        """What only grows: the time, and what rows count, in their order."""
        facts = self._view.facts
        found, missed = facts.reactors.lookups
        return facts.now().epoch_ms, found + missed, missed, facts.registrations, self._recent.heartbeats

    async def sample(self) -> None:
        """One more row. Busy if control does not answer: then the next one is of a longer time."""
        brokers = (await self._view.copy(copy_brokers)).rows
        before, self._last = self._last, self._counters()
        ms, found, missed, taken, beats = (now - old for now, old in zip(self._last, before, strict=True))
        late = sum(row.state == "late" for row in brokers)
        connections = self._view.facts.reactors.connections
        self.rows.append(HistoryRow(
            self._last[0], max(0, round(ms / 1000)), found, missed, taken, beats, len(brokers), late, connections
        ))  # fmt: skip

    async def follow(self, _: web.Application) -> AsyncIterator[None]:
        """A context of the application: it samples until the port ends."""
        task = asyncio.get_running_loop().create_task(self._run())
        yield
        task.cancel()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(PERIOD_S)
            try:
                await self.sample()
            except Busy:
                continue
