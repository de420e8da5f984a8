"""What metrics count: the events of mutations, and what is in the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from sys import getsizeof
from typing import Any

from rocketns.admin.api.copies import state_of
from rocketns.processor.context import Now
from rocketns.routeinfo import events as e
from rocketns.server.control.measures import Histogram
from rocketns.server.facts import Facts

# Brokers send a heartbeat each second or register every 30 s, at most every 60 s. They expire after 120 s.
GAP_BOUNDS_S = (1.5, 5.0, 10.0, 20.0, 35.0, 45.0, 65.0, 90.0, 120.0, 300.0)


class Tally:
    """Control writes, any thread reads."""

    def __init__(self) -> None:
        self.registrations = Counter(changed=0, unchanged=0, refused=0)
        self.gone = Counter({str(cause): 0 for cause in e.Cause})
        self.entries = Counter(put=0, deleted=0)
        self.changes = Counter(doubted=0, stalls=0, stalled_ms=0)
        self.admin_requests: Counter[tuple[int, int]] = Counter()  # code and result
        self.gaps = Histogram(GAP_BOUNDS_S)

    def note(self, events: list[e.Event], _: Now) -> None:
        """Control only. The events of one mutation."""
        for event in events:
            if isinstance(event, e.BrokerRegistered | e.BrokerHeartbeat):
                if event.gap_ms is not None:
                    self.gaps.observe(event.gap_ms / 1000)
            elif type(event) in COUNTED:
                COUNTED[type(event)](self, event)
        if any(isinstance(event, e.BrokerRegistered) for event in events):
            is_same = all(_is_heartbeat(event) for event in events)
            self.registrations["unchanged" if is_same else "changed"] += 1


# What each event adds. Those that are not here have no metric, or one that is read where they are found.
COUNTED: dict[type, Callable[[Tally, Any], None]] = {
    e.BrokerConflict: lambda tally, _: tally.registrations.update(refused=1),
    e.BrokerRefused: lambda tally, _: tally.registrations.update(refused=1),
    e.BrokerDown: lambda tally, event: tally.gone.update({str(event.cause): int(event.live)}),
    e.BrokerDoubted: lambda tally, _: tally.changes.update(doubted=1),
    e.TopicsPut: lambda tally, event: tally.entries.update(put=len(event.changes)),
    e.TopicsDeleted: lambda tally, event: tally.entries.update(deleted=len(event.topics)),
    e.Stalled: lambda tally, event: tally.changes.update(stalls=1, stalled_ms=event.ms),
    e.AdminRequested: lambda tally, event: tally.admin_requests.update({(event.code, event.result): event.count}),
}


def _is_heartbeat(event: e.Event) -> bool:
    """Whether a registration with no other events changed nothing: the broker was known and confirmed."""
    return isinstance(event, e.BrokerRegistered) and event.gap_ms is not None and event.doubt is None


@dataclass(frozen=True, slots=True)
class Sizes:
    """``entries``: pairs of a topic and a broker. Brokers are live addresses; a late one is still live.

    ``topic_bytes``: of the topic table's dictionaries and names; queue data are shared by topics, and not counted.
    """

    entries: int
    topic_bytes: int
    live: int
    late: int
    unconfirmed: int


def sizes(facts: Facts) -> Iterator[Sizes | None]:
    """One row: see `rocketns.admin.view`."""
    tables, now_ms = facts.tables, facts.now().ms
    states = Counter(live=0, late=0, unconfirmed=0)
    for entry in list(tables.broker_live_table.values()):
        states[state_of(entry, now_ms)] += 1
        yield None
    entries, topic_bytes = 0, getsizeof(tables.topic_queue_table)
    for topic, queues in list(tables.topic_queue_table.items()):
        entries += len(queues)
        topic_bytes += getsizeof(topic) + getsizeof(queues)
        yield None
    yield Sizes(entries, topic_bytes, **states)
