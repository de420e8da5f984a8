"""What must be counted in the tables: a copy that control makes."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from rocketns.controller import NamesrvController
from rocketns.routeinfo.tables import BrokerLiveInfo

ROWS_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Sizes:
    """``entries``: pairs of a topic and a broker. Brokers are live addresses; a late one is still live."""

    entries: int
    live: int
    late: int
    unconfirmed: int


def sizes(controller: NamesrvController) -> Generator[None, None, Sizes]:
    """A copier, see `rocketns.admin.view`."""
    tables, now_ms = controller.context.tables, controller.clock.now().ms
    states = {"live": 0, "late": 0, "unconfirmed": 0}
    for number, entry in enumerate(list(tables.broker_live_table.values()), 1):
        states[_state(entry, now_ms)] += 1
        if number % ROWS_AT_ONCE == 0:
            yield
    entries = 0
    for number, queues in enumerate(list(tables.topic_queue_table.values()), 1):
        entries += len(queues)
        if number % ROWS_AT_ONCE == 0:
            yield
    return Sizes(entries, **states)


def _state(entry: BrokerLiveInfo, now_ms: int) -> str:
    if entry.doubt is not None:
        return "unconfirmed"
    return "late" if now_ms - entry.last_update_ms > entry.timeout_ms // 2 else "live"
