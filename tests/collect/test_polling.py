"""What a name server is asked, how often, and between which two moments a change happened; on virtual time."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest

from rocketns.client.connection import NotSentError, RefusedError
from rocketns.client.remoting_client import RemotingClient
from rocketns.collect.asking import ASKED_AT_ONCE_MAX, WITHIN_S, ask_brokers
from rocketns.collect.collector import Collector
from rocketns.collect.schedule import UNKNOWN, PollBudget, Rounds, SeenTopic
from rocketns.collect.settings import Settings, parse_names
from rocketns.collect.upstream import Pace, Phase
from rocketns.routeinfo.events import BrokerDown, BrokerRegistered, TopicsDeleted, TopicsPut
from tests.collect.virtual import (
    Bench,
    now_ms,
    script,
    watched,
)
from tests.tools.scripted import Scripted

LATENCY_S = 0.001


async def unchanged(bench: Bench) -> None:
    await watched(bench)
    assert bench.notes.events == []


async def test_a_boot_begins_when_everything_was_read(bench: Bench) -> None:
    await unchanged(bench)
    ((began_s, restored),) = bench.notes.begun
    codes = {code: bench.requests(code)[0] for code in (105, 106, 206, 219, 319)}
    assert (restored, max(codes.values()) < began_s < 1) == (False, True)
    assert set(bench.observed.tables.topic_queue_table) == {"T", "U"}
    assert bench.observed.kv["ORDER_TOPIC_CONFIG"] == {"T": "a:4"}


async def test_a_broker_that_goes_went_since_the_last_answer_that_had_it(bench: Bench) -> None:
    await unchanged(bench)
    gone_s = bench.now_s
    del bench.server.script.brokers["a"]
    del bench.server.script.topics["T"]["a"]
    await asyncio.sleep(20)
    before, after = [[at_s for at_s in bench.requests(106) if (at_s > gone_s) == late] for late in (False, True)]
    ((down, since_s, ts_s),) = bench.told(BrokerDown)
    assert (down.addr, since_s, ts_s) == ("10.0.0.1:1", round(before[-1], 3), round(after[0] + LATENCY_S, 3))
    assert [(event.topics, since, ts) for event, since, ts in bench.told(TopicsDeleted)] == [(["T"], since_s, ts_s)]


async def test_a_broker_that_comes_has_its_topics_asked_at_once_and_had_none_before() -> None:
    """The topic was asked for long before. But a broker that was not there had no topic."""

    many = script()
    many.topics |= {f"T{number}": {"b": {}} for number in range(300)}
    async with Bench(many, Pace(5.0, 10)) as bench:
        queues = bench.server.script.topics["T"].pop("a")
        addr = bench.server.script.brokers.pop("a")
        await asyncio.sleep(53)
        assert (bench.upstream.phase, bench.notes.events) == (Phase.WATCHED, [])
        bench.other.brokers["a"] = ["T"]
        bench.server.script.topics["T"]["a"], bench.server.script.brokers["a"] = queues, addr
        await asyncio.sleep(20)
        ((_, reg_since_s, reg_s),) = bench.told(BrokerRegistered)
        ((put, since_s, ts_s),) = bench.told(TopicsPut)
        assert (put.broker_name, [one.topic for one in put.changes]) == ("a", ["T"])
        assert ts_s - reg_s < 0.3
        assert reg_since_s <= since_s <= reg_s


async def test_a_broker_that_comes_back_has_its_topics_asked_at_once(bench: Bench) -> None:
    bench.server.script.topics |= {f"T{number}": {"b": {}} for number in range(300)}
    await asyncio.sleep(30)
    queues, addr = bench.server.script.topics["T"].pop("a"), bench.server.script.brokers.pop("a")
    await asyncio.sleep(30)
    bench.server.script.topics["T"]["a"], bench.server.script.brokers["a"] = queues, addr
    await asyncio.sleep(6)
    ((_, _, reg_s),), ((put, _, ts_s),) = bench.told(BrokerRegistered), bench.told(TopicsPut)
    assert (put.broker_name, [one.topic for one in put.changes], ts_s - reg_s < 0.3) == ("a", ["T"], True)


async def test_a_topic_that_is_gone_went_since_the_last_list_that_had_it(bench: Bench) -> None:
    await unchanged(bench)
    gone_s = bench.now_s
    bench.server.script.wrong[105] = 2  # only the list says it
    del bench.server.script.topics["U"]
    await asyncio.sleep(20)
    ((deleted, since_s, _),) = bench.told(TopicsDeleted)
    assert (deleted.broker_name, deleted.topics) == ("b", ["U"])
    assert since_s == round([at_s for at_s in bench.requests(206) if at_s < gone_s][-1], 3)


async def test_a_new_topic_came_since_the_last_list_without_it(bench: Bench) -> None:
    await unchanged(bench)
    came_s = bench.now_s
    bench.server.script.topics["N"] = {"a": {}}
    await asyncio.sleep(20)
    ((put, since_s, _),) = bench.told(TopicsPut)
    assert [one.topic for one in put.changes] == ["N"]
    assert since_s == round([at_s for at_s in bench.requests(206) if at_s < came_s][-1], 3)


async def test_queues_changed_since_the_last_lookup(bench: Bench) -> None:
    await unchanged(bench)
    changed_s = bench.now_s
    bench.server.script.topics["U"]["b"]["perm"] = 4
    await asyncio.sleep(20)
    ((_, since_s, ts_s),) = bench.told(TopicsPut)
    looked = [round(at_s, 3) for at_s in bench.requests(105)]
    assert since_s in looked
    assert since_s <= changed_s < ts_s < since_s + 5.2


async def test_the_other_name_servers_are_told_which_topics_changed(bench: Bench) -> None:
    await unchanged(bench)
    assert bench.other.told == []
    bench.server.script.topics["U"]["b"]["perm"] = 4
    await asyncio.sleep(20)
    assert bench.other.told == ["U"]


async def test_a_topic_that_changed_elsewhere_is_asked_at_once(bench: Bench) -> None:
    await unchanged(bench)
    told_s = bench.now_s
    bench.server.script.topics["U"]["b"]["perm"] = 4
    bench.upstream.look_at(["U", "nobody"])
    await asyncio.sleep(0.1)
    ((put, _, ts_s),) = bench.told(TopicsPut)
    assert [one.topic for one in put.changes] == ["U"]
    assert ts_s - told_s < 0.1
    assert "nobody" not in bench.server.topics_asked()


async def test_a_topic_on_a_broker_that_no_list_of_groups_has_comes_soon_after_it(bench: Bench) -> None:
    """Its route was read before, and is the same."""
    bench.server.script.topics |= {f"T{number}": {"b": {}} for number in range(300)}
    await asyncio.sleep(30)
    bench.server.script.topics["T7"]["c"] = {}
    bench.upstream.look_at(["T7"])
    await asyncio.sleep(0.1)
    assert bench.notes.events == []
    bench.server.script.brokers["c"] = "10.0.0.3:1"
    await asyncio.sleep(6)
    ((_, _, reg_s),) = bench.told(BrokerRegistered)
    ((put, _, ts_s),) = bench.told(TopicsPut)
    assert (put.broker_name, [one.topic for one in put.changes]) == ("c", ["T7"])
    assert ts_s - reg_s < 0.3


async def test_a_route_that_is_read_before_the_broker_in_it_does_not_make_the_change_later(bench: Bench) -> None:
    await unchanged(bench)
    changed_s = bench.now_s
    bench.server.script.topics["U"]["c"], bench.server.script.brokers["c"] = {}, "10.0.0.3:1"
    for _ in range(2):
        bench.upstream.look_at(["U"])
        await asyncio.sleep(0.1)
    assert bench.notes.events == []
    await asyncio.sleep(6)
    ((put, since_s, _),) = bench.told(TopicsPut)
    assert (put.broker_name, since_s <= changed_s) == ("c", True)


async def test_an_answer_that_is_older_than_a_change_is_asked_for_again(bench: Bench) -> None:
    """A lookup that was sent before the brokers were read, and is answered after them."""
    await unchanged(bench)
    bench.server.latencies[105] = 4.0
    await asyncio.sleep(6)  # the answers to two lookups are on their way
    bench.server.script.brokers["c"] = "10.0.0.3:1"
    bench.server.script.topics = {"T": {"c": {}}}
    await asyncio.sleep(30)
    deleted = sorted((event.broker_name, event.topics) for event, _, _ in bench.told(TopicsDeleted))
    assert deleted == [("a", ["T"]), ("b", ["T"]), ("b", ["U"])]
    assert [event.broker_name for event, _, _ in bench.told(TopicsPut)] == ["c"]


async def test_a_topic_that_is_gone_does_not_come_back_with_an_older_answer(bench: Bench) -> None:
    await unchanged(bench)
    bench.server.latencies[105] = 7.0
    await asyncio.sleep(6)  # the answers to lookups are on their way, and a list of topics comes before them
    del bench.server.script.topics["U"]
    await asyncio.sleep(40)
    assert [event.topics for event, _, _ in bench.told(TopicsDeleted)] == [["U"]]
    assert bench.told(TopicsPut) == []


TOPICS = {f"T{number}": {"a": {}} for number in range(400)}
A_TICK_S = 1e-6
POLLS_PER_SECOND = 1 / 5 + 1 / 10 + 3 / 60


def fleet(topics: int = 400) -> Scripted:
    return Scripted({"a": "10.0.0.1:10911"}, dict(list(TOPICS.items())[:topics]))


def most_in_a_second(times_s: Sequence[float]) -> int:
    ordered = sorted(times_s)
    return max(bisect_left(ordered, begin_s + 1 - A_TICK_S) - at for at, begin_s in enumerate(ordered))


def test_no_second_has_more_requests_than_the_budget() -> None:
    budget, now_s, sent = PollBudget(7), 0.0, []
    for _ in range(100):
        now_s += budget.wait_s(now_s)
        budget.spend(now_s)
        sent.append(now_s)
    assert most_in_a_second(sent) == 7


def test_a_slow_answer_gives_others_as_much_time() -> None:
    budget = PollBudget(1_000)
    budget.spend(10.0)
    budget.rest(10.5, 0.5)
    assert budget.wait_s(10.5) == pytest.approx(0.5)


@pytest.mark.parametrize(("per_second", "latency_s"), [(2, 2.0), (50, 0.001), (200, 0.4)])
async def test_requests_of_all_kinds_stay_within_the_budget(per_second: int, latency_s: float) -> None:
    async with Bench(fleet(), Pace(5.0, per_second)) as bench:
        bench.server.latency_s = latency_s
        await asyncio.sleep(120)
        assert most_in_a_second([at_s for at_s, _, _ in bench.server.asked]) <= per_second


async def test_a_slow_name_server_has_few_lookups_at_a_time() -> None:
    """16 lookups, one request for brokers, one for names, two for KV items, one for the configuration."""

    async with Bench(fleet()) as bench:
        bench.server.latency_s = 4.0
        await asyncio.sleep(200)
        assert 16 <= bench.server.at_once_max <= 21


async def test_brokers_are_read_in_time_however_many_lookups_wait() -> None:
    async with Bench(fleet(), Pace(5.0, 4)) as bench:
        await asyncio.sleep(300)
        groups = bench.requests(106)
        assert max(late - early for early, late in pairwise(groups)) < 5.1
        assert len(groups) == 60


async def test_a_round_asks_for_each_topic_once_and_takes_what_the_budget_gives() -> None:
    async with Bench(fleet()) as bench:
        await asyncio.sleep(300)
        rounds = bench.upstream.rounds
        assert rounds.count > 30
        assert rounds.last_s == pytest.approx(400 / (50 - POLLS_PER_SECOND), rel=0.05)
        asked = bench.server.topics_asked()
        assert {asked.count(topic) - 1 for topic in TOPICS} <= {rounds.count, rounds.count + 1}, "and once at first"


def rounds_of(*topics: str) -> Rounds:
    rounds = Rounds(5.0)
    rounds.replace(topics, 0, 0.0)
    return rounds


def answered(rounds: Rounds, topic: str, now_s: float) -> None:
    rounds.answered(topic, SeenTopic(b"d", int(now_s * 1000), now_s))


def ask_all(rounds: Rounds, now_s: float) -> list[str]:
    asked = []
    while (topic := rounds.next(now_s)) is not None:
        asked.append(topic)
        answered(rounds, topic, now_s)
    return asked


def test_a_round_waits_until_it_is_time() -> None:
    rounds = rounds_of("A")
    assert ask_all(rounds, 1.0) == ["A", "A"]  # as a new one, and in the round
    assert rounds.wait_s(2.0) == 4.0
    assert rounds.next(5.9) is None
    assert rounds.next(6.0) == "A"


def test_a_round_is_over_when_its_last_answer_came() -> None:
    rounds = rounds_of("A", "B")
    assert [rounds.next(0.0), rounds.next(0.0)] == ["A", "B"]
    answered(rounds, "A", 1.0)
    assert (rounds.next(7.0), rounds.count) == (None, 0)
    answered(rounds, "B", 8.0)
    rounds.next(8.0)
    assert (rounds.count, rounds.last_s) == (1, 8.0)


def test_suspects_come_first_and_no_topic_is_asked_twice_at_a_time() -> None:
    rounds = rounds_of("A", "B", "C")
    ask_all(rounds, 0.0)
    assert rounds.next(5.0) == "A"
    rounds.suspect(("C", "A", "C"))
    assert [rounds.next(5.0) for _ in range(3)] == ["C", "B", None]
    answered(rounds, "A", 5.0)
    assert rounds.next(5.0) == "A"


def test_a_new_topic_is_asked_before_all_others() -> None:
    rounds = rounds_of("A", "B")
    ask_all(rounds, 0.0)
    assert rounds.next(5.0) == "A"
    assert rounds.replace({"A", "B", "N"}, 4_000, 5.0) == ["N"]
    assert rounds.seen["N"] == SeenTopic(UNKNOWN, 4_000, 5.0)
    assert rounds.next(5.0) == "N"


class Network:
    """A client; addresses beginning with r refuse, those with s say nothing."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, str]] = []

    async def invoke(self, addr: str, _opaque: int, _frame: bytes, within_s: float, _bytes_max: int) -> None:
        self.asked.append((asyncio.get_running_loop().time(), addr))
        if addr.startswith("r"):
            raise RefusedError("connection refused")
        if addr.startswith("s"):
            await asyncio.sleep(within_s)
            raise NotSentError("no answer")

    def disconnect(self, _addr: str) -> None: ...


