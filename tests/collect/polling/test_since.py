"""Between which two moments a change happened: after the request before was sent, and before the answer came."""

from __future__ import annotations

import asyncio

from rocketns.collect.polling.upstream import Pace, Phase
from rocketns.routeinfo.events import BrokerDown, BrokerRegistered, KvChanged, TopicsDeleted, TopicsPut
from tests.collect.polling.virtual import Bench, on, script, watched

LATENCY_S = 0.001


async def unchanged(bench: Bench) -> None:
    await watched(bench)
    assert bench.notes.events == []


def test_a_boot_begins_when_everything_was_read() -> None:
    async def test(bench: Bench) -> None:
        await unchanged(bench)
        ((began_s, restored),) = bench.notes.begun
        codes = {code: bench.requests(code)[0] for code in (105, 106, 206, 219, 319)}
        assert (restored, max(codes.values()) < began_s < 1) == (False, True)
        assert set(bench.observed.tables.topic_queue_table) == {"T", "U"}
        assert bench.observed.kv["ORDER_TOPIC_CONFIG"] == {"T": "a:4"}

    on(lambda: Bench(script()), test)


def test_a_broker_that_goes_went_since_the_last_answer_that_had_it() -> None:
    async def test(bench: Bench) -> None:
        await unchanged(bench)
        gone_s = bench.now_s
        del bench.server.script.brokers["a"]
        del bench.server.script.topics["T"]["a"]
        await asyncio.sleep(20)
        before, after = [[at_s for at_s in bench.requests(106) if (at_s > gone_s) == late] for late in (False, True)]
        ((down, since_s, ts_s),) = bench.told(BrokerDown)
        assert (down.addr, since_s, ts_s) == ("10.0.0.1:1", round(before[-1], 3), round(after[0] + LATENCY_S, 3))
        assert [(event.topics, since, ts) for event, since, ts in bench.told(TopicsDeleted)] == [(["T"], since_s, ts_s)]

    on(lambda: Bench(script()), test)


def test_a_broker_that_comes_has_its_topics_asked_at_once_and_had_none_before() -> None:
    """The topic was asked for long before. But a broker that was not there had no topic."""

    def many() -> Bench:
        made = script()
        made.topics |= {f"T{number}": {"b": {}} for number in range(300)}
        return Bench(made, Pace(5.0, 10, ()))

    async def test(bench: Bench) -> None:
        queues = bench.server.script.topics["T"].pop("a")
        addr = bench.server.script.brokers.pop("a")
        await asyncio.sleep(60)
        assert (bench.upstream.phase, bench.notes.events) == (Phase.WATCHED, [])
        bench.fleet.elsewhere["a"] = ["T"]
        bench.server.script.topics["T"]["a"], bench.server.script.brokers["a"] = queues, addr
        await asyncio.sleep(20)
        ((_, reg_since_s, reg_s),) = bench.told(BrokerRegistered)
        ((put, since_s, ts_s),) = bench.told(TopicsPut)
        assert (put.broker_name, [one.topic for one in put.changes]) == ("a", ["T"])
        assert ts_s - reg_s < 0.3
        assert reg_since_s <= since_s <= reg_s

    on(many, test)


def test_a_topic_that_is_gone_went_since_the_last_list_that_had_it() -> None:
    async def test(bench: Bench) -> None:
        await unchanged(bench)
        gone_s = bench.now_s
        bench.server.script.wrong[105] = 2  # only the list says it
        del bench.server.script.topics["U"]
        await asyncio.sleep(20)
        ((deleted, since_s, _),) = bench.told(TopicsDeleted)
        assert (deleted.broker_name, deleted.topics) == ("b", ["U"])
        assert since_s == round([at_s for at_s in bench.requests(206) if at_s < gone_s][-1], 3)

    on(lambda: Bench(script()), test)


def test_a_new_topic_came_since_the_last_list_without_it() -> None:
    async def test(bench: Bench) -> None:
        await unchanged(bench)
        came_s = bench.now_s
        bench.server.script.topics["N"] = {"a": {}}
        await asyncio.sleep(20)
        ((put, since_s, _),) = bench.told(TopicsPut)
        assert [one.topic for one in put.changes] == ["N"]
        assert since_s == round([at_s for at_s in bench.requests(206) if at_s < came_s][-1], 3)

    on(lambda: Bench(script()), test)


def test_queues_changed_since_the_last_lookup() -> None:
    async def test(bench: Bench) -> None:
        await unchanged(bench)
        changed_s = bench.now_s
        bench.server.script.topics["U"]["b"]["perm"] = 4
        await asyncio.sleep(20)
        ((_, since_s, ts_s),) = bench.told(TopicsPut)
        looked = [round(at_s, 3) for at_s in bench.requests(105)]
        assert since_s in looked
        assert since_s <= changed_s < ts_s < since_s + 5.2

    on(lambda: Bench(script()), test)


def test_kv_items_changed_within_a_minute() -> None:
    async def test(bench: Bench) -> None:
        await unchanged(bench)
        bench.server.script.order["U"] = "b:8"
        await asyncio.sleep(60)
        ((changed, since_s, ts_s),) = bench.told(KvChanged)
        assert (changed.key, changed.value) == ("U", "b:8")
        assert 59 < ts_s - since_s < 61

    on(lambda: Bench(script()), test)


def test_the_other_name_servers_are_told_which_topics_changed() -> None:
    async def test(bench: Bench) -> None:
        await unchanged(bench)
        assert bench.fleet.told == []
        bench.server.script.topics["U"]["b"]["perm"] = 4
        await asyncio.sleep(20)
        assert bench.fleet.told == ["U"]

    on(lambda: Bench(script()), test)


def test_a_topic_that_changed_elsewhere_is_asked_at_once() -> None:
    async def test(bench: Bench) -> None:
        await unchanged(bench)
        told_s = bench.now_s
        bench.server.script.topics["N"] = {"a": {}}
        bench.upstream.look_at(["N"])
        await asyncio.sleep(0.1)
        ((put, since_s, ts_s),) = bench.told(TopicsPut)
        assert [one.topic for one in put.changes] == ["N"]
        assert ts_s - told_s < 0.1
        assert since_s == round(bench.requests(206)[-1], 3)

    on(lambda: Bench(script()), test)


def test_an_answer_that_is_older_than_a_change_is_asked_for_again() -> None:
    """A lookup that was sent before the brokers were read, and is answered after them."""

    async def test(bench: Bench) -> None:
        await unchanged(bench)
        bench.server.latencies[105] = 4.0
        await asyncio.sleep(6)  # the answers to two lookups are on their way
        bench.server.script.brokers["c"] = "10.0.0.3:1"
        bench.server.script.topics = {"T": {"c": {}}}
        await asyncio.sleep(30)
        deleted = sorted((event.broker_name, event.topics) for event, _, _ in bench.told(TopicsDeleted))
        assert deleted == [("a", ["T"]), ("b", ["T"]), ("b", ["U"])]
        assert [event.broker_name for event, _, _ in bench.told(TopicsPut)] == ["c"]

    on(lambda: Bench(script()), test)


def test_a_topic_that_is_gone_does_not_come_back_with_an_older_answer() -> None:
    async def test(bench: Bench) -> None:
        await unchanged(bench)
        bench.server.latencies[105] = 7.0
        await asyncio.sleep(6)  # the answers to lookups are on their way, and a list of topics comes before them
        del bench.server.script.topics["U"]
        await asyncio.sleep(40)
        assert [event.topics for event, _, _ in bench.told(TopicsDeleted)] == [["U"]]
        assert bench.told(TopicsPut) == []

    on(lambda: Bench(script()), test)
