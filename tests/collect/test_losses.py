"""A name server that fails: what is lost with it, and how the watching goes on."""

from __future__ import annotations

import asyncio

import pytest

from interop.harness import codes
from rocketns.collect.asking import NAMES
from rocketns.collect.upstream import Phase
from rocketns.protocol.body.route import BrokerData, TopicRouteData, queue_data
from rocketns.protocol.codes import RESERVED_NAMESPACES
from rocketns.routeinfo.events import BrokerDown, BrokerRegistered, TopicsDeleted, TopicsPut
from tests.collect.virtual import BEGAN_S, Bench, Notes, script, seconds, watched

DOWN = "no answer"


async def test_one_failure_is_no_loss(bench: Bench) -> None:
    await watched(bench)
    bench.server.failing = DOWN
    await asyncio.sleep(5)
    bench.server.failing = ""
    await asyncio.sleep(5)
    assert (bench.upstream.phase, bench.notes.ended) == (Phase.WATCHED, [])


async def test_a_name_server_that_does_not_answer_is_lost_since_it_was_read_last(bench: Bench) -> None:
    await watched(bench)
    read_s = bench.requests(106)[-1]
    bench.server.failing = DOWN
    await asyncio.sleep(12)
    ((lost_s, since_s),) = bench.notes.ended
    assert (bench.upstream.phase, since_s) == (Phase.LOST, round(read_s, 3))
    assert 10 < lost_s - since_s < 10.1
    assert bench.server.disconnects == 2


async def test_one_that_comes_back_soon_goes_on_and_what_changed_did_so_since_it_was_lost(bench: Bench) -> None:
    await watched(bench)
    bench.server.failing = DOWN
    await asyncio.sleep(600)
    bench.server.script.brokers["c"] = "10.0.0.3:1"
    bench.server.script.topics["U"]["b"]["perm"] = 4
    bench.server.failing = ""
    await asyncio.sleep(10)
    lost_since_s = bench.notes.ended[0][1]
    assert [restored for _, restored in bench.notes.begun] == [False, True]
    ((came, came_since_s, _),) = bench.told(BrokerRegistered)
    ((put, put_since_s, _),) = bench.told(TopicsPut)
    assert (came.broker_name, came_since_s) == ("c", lost_since_s)
    assert put.changes[0].new.perm == 4
    assert lost_since_s - 5.1 <= put_since_s <= lost_since_s + 5.1


async def test_one_that_comes_back_after_hours_is_read_whole_first(bench: Bench) -> None:
    await watched(bench)
    bench.server.failing = DOWN
    await asyncio.sleep(4_000)
    bench.server.script.brokers["c"] = "10.0.0.3:1"
    bench.server.failing = ""
    looked_s = 1_000 + bench.now_s
    await asyncio.sleep(10)
    assert [restored for _, restored in bench.notes.begun] == [False, False]
    assert bench.notes.events == []
    assert "c" in bench.observed.tables.broker_addr_table
    assert set(bench.server.topics_asked(looked_s)) == {"T", "U"}


async def test_a_name_server_that_starts_is_read_once_its_lookups_are_answered(bench: Bench) -> None:
    """needWaitForService: until then lookups have code 1, and that is not "there is no such topic"."""
    bench.server.script.wrong[codes.GET_ROUTEINFO_BY_TOPIC] = 1
    await asyncio.sleep(60)
    assert (bench.upstream.phase, bench.notes.begun) == (Phase.READING, [])
    assert all("it starts" in error for error in bench.upstream.errors.values())
    bench.server.script.wrong.clear()
    await asyncio.sleep(10)
    assert bench.upstream.phase is Phase.WATCHED
    assert set(bench.observed.tables.topic_queue_table) == {"T", "U"}


async def test_one_that_gives_no_names_of_topics_has_its_brokers_and_kv_items_watched(bench: Bench) -> None:
    """enableAllTopicList=false."""
    bench.server.script.wrong[codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER] = 1
    await watched(bench)
    del bench.server.script.brokers["a"]
    await asyncio.sleep(10)
    assert [event.broker_name for event, _, _ in bench.told(BrokerDown)] == ["a"]
    assert bench.server.topics_asked() == []
    assert list(bench.upstream.refused) == [NAMES]


