"""What the collector says: the cost of a round, and how each name server is."""

from __future__ import annotations

import asyncio

from rocketns.collect.collector import cost, is_other, round_s, standing
from rocketns.collect.polling.upstream import Pace
from tests.collect.polling.virtual import Bench, now_ms, on
from tests.tools.scripted import Scripted

TOPICS = {f"T{number}": {"a": {}} for number in range(1_000)}


def bench() -> Bench:
    return Bench(Scripted({"a": "10.0.0.1:1"}, dict(TOPICS)), Pace(5.0, 10, ()))


def test_the_cost_of_a_round_is_what_the_budget_leaves() -> None:
    async def test(bench: Bench) -> None:
        await asyncio.sleep(5)
        assert bench.upstream.knows_topics
        assert 1_000 / 10 < round_s(bench.upstream) < 1_000 / 9.5
        assert "A round has 1000 lookups and takes about 103 s at 10 requests a second" in cost(bench.upstream)

    on(bench, test)


def test_the_cost_is_not_known_before_the_topics_are() -> None:
    async def test(bench: Bench) -> None:
        bench.server.script.wrong[206] = 2
        await asyncio.sleep(5)
        assert not bench.upstream.knows_topics

    on(bench, test)


def test_a_cost_is_said_again_when_it_changed_much() -> None:
    assert [is_other(100, now_s) for now_s in (100, 120, 130, 70)] == [False, False, True, True]
    assert not is_other(1, 5)


def test_a_line_says_how_a_name_server_is() -> None:
    async def test(bench: Bench) -> None:
        await asyncio.sleep(50)
        reading = standing(bench.upstream, now_ms(), 9.9)
        await asyncio.sleep(120)
        watched = standing(bench.upstream, now_ms(), 9.9)
        bench.server.failing = "no answer from 10.0.0.1:9876 in 5 s"
        await asyncio.sleep(30)
        lost = standing(bench.upstream, now_ms(), 0.2)
        assert reading.startswith("a (10.0.0.1:9876): being read for 50 s; 1 brokers, 1000 topics; round 0; 9.9 req")
        assert "topics are still to be read" in reading
        assert "watched for 67 s" in watched
        assert "round 1, the last took 10" in watched
        assert ": lost for " in lost
        assert lost.endswith("no answer from 10.0.0.1:9876 in 5 s")

    on(bench, test)
