"""Topics whose records wait: those of a request with more of them than control encodes at once.

A record says what the topic is when the record is written, as in a snapshot. So a topic that changes several times
meanwhile has one record, and the records of one request may be written after those of later ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from rocketns.journal import encoding
from rocketns.journal.buffer import Buffer
from rocketns.journal.record import TOPICS_IN_RECORD_MAX
from rocketns.routeinfo.tables import RouteTables

# Names of topics that were deleted meanwhile are kept alive by nothing else.
ENTRIES_MAX = 1_000_000
CHARACTERS_MAX = 64 * 1024 * 1024


@dataclass(slots=True)
class _OfBroker:
    """Of one broker. ``put`` and ``deleted`` are the last causes."""

    names: dict[str, None] = field(default_factory=dict)
    put: str = "heartbeat"
    deleted: str = "register"


class DeferredTopics:
    """Control only. ``brokers`` has those with topics that wait."""

    def __init__(self, tables: RouteTables, buffer: Buffer, when_written: Callable[[str], None]) -> None:
        """``when_written`` is called with a broker when the last of its topics is written."""
        self.brokers: dict[str, _OfBroker] = {}
        self._when_written = when_written
        self._tables = tables
        self._buffer = buffer
        self._entries = self._characters = 0
        self._since_ms: int | None = None

    def add(self, broker: str, topics: Sequence[str], *, put: str | None = None, deleted: str | None = None) -> None:
        """Topics that ``put`` or ``deleted`` is the cause of. Beyond the bounds one record is lost and counted."""
        characters = sum(map(len, topics))
        if self._entries + len(topics) > ENTRIES_MAX or self._characters + characters > CHARACTERS_MAX:
            self._buffer.lose("too many topics wait until the disk has taken others")
            return
        waiting = self.brokers.setdefault(broker, _OfBroker())
        waiting.put, waiting.deleted = put or waiting.put, deleted or waiting.deleted
        since_ms = [one for one in (self._since_ms, self._buffer.since_ms) if one is not None]
        self._since_ms = min(since_ms, default=None)
        for topic in topics:
            self._add(waiting, topic)

    def _add(self, waiting: _OfBroker, topic: str) -> None:
        if topic not in waiting.names:
            waiting.names[topic] = None
            self._entries += 1
            self._characters += len(topic)

    def write(self) -> int:
        """Write one record, and return the number of its topics; 0 if none wait. Brokers take turns.

        In the journal of an observer it has the earliest moment after which some of what waits happened.
        """
        broker = next(iter(self.brokers), None)
        if broker is None:
            return 0
        self._buffer.at(self._buffer.epoch_ms, self._since_ms)
        waiting = self.brokers.pop(broker)
        names = self._pop_some(waiting)
        table = self._tables.topic_queue_table
        here = [topic for topic in names if broker in table.get(topic, ())]
        if here:
            for topic in names:
                if broker not in table.get(topic, ()):
                    self._add(waiting, topic)
            listed, _ = encoding.topic_list(here, [table[topic][broker] for topic in here])
        else:
            listed, _ = encoding.topic_list(names, None)
        columns = {"broker": broker, "cause": waiting.put if here else waiting.deleted, "topics": listed}
        self._buffer.put(encoding.columns("tput" if here else "tdel", columns))
        if waiting.names:
            self.brokers[broker] = waiting
        else:
            self._when_written(broker)
        self._buffer.at(self._buffer.epoch_ms)
        if not self.brokers:
            self._since_ms = None
        return len(here or names)

    def _pop_some(self, waiting: _OfBroker) -> list[str]:
        """Take as many topics as fit into one record."""
        names = list(islice(waiting.names, TOPICS_IN_RECORD_MAX))
        _, end = next(encoding.bounds([*map(len, names)]))
        for topic in names[:end]:
            del waiting.names[topic]
        self._entries -= end
        self._characters -= sum(map(len, names[:end]))
        return names[:end]

    def end(self) -> None:
        """Before the stop: write while there is room. The rest is lost and counted."""
        while self.brokers and not self._buffer.is_half_full:
            self.write()
        if self.brokers:
            self._buffer.lose("the server stops while topics wait")
            self.brokers.clear()
