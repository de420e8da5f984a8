"""Comparing this name server with its peers: what counts, what is ignored, and limits for peers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from interop.harness import codes
from rocketns._fast.routes.routes import RouteSlots
from rocketns.config import Configuration
from rocketns.fleet.comparing import FactKind
from rocketns.fleet.group_view import GroupView
from rocketns.fleet.state import OWN
from rocketns.processor.context import Now
from rocketns.protocol.body import bodies
from rocketns.protocol.body.route import BrokerData, QueueData
from rocketns.routeinfo.events import Event, FleetDiffers
from rocketns.routeinfo.tables import RouteTables
from rocketns.server.clock import Clock
from rocketns.server.fleet import sides, watching
from rocketns.server.fleet.own import OwnTables
from rocketns.server.fleet.watching import FleetWatch
from rocketns.server.publishing.route_digests import SlotDigests
from tests.client.peers import CLOSED, peer
from tests.tools.scripted import Scripted

BROKERS = {"a": "10.0.0.1:1", "b": "10.0.0.2:1"}
TOPICS: dict[str, dict[str, dict[str, int]]] = {"T": {"a": {}, "b": {}}, "U": {"b": {}}}
WAIT_S = 60.0


class World:
    """A name server with the routes of BROKERS and TOPICS, and its watch."""

    def __init__(self) -> None:
        self.events: list[FleetDiffers] = []
        self.tables, slots = RouteTables(), RouteSlots(bodies.queue_data)
        for name, addr in BROKERS.items():
            self.tables.broker_addr_table[name] = BrokerData("c", name, {0: addr})
        for topic, queues in TOPICS.items():
            for name in queues:
                numbers = QueueData(8, 8, 6, 0)
                self.tables.topic_queue_table.setdefault(topic, {})[name] = numbers
                slots.put_topics(name, [(topic, None, numbers)])
        configuration = Configuration.build(home=Path("~"))
        self.digests = SlotDigests(slots)
        self.watch = FleetWatch(configuration, OwnTables(self.tables, self.digests), Clock(), self._take)

    def _take(self, events: list[Event], _now: Now) -> None:
        self.events += [event for event in events if isinstance(event, FleetDiffers)]

    async def until(self, condition: Callable[[], Any]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not condition():
                await asyncio.sleep(0.01)

    @property
    def found(self) -> set[tuple[FactKind, str]]:
        return {(one.kind, one.name) for one in self.watch.state.disagreements}

    def is_read(self) -> bool:
        return all(member.is_readable for member in self.watch.state.members)


def watched(*scripts: Scripted, test: Callable[[World, list[str]], Awaitable[None]]) -> World:
    """Run a test with a watch of these peers."""
    worlds: list[World] = []

    async def running() -> None:
        async with AsyncExitStack() as stack:
            addrs = [(await stack.enter_async_context(peer(one.serve))).addr for one in scripts]
            world = World()
            worlds.append(world)
            world.watch.set_peers(addrs)
            try:
                await test(world, addrs)
            finally:
                world.watch.stop()

    asyncio.run(running())
    return worlds[0]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "ROUND_S", 0.05)
    monkeypatch.setattr(watching, "AGAIN_S", 0.02)


def test_peers_with_the_same_routes_agree() -> None:
    async def test(world: World, _addrs: list[str]) -> None:
        await world.until(lambda: world.is_read() and world.watch.state.members[1].topics == 2)

    world = watched(Scripted(BROKERS, TOPICS), Scripted(BROKERS, TOPICS), test=test)
    assert (world.found, world.events) == (set(), [])
    own, first, _ = world.watch.state.members
    assert (own.addr, own.broker_groups, own.topics, first.kind, first.broker_groups) == (OWN, 2, 2, "other", 2)


@pytest.mark.parametrize(
    ("brokers", "topics", "found"),
    [
        ({"a": "10.0.0.1:1"}, TOPICS, (FactKind.BROKER, "b")),
        (BROKERS | {"b": "10.0.0.9:1"}, TOPICS, (FactKind.BROKER, "b")),
        (BROKERS | {"d": "10.0.0.9:1"}, TOPICS, (FactKind.BROKER, "d")),
        (BROKERS, {"T": TOPICS["T"]}, (FactKind.TOPIC, "U")),
        (BROKERS, TOPICS | {"V": {"a": {}}}, (FactKind.TOPIC, "V")),
        (BROKERS, TOPICS | {"T": {"a": {}, "b": {"perm": 4}}}, (FactKind.TOPIC, "T")),
    ],
)
def test_a_difference_is_named_with_its_sides_and_once_as_an_event(
    brokers: dict[str, str], topics: dict[str, Any], found: tuple[FactKind, str]
) -> None:
    """The second peer agrees with this one, the first does not."""
    sides: list[tuple[str, ...]] = []

    async def test(world: World, addrs: list[str]) -> None:
        await world.until(lambda: world.is_read() and world.found)
        (one,) = world.watch.state.disagreements
        sides.extend(side.members for side in one.sides)
        assert sides == [(OWN, addrs[1]), (addrs[0],)]

    world = watched(Scripted(brokers, topics), Scripted(BROKERS, TOPICS), test=test)
    assert world.found == {found}
    assert [(event.kind, event.name, event.is_over) for event in world.events] == [(*found, False)]


def test_the_end_of_a_disagreement_is_an_event_too() -> None:
    late = Scripted({"a": "10.0.0.1:1"}, TOPICS)

    async def test(world: World, _addrs: list[str]) -> None:
        await world.until(lambda: world.found)
        late.brokers = BROKERS
        await world.until(lambda: not world.found)

    assert [event.is_over for event in watched(late, test=test).events] == [False, True]


def test_a_value_that_this_name_server_has_taken_over_is_no_disagreement() -> None:
    """A peer had the value first. Its last reading is older than this name server's own value."""

    async def test(world: World, _addrs: list[str]) -> None:
        await world.until(lambda: world.found)
        del world.tables.broker_addr_table["b"]
        world.watch.refresh()
        assert world.found == set()

    world = watched(Scripted({"a": BROKERS["a"]}, TOPICS), test=test)
    assert [event.is_over for event in world.events] == [False, True]


