"""What a name server is asked, and how often: on virtual time, with a name server in the same loop."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

import pytest

from rocketns.collect.polling.schedule import Budget
from rocketns.collect.polling.upstream import Pace
from tests.collect.polling.virtual import PACE, Bench, on
from tests.tools.scripted import Scripted

TOPICS = {f"T{number}": {"a": {}} for number in range(400)}
A_TICK_S = 1e-6


def fleet(topics: int = 400) -> Scripted:
    return Scripted({"a": "10.0.0.1:10911"}, dict(list(TOPICS.items())[:topics]))


def most_in_a_second(times_s: Sequence[float]) -> int:
    ordered = sorted(times_s)
    return max(bisect_left(ordered, begin_s + 1 - A_TICK_S) - at for at, begin_s in enumerate(ordered))


def test_no_second_has_more_requests_than_the_budget() -> None:
    budget, now_s, sent = Budget(7), 0.0, []
    for _ in range(100):
        now_s += budget.wait_s(now_s)
        budget.spend(now_s)
        sent.append(now_s)
    assert most_in_a_second(sent) == 7


def test_a_slow_answer_gives_others_as_much_time() -> None:
    budget = Budget(1_000)
    budget.spend(10.0)
    budget.rest(10.5, 0.5)
    assert budget.wait_s(10.5) == pytest.approx(0.5)


@pytest.mark.parametrize("latency_s", [0.001, 0.4, 2.0])
@pytest.mark.parametrize("per_second", [2, 50, 200])
def test_requests_of_all_kinds_stay_within_the_budget(per_second: int, latency_s: float) -> None:
    async def test(bench: Bench) -> None:
        bench.server.latency_s = latency_s
        await asyncio.sleep(120)
        assert most_in_a_second([at_s for at_s, _, _ in bench.server.asked]) <= per_second

    on(lambda: Bench(fleet(), Pace(5.0, per_second, PACE.namespaces)), test)


def test_a_slow_name_server_has_few_lookups_at_a_time() -> None:
    """16 lookups, one request for brokers, one for names, one for KV items, one for the configuration."""

    async def test(bench: Bench) -> None:
        bench.server.latency_s = 4.0
        await asyncio.sleep(200)
        assert 16 <= bench.server.at_once_max <= 20

    on(lambda: Bench(fleet()), test)


def test_brokers_are_read_in_time_however_many_lookups_wait() -> None:
    async def test(bench: Bench) -> None:
        await asyncio.sleep(300)
        groups = bench.requests(106)
        assert max(late - early for early, late in pairwise(groups)) < 5.1
        assert len(groups) == 60

    on(lambda: Bench(fleet(), Pace(5.0, 4, PACE.namespaces)), test)


def test_names_come_every_ten_seconds_and_settings_every_minute() -> None:
    async def test(bench: Bench) -> None:
        await asyncio.sleep(599)
        assert [len(bench.requests(code)) for code in (206, 219, 319)] == [60, 10, 10]

    on(lambda: Bench(fleet()), test)


def test_a_round_asks_for_each_topic_once_and_takes_what_the_budget_gives() -> None:
    async def test(bench: Bench) -> None:
        await asyncio.sleep(300)
        rounds = bench.upstream.rounds
        assert rounds.count > 30
        assert rounds.last_s == pytest.approx(400 / (50 - bench.upstream.schedule.per_second), rel=0.05)
        asked = bench.server.topics_asked()
        assert {asked.count(topic) for topic in TOPICS} <= {rounds.count, rounds.count + 1}

    on(lambda: Bench(fleet()), test)


def test_few_topics_are_asked_once_an_interval() -> None:
    async def test(bench: Bench) -> None:
        await asyncio.sleep(100)
        assert 38 <= len(bench.server.topics_asked()) <= 42

    on(lambda: Bench(fleet(2)), test)


def test_only_requests_that_keep_no_broker_alive_are_sent() -> None:
    async def test(bench: Bench) -> None:
        await asyncio.sleep(200)
        bench.server.script.brokers = {}
        bench.server.script.topics = {}
        await asyncio.sleep(200)
        assert {code for _, code, _ in bench.server.asked} == {105, 106, 206, 219, 319}

    on(lambda: Bench(fleet()), test)
