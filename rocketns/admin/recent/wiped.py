"""The broker groups of which no topic takes messages: `wipeWritePermOfBroker`, or a broker that is read-only.

Counting goes over all queues of all topics, so it is done only while somebody reads, only after a change, and at most
one part in fifty of the time.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import accumulate, islice

from rocketns.admin.recent.ring import Recent
from rocketns.admin.view import View
from rocketns.protocol.codes import PERM_WRITE
from rocketns.server.facts.facts import Facts

ROWS_AT_ONCE = 16
GROUPS_MAX = 100  # that are named
CHARACTERS_MAX = 4_000  # of the names before the last one
REST_S = 1.0
# Of counting: an entry takes 0.1 µs.
REST_S_OF_ENTRY = 5e-6


class Wiped:
    """What was counted last. For the loop of the management port."""

    def __init__(self, view: View, recent: Recent) -> None:
        self._view = view
        self._recent = recent
        self._names: tuple[str, ...] = ()
        self._seen = -1
        self._next_s = float("-inf")

    async def names(self, now_s: float) -> tuple[str, ...]:
        """The groups, at most GROUPS_MAX, fewer where their names are long. Busy if control does not answer."""
        if self._recent.last != self._seen and now_s >= self._next_s:
            self._seen = self._recent.last
            self._names, entries = await self._view.copy(count_closed)
            self._next_s = now_s + REST_S + entries * REST_S_OF_ENTRY
        return self._names


def count_closed(facts: Facts) -> Generator[None, None, tuple[tuple[str, ...], int]]:
    """The groups without a topic that may be written, and how many entries were looked at."""
    table, groups = facts.tables.topic_queue_table, facts.tables.broker_addr_table
    closed: set[str] = set()
    open_: set[str] = set()
    entries, topics = 0, iter(list(table))
    while some := list(islice(topics, ROWS_AT_ONCE)):
        for topic in some:
            queues = table.get(topic, {})
            entries += len(queues)
            for name, one in queues.items():
                (open_ if one.perm & PERM_WRITE else closed).add(name)
        yield
    names = sorted(name for name in closed - open_ if name in groups)[:GROUPS_MAX]
    before = accumulate(map(len, names), initial=0)
    return tuple(name for name, characters in zip(names, before, strict=False) if characters < CHARACTERS_MAX), entries