async def test_few_brokers_are_asked_and_soon_given_up() -> None:
    network, began_s = Network(), asyncio.get_running_loop().time()
    said = await ask_brokers(cast(RemotingClient, network), [f"s{number}:1" for number in range(10_000)])
    assert len(network.asked) == len(said) == ASKED_AT_ONCE_MAX
    assert asyncio.get_running_loop().time() - began_s <= WITHIN_S + 0.01


async def test_what_a_broker_said_is_in_the_record_of_its_end() -> None:
    network = Network()
    script = Scripted({"a": "refusing:1", "b": "silent:1", "c": "answering:1"}, {})

    async with Bench(script, asking=cast(RemotingClient, network)) as bench:
        await asyncio.sleep(12)
        assert bench.upstream.phase is Phase.WATCHED
        bench.server.script.brokers = {}
        await asyncio.sleep(10)
        said = {event.addr: event.asked for event, _, _ in bench.told(BrokerDown)}
        assert said == {"refusing:1": "refused", "silent:1": "silent", "answering:1": "answered"}


async def test_a_topic_that_changed_is_asked_at_all_the_others(tmp_path: Path) -> None:
    all_three = Collector(Settings(parse_names("a:1,b:1,c:1"), str(tmp_path)), now_ms).upstreams
    for upstream in all_three:
        upstream.phase = Phase.WATCHED
        upstream.rounds.replace(("T", "U"), 0, 0.0)
        ask_all(upstream.rounds, 0.0)
    all_three[0]._suspect_elsewhere(["U"])
    assert [upstream.rounds.next(1.0) for upstream in all_three] == [None, "U", "U"]
