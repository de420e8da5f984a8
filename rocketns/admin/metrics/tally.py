"""What metrics count: the events of mutations, and what is in the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from sys import getsizeof
from typing import assert_never

from rocketns.processor.context import Now
from rocketns.routeinfo import events as e
from rocketns.routeinfo.tables import BrokerLiveInfo
from rocketns.server.control.measures import Histogram
from rocketns.server.facts.facts import Facts

# Brokers send a heartbeat each second or register every 30 s, at most every 60 s. They expire after 120 s.
GAP_BOUNDS_S = (1.5, 5.0, 10.0, 20.0, 35.0, 45.0, 65.0, 90.0, 120.0, 300.0)
ROWS_AT_ONCE = 256


class Tally:
    """Control writes, any thread reads."""

    def __init__(self) -> None:
        self.registrations = Counter(changed=0, unchanged=0, refused=0)
        self.gone = Counter({str(cause): 0 for cause in e.Cause})
        self.entries = Counter(put=0, deleted=0)
        self.kv_changes = 0
        self.config_changes = 0
        self.min_broker_changes = 0
        self.stalls = 0
        self.stalled_s = 0.0
        self.doubted = 0
        self.admin_requests: Counter[tuple[int, int]] = Counter()  # code and result
        self.gaps = Histogram(GAP_BOUNDS_S)

    def note(self, events: list[e.Event], _: Now) -> None:
        """Control only. The events of one mutation."""
        registered = False
        for event in events:
            self._count(event)
            registered |= isinstance(event, e.BrokerRegistered)
        if registered:
            is_same = all(_is_heartbeat(event) for event in events)
            self.registrations["unchanged" if is_same else "changed"] += 1

    def _count(self, event: e.Event) -> None:
        match event:
            case e.BrokerRegistered() | e.BrokerHeartbeat():
                if event.gap_ms is not None:
                    self.gaps.observe(event.gap_ms / 1000)
            case e.BrokerConflict() | e.BrokerRefused():
                self.registrations["refused"] += 1
            case e.BrokerDown():
                self.gone[str(event.cause)] += event.live
            case e.TopicsPut() | e.TopicsDeleted():
                self._count_entries(event)
            case e.KvChanged() | e.ConfigChanged() | e.MinBrokerIdChanged() | e.BrokerDoubted() | e.Stalled():
                self._count_rare(event)
            case e.AdminRequested():
                self.admin_requests[event.code, event.result] += event.count
            case e.BrokerIdsLeft() | e.GroupChanged() | e.MappingsPut() | e.FleetDiffers() | e.RequestRefused():
                pass  # the first three have no metric; the others are read where they are found
            case _:
                assert_never(event)

    def _count_entries(self, event: e.TopicsPut | e.TopicsDeleted) -> None:
        match event:
            case e.TopicsPut():
                self.entries["put"] += len(event.changes)
            case e.TopicsDeleted():
                self.entries["deleted"] += len(event.topics)

    def _count_rare(
        self, event: e.KvChanged | e.ConfigChanged | e.MinBrokerIdChanged | e.BrokerDoubted | e.Stalled
    ) -> None:
        match event:
            case e.KvChanged():
                self.kv_changes += 1
            case e.ConfigChanged():
                self.config_changes += 1
            case e.MinBrokerIdChanged():
                self.min_broker_changes += 1
            case e.BrokerDoubted():
                self.doubted += 1
            case e.Stalled():
                self.stalls += 1
                self.stalled_s += event.ms / 1000


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


def sizes(facts: Facts) -> Generator[None, None, Sizes]:
    """A copier, see `rocketns.admin.view`."""
    tables, now_ms = facts.tables, facts.now().ms
    states = {"live": 0, "late": 0, "unconfirmed": 0}
    for number, entry in enumerate(list(tables.broker_live_table.values()), 1):
        states[_state(entry, now_ms)] += 1
        if number % ROWS_AT_ONCE == 0:
            yield
    entries, topic_bytes = 0, getsizeof(tables.topic_queue_table)
    for number, (topic, queues) in enumerate(list(tables.topic_queue_table.items()), 1):
        entries += len(queues)
        topic_bytes += getsizeof(topic) + getsizeof(queues)
        if number % ROWS_AT_ONCE == 0:
            yield
    return Sizes(entries, topic_bytes, **states)


def _state(entry: BrokerLiveInfo, now_ms: int) -> str:
    if entry.doubt is not None:
        return "unconfirmed"
    return "late" if entry.is_late(now_ms) else "live"