@pytest.mark.parametrize("code", [219, 319])
async def test_one_whose_settings_cannot_be_read_is_watched_without_them(
    bench: Bench, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Too large, for example, or too busy each time."""

    namespaces = RESERVED_NAMESPACES if code == 219 else ("",)
    bench.server.script.wrong[code] = 2
    await asyncio.sleep(3)
    assert bench.notes.begun == []
    await asyncio.sleep(10)
    assert bench.upstream.phase is Phase.WATCHED
    await asyncio.sleep(120)
    assert caplog.text.count("is not watched") == len(namespaces)
    assert len(bench.requests(code)) < 10 * len(namespaces)
    bench.server.script.wrong.clear()
    await asyncio.sleep(60)
    assert bench.upstream.refused == {}


@pytest.mark.parametrize("body", [b"", b"[" * 100_000, b'{"brokerAddrTable":{"a":7}}', b"\xff" * 99])
async def test_garbage_instead_of_brokers_is_no_change(bench: Bench, body: bytes) -> None:
    await watched(bench)
    bench.server.script.wrong[106] = body
    await asyncio.sleep(30)
    assert (bench.upstream.phase, bench.notes.events) == (Phase.LOST, [])
    bench.server.script.wrong.clear()
    await asyncio.sleep(10)
    assert (bench.upstream.phase, bench.notes.events) == (Phase.WATCHED, [])


@pytest.mark.parametrize("code", [105, 206, 219])
@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"topicList":7,"table":7,"queueDatas":7}'])
async def test_garbage_instead_of_others_is_no_change(bench: Bench, code: int, body: bytes) -> None:
    await watched(bench)
    bench.server.script.wrong[code] = body
    await asyncio.sleep(120)
    assert (bench.upstream.phase, bench.notes.events) == (Phase.WATCHED, [])


async def test_topics_that_wait_for_their_brokers_are_forgotten_with_their_names(bench: Bench) -> None:
    """A hostile name server names others each time."""
    await watched(bench)
    for number in range(3):
        bench.server.script.topics = {f"N{number}": {"nobody": {}}}
        await asyncio.sleep(12)
    assert bench.upstream.watch._early == {"N2"}


async def test_a_topic_changed_since_the_last_look_that_the_journal_tells_of_after_a_restart() -> None:
    """The run before had a lower rate, so two rounds of this run's rate are much less than its last round took."""
    notes = Notes(known_s=-30, looked_s=-2_000)
    bench = Bench(script(), notes=notes)
    addrs = {"a": "10.0.0.1:1", "b": "10.0.0.2:1"}
    bench.observed.groups({name: BrokerData("c", name, {0: addr}) for name, addr in addrs.items()})
    bench.observed.route("T", TopicRouteData([(name, queue_data(4, 4, 6, 0)) for name in "ab"], [], {}))
    bench.observed.route("U", route("b"))
    async with bench:
        await asyncio.sleep(10)
        changed = {one.topic: since_s for event, since_s, _ in bench.told(TopicsPut) for one in event.changes}
        assert set(changed.values()) == {-2_000}
        assert bench.told(BrokerDown) == []


async def test_a_boot_tells_the_oldest_look_at_any_topic(bench: Bench) -> None:
    await watched(bench)
    last_s = {name: at_s for at_s, code, name in bench.server.asked if code == 105}
    (looked,) = bench.notes.looked
    assert looked is not None
    assert seconds(looked()) == round(min(last_s.values()) - BEGAN_S, 3)


async def test_nothing_is_read_of_routes_before_a_state_is_continued() -> None:
    """The journal's reader has that state. What changes it has a record, so it comes after the start."""
    notes = Notes(known_s=-30, looked_s=-30)
    bench = Bench(script(), notes=notes)
    bench.observed.groups({"b": BrokerData("c", "b", {0: "10.0.0.2:1"})})
    bench.observed.route("X", route("b"))
    async with bench:
        bench.server.latencies[219] = 3.0
        await asyncio.sleep(2)
        assert bench.upstream.phase is Phase.RETURNING
        assert {code for _, code, _ in bench.server.asked} == {106, 219, 319}
        await asyncio.sleep(10)
        assert [(event.topics, since_s) for event, since_s, _ in bench.told(TopicsDeleted)] == [(["X"], -30)]


async def test_an_answer_that_comes_after_a_loss_changes_nothing(bench: Bench) -> None:
    """It was sent before. The journal ended without it."""
    await watched(bench)
    bench.server.script.topics["U"]["b"]["perm"] = 4
    bench.server.latencies[105] = 30.0
    await asyncio.sleep(6)
    bench.server.script.wrong[106] = b""
    await asyncio.sleep(40)
    assert (bench.upstream.phase, bench.notes.events) == (Phase.LOST, [])
    assert bench.observed.tables.topic_queue_table["U"]["b"].perm == 6


async def test_a_boot_ends_when_topics_can_be_known_and_nothing_of_them_is_a_change(bench: Bench) -> None:
    bench.server.script.wrong[206] = 1
    await watched(bench)
    assert bench.notes.looked == [None]
    bench.server.script.wrong.clear()
    await asyncio.sleep(20)
    assert [restored for _, restored in bench.notes.begun] == [False, False]
    assert (len(bench.notes.ended), bench.upstream.phase, bench.notes.events) == (1, Phase.WATCHED, [])
    assert set(bench.observed.tables.topic_queue_table) == {"T", "U"}


def route(*brokers: str) -> TopicRouteData:
    return TopicRouteData([(name, queue_data(8, 8, 6, 0)) for name in brokers], [], {})
