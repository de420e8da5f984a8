"""Broker groups of which no topic takes messages: what the status says, and how seldom it counts."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

from interop.harness import codes
from rocketns.admin.recent import wiped
from rocketns.admin.recent.growing import WITHIN_MS, Growing
from tests.admin.api.conftest import Ask
from tests.admin.conftest import Managed
from tests.admin.population import Broker


def test_a_group_whose_permission_is_wiped_is_named(managed: Managed, ask: Ask) -> None:
    with Broker(managed, "a") as one, Broker(managed, "b", addr="10.0.0.2:1") as other:
        one.register(["T"])
        other.register(["T"])
        one.client.request(codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "b"})
        status = ask("status")
        assert status["wiped"] == ["b"]
        assert [(one["name"], one["names"]) for one in status["reasons"]] == [("wiped", ["b"])]


def test_it_is_counted_after_a_change_only_and_less_often_the_more_there_is() -> None:
    counted: list[int] = []

    class View:
        async def copy(self, _: Any) -> tuple[tuple[str, ...], int]:
            counted.append(1)
            return ("b",), 1_000_000

    recent: Any = SimpleNamespace(last=1)
    one = wiped.Wiped(View(), recent)  # type: ignore[arg-type]
    names = [asyncio.run(one.names(now_s)) for now_s in (0.0, 100.0)]
    assert (names, len(counted)) == ([("b",)] * 2, 1)
    recent.last = 2
    asyncio.run(one.names(100.0))
    recent.last = 3
    asyncio.run(one.names(105.0))
    assert len(counted) == 2
    asyncio.run(one.names(106.1))
    assert len(counted) == 3


def test_counting_gives_up_the_thread_after_a_few_topics() -> None:
    open_, closed = SimpleNamespace(perm=6), SimpleNamespace(perm=4)
    table = {f"t{number}": {"a": open_, "b": closed} for number in range(100)} | {"u": {"a": closed}}
    facts: Any = SimpleNamespace(tables=SimpleNamespace(topic_queue_table=table, broker_addr_table={"a": 1, "b": 1}))
    steps: Generator[None, None, tuple[tuple[str, ...], int]] = wiped.count_closed(facts)
    made: list[tuple[tuple[str, ...], int]] = []

    def run() -> Generator[None, None, None]:
        made.append((yield from steps))

    assert len(list(run())) == 7
    assert made == [(("b",), 201)]


def test_a_counter_has_grown_lately_for_ten_minutes() -> None:
    one = Growing()
    assert not one.is_recent(0, 0)
    assert one.is_recent(3, 1_000)
    assert one.is_recent(3, 1_000 + WITHIN_MS - 1)
    assert not one.is_recent(3, 1_000 + WITHIN_MS)
    assert one.is_recent(4, 1_000 + WITHIN_MS)
