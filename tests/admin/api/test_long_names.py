"""Long names of brokers do not make the status longer than docs/limits.md says."""

from __future__ import annotations

from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

from rocketns.admin.api.answers import dumps
from rocketns.admin.api.assessing import LOST_MAX, lost_brokers
from rocketns.admin.api.copies import Brokers
from rocketns.admin.page.stream import MESSAGE_BYTES_MAX
from rocketns.admin.recent.ring import Recorded
from rocketns.admin.recent.wiped import GROUPS_MAX, count_closed
from tests.hostile.outputs.table import STREAM_BYTES

OF_STATUS = STREAM_BYTES - MESSAGE_BYTES_MAX
NO_BROKERS: Brokers = SimpleNamespace(rows=())  # type: ignore[assignment]


def lost(names: list[str]) -> list[str]:
    changes = [Recorded(seq, 0, "down", name, name, 0, name, "expired") for seq, name in enumerate(names)]
    return [row.broker for row in lost_brokers(NO_BROKERS, changes, 0)]


def wiped(names: list[str]) -> list[str]:
    table = {"t": {name: SimpleNamespace(perm=4) for name in names}}
    facts: Any = SimpleNamespace(tables=SimpleNamespace(topic_queue_table=table, broker_addr_table=set(names)))
    made: list[tuple[tuple[str, ...], int]] = []

    def run() -> Generator[None, None, None]:
        made.append((yield from count_closed(facts)))

    assert list(run())
    return list(made[0][0])


def test_at_most_a_hundred_are_named() -> None:
    names = [f"b{number:03}" for number in range(200)]
    assert lost(names) == names[: -1 - LOST_MAX : -1]
    assert wiped(names) == names[:GROUPS_MAX]


def test_fewer_are_named_where_names_are_long_but_one_at_least() -> None:
    """JSON writes a control character in six bytes. A lost broker has three such names."""
    names = [f"{number:03}".ljust(4096, "\1") for number in range(200)]
    assert lost(names) == names[:-2:-1]
    assert wiped(names) == names[:1]
    assert 4 * len(dumps(names[0])) <= OF_STATUS / 2


def test_names_of_usual_length_are_all_there() -> None:
    names = [f"broker-{number:03}" for number in range(100)]
    assert lost(names) == names[::-1]
    assert wiped(names) == names
