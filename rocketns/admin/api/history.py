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
from rocketns.admin.view import Busy, View

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


@dataclass(frozen=True, slots=True)
class Totals:
    """What only grows, when it was ``at`` of the wall clock in ms."""

    at: int
    lookups: int
    lookups_missed: int
    registrations: int
    heartbeats: int


class History:
    """For the loop of the management port. ``rows``: the oldest first, SAMPLES_MAX at most."""

    def __init__(self, view: View, recent: Recent) -> None:
        self.rows: deque[HistoryRow] = deque(maxlen=SAMPLES_MAX)
        self._view = view
        self._recent = recent
        self._last = self._totals()

    def _totals(self) -> Totals:
        facts = self._view.facts
        found, missed = facts.reactors.lookups
        return Totals(facts.now().epoch_ms, found + missed, missed, facts.registrations, self._recent.heartbeats)

    async def sample(self) -> None:
        """One more row. Busy if control does not answer: then the next one is of a longer time."""
        brokers = (await self._view.copy(copy_brokers)).rows
        before, now = self._last, self._totals()
        self._last = now
        self.rows.append(HistoryRow(
            at=now.at,
            seconds=max(0, round((now.at - before.at) / 1000)),
            lookups=now.lookups - before.lookups,
            lookups_missed=now.lookups_missed - before.lookups_missed,
            registrations=now.registrations - before.registrations,
            heartbeats=now.heartbeats - before.heartbeats,
            brokers=len(brokers),
            late=sum(row.state == "late" for row in brokers),
            connections=self._view.facts.reactors.connections,
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