def test_a_disagreement_gone_at_the_next_reading_is_not_reported() -> None:
    """A broker reaches its name servers one after the other."""
    late, readings = Scripted({"a": "10.0.0.1:1"}, TOPICS), []

    def register(code: int) -> None:
        readings.append(code)
        if readings.count(codes.GET_BROKER_CLUSTER_INFO) == 2:
            late.brokers = BROKERS

    late.at_request = register

    async def test(world: World, _addrs: list[str]) -> None:
        await world.until(lambda: readings.count(codes.GET_BROKER_CLUSTER_INFO) == 5)

    assert watched(late, test=test).events == []


def test_a_peer_that_does_not_listen_is_named_and_disturbs_no_other() -> None:
    async def test(world: World, addrs: list[str]) -> None:
        world.watch.set_peers([CLOSED, *addrs])
        await world.until(lambda: world.watch.state.members[2].is_readable and world.found)

    world = watched(Scripted({"a": "10.0.0.1:1"}, TOPICS), test=test)
    gone = next(member for member in world.watch.state.members if member.addr == CLOSED)
    assert (CLOSED in gone.error and "failed" in gone.error) or gone.error == "not read yet"
    assert gone.broker_groups is None


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        (codes.GET_BROKER_CLUSTER_INFO, b"<html>"),
        (codes.GET_BROKER_CLUSTER_INFO, b'{"brokerAddrTable":{"a":1}}'),
        (codes.GET_BROKER_CLUSTER_INFO, b"[" + b"1," * 600_000 + b"1]"),
        (codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, b"7"),
        (codes.GET_ROUTEINFO_BY_TOPIC, b'{"queueDatas":[{}]}'),
        (codes.GET_ROUTE_DIGESTS, b"short"),
        (codes.GET_ROUTE_DIGESTS, bytes(5 << 20)),
    ],
    ids=["no JSON", "no group", "many values", "no list", "no route", "few digests", "large"],
)
def test_a_peer_with_useless_answers_is_not_compared(code: int, answer: bytes | int) -> None:
    other = Scripted({"a": "10.0.0.1:1"}, TOPICS)
    other.wrong = {code: answer}

    async def test(world: World, _addrs: list[str]) -> None:
        await world.until(lambda: world.watch.state.members[1].error not in ("", "not read yet"))

    world = watched(other, test=test)
    assert (world.found, world.watch.state.members[1].differing_brokers) == (set(), 0)


def test_brokers_are_compared_with_a_peer_that_lists_no_topics() -> None:
    """enableAllTopicList=false."""
    other = Scripted({"a": "10.0.0.1:1"}, {})
    other.wrong = {codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: 1}

    async def test(world: World, _addrs: list[str]) -> None:
        await world.until(lambda: world.is_read() and world.found)

    assert watched(other, test=test).found == {(FactKind.BROKER, "b")}


def test_many_differences_are_counted_and_some_are_listed() -> None:
    brokers = {f"b{number}": f"10.0.0.1:{number}" for number in range(1, 501)}

    async def test(world: World, _addrs: list[str]) -> None:
        await world.until(lambda: world.found)

    world = watched(Scripted(BROKERS | brokers, TOPICS), test=test)
    assert world.watch.state.members[1].differing_brokers == 500
    assert len(world.found) <= watching.DISAGREEMENTS_MAX
    assert 0 < len(world.events) <= watching.DISAGREEMENTS_MAX


def test_a_side_shows_a_part_of_a_large_group() -> None:
    """What a stranger registers must not fill the state, which has 200 disagreements."""
    many = GroupView("c" * 100, tuple((number, f"10.0.0.1:{number}") for number in range(100_000)), None, False)
    long = GroupView("c" * 1_000_000, ((0, "10.0.0.1:1"),), None, False)
    assert sides._group_side(many, ()).value.endswith(f"15=10.0.0.1:15 and {100_000 - sides.ADDRESSES_SHOWN_MAX} more")
    assert len(sides._group_side(long, ()).value) == sides.SIDE_CHARACTERS_MAX + 1


def test_a_peer_that_is_no_longer_named_is_not_read() -> None:
    async def test(world: World, _addrs: list[str]) -> None:
        await world.until(lambda: world.found)
        world.watch.set_peers([])
        assert [member.addr for member in world.watch.state.members] == [OWN]

    assert watched(Scripted({}, TOPICS), test=test).found == set()
