"""What must be counted in the tables: a copy that control makes."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from sys import getsizeof

from rocketns.routeinfo.tables import BrokerLiveInfo
from rocketns.server.facts.facts import Facts

ROWS_AT_ONCE = 256


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
    return "late" if now_ms - entry.last_update_ms > entry.timeout_ms // 2 else "live"
