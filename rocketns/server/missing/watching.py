"""Watches for topics that are asked for and have no route: takes what was counted, looks for near names, writes lines.

An answer costs one more lookup in a small table. The nearest names are looked for afterwards, one topic at a time, in
steps of STEP_NS with pauses of PAUSE_S: about 1 % of control's time, however many names are made up. A topic whose line
is due has shorter pauses. There are few of them, because there are few lines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable

from rocketns.fleet.nearest import find_nearest
from rocketns.processor.context import Now
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.tables import RouteTables
from rocketns.server.clock import Clock
from rocketns.server.missing.asked import Asked, AskedTopics, Counted, Peer
from rocketns.server.missing.lines import Lines
from rocketns.server.missing.reasons import PROBED, has_route

TICK_MS = 1_000
STEP_NS = 500_000
PAUSE_S = 0.04
LINE_PAUSE_S = 0.005


def call_later(delay_s: float, step: Callable[[], None]) -> None:
    """On the running loop."""
    asyncio.get_running_loop().call_later(delay_s, step)


class MissingWatch:
    """Control only, but for ``asked.missing``, a number. ``call_later`` runs a function after so many seconds."""

    def __init__(
        self, tables: RouteTables, clock: Clock, call_later: Callable[[float, Callable[[], None]], None] = call_later
    ) -> None:
        self.asked = AskedTopics()
        self._drain: Callable[[], Iterable[Counted]] = tuple
        self._tables = tables
        self._clock = clock
        self._call_later = call_later
        self._lines = Lines(tables)
        self._searched: Asked | None = None
        self._search: Generator[None, None, tuple[str, ...]] | None = None
        self._is_for_line = False
        self._is_going = False

    def take_from(self, drain: Callable[[], Iterable[Counted]]) -> None:
        """From now on `tick` takes the lookups that the reactors answered from there."""
        self._drain = drain

    def note(self, topic: str | None, peer: Connection, now: Now) -> None:
        """A lookup that control answered found no route."""
        if topic and topic not in PROBED:
            self.asked.note(topic, 1, Peer(peer.host, peer.address), peer.host, now)

    def tick(self) -> None:
        """Each second."""
        now = self._clock.now()
        for topic, lookups, peer, owner in self._drain():
            if topic not in PROBED:
                self.asked.note(topic, lookups, peer, owner, now)
        self.asked.take_new(now)
        self.asked.sweep(lambda topic: has_route(self._tables, topic), now)
        if not self._is_for_line and self._line() is not None:
            self._searched = None  # it is chosen again later
        if not self._is_going:
            self._go_on()

    def _go_on(self) -> None:
        """One step, and the next one after a pause, until nothing is left to look for."""
        self._is_going = False  # where a step fails, the next tick begins again
        if self._step():
            self._is_going = True
            self._call_later(LINE_PAUSE_S if self._is_for_line else PAUSE_S, self._go_on)

    def _step(self) -> bool:
        one, search = self._searched, self._search
        if one is None or search is None or not self.asked.is_held(one):
            self._searched = one = self._choose()
            if one is None:
                return False
            self._search = search = find_nearest(one.topic, self._tables.topic_queue_table)
        ends_ns = self._clock.spent_ns() + STEP_NS
        try:
            next(search)
            while self._clock.spent_ns() < ends_ns:
                next(search)
        except StopIteration as stop:
            self._end(one, stop.value)
        return True

    def _choose(self) -> Asked | None:
        """First a topic whose line is due, then one of which nothing is known."""
        line = self._line()
        self._is_for_line = line is not None
        return line or next((one for one in self.asked.all_missing() if one.nearest is None), None)

    def _line(self) -> Asked | None:
        return self._lines.next_of(self.asked.all_missing(), self._clock.now())

    def _end(self, one: Asked, nearest: tuple[str, ...]) -> None:
        one.has_near(nearest)
        self._searched, self._search, self._is_for_line = None, None, False
        now = self._clock.now()
        if not has_route(self._tables, one.topic) and self._lines.next_of((one,), now) is one:
            self._lines.say(one, now)
