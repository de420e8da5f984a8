"""Comparing this name server with its peers: what differs, what only follows from it, and the limits of a peer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from interop.harness import codes
from rocketns._fast.routes.routes import RouteSlots
from rocketns.config import Configuration
from rocketns.fleet import state as fleet_state
from rocketns.fleet.comparing import FactKind
from rocketns.fleet.group_view import GroupView
from rocketns.fleet.own_tables import OwnTables
from rocketns.fleet.state import NOT_READ, OWN, Disagreement, FleetState, Part
from rocketns.processor.context import Now
from rocketns.protocol.body import bodies
from rocketns.protocol.body.route import BrokerData, QueueData
from rocketns.protocol.command import RemotingCommand
from rocketns.routeinfo.events import Event, FleetDiffers
from rocketns.routeinfo.tables import RouteTables
from rocketns.routeinfo.view import RouteDigests
from rocketns.server import fleet
from rocketns.server.clock import Clock
from rocketns.server.fleet import FleetWatch
from tests.client.peers import answer, peer, serving
from tests.tools.scripted import QUEUES, Scripted

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
        self.digests = RouteDigests(slots)
        self.watch = FleetWatch(configuration, OwnTables(self.tables, self.digests), Clock(), self._take)
        self._refreshed, self._refresh = asyncio.Event(), self.watch.refresh
        self.watch.refresh = self._note_refresh  # type: ignore[method-assign]

    def _note_refresh(self) -> None:
        self._refresh()
        self._refreshed.set()

    def _take(self, events: list[Event], _now: Now) -> None:
        self.events += [event for event in events if isinstance(event, FleetDiffers)]

    async def until(self, condition: Callable[[], Any]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not condition():
                self._refreshed.clear()
                await self._refreshed.wait()

    @property
    def found(self) -> set[tuple[FactKind, str]]:
        return {(one.kind, one.name) for one in self.watch.state.disagreements}

    def is_read(self) -> bool:
        return all(member.is_readable for member in self.watch.state.members)


@asynccontextmanager
async def watching(*scripts: Scripted) -> AsyncIterator[World]:
    """A watch of these peers."""
    async with AsyncExitStack() as stack:
        addrs = [(await stack.enter_async_context(peer(one.serve))).addr for one in scripts]
        world = World()
        world.watch.set_peers(addrs)
        try:
            yield world
        finally:
            world.watch.stop()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "ROUND_S", 0.05)
    monkeypatch.setattr(fleet, "AGAIN_S", 0.02)


async def test_peers_with_the_same_routes_agree() -> None:
    async with watching(Scripted(BROKERS, TOPICS), Scripted(BROKERS, TOPICS)) as world:
        await world.until(lambda: world.is_read() and world.watch.state.members[1].topics == 2)
    assert (world.found, world.events) == (set(), [])
    own, first, _ = world.watch.state.members
    assert (own.address, own.broker_groups, own.topics, first.kind, first.broker_groups) == (OWN, 2, 2, "other", 2)


@pytest.mark.parametrize(
    ("brokers", "topics", "found"),
    [
        (BROKERS | {"d": "10.0.0.9:1"}, TOPICS, (FactKind.BROKER, "d")),
        (BROKERS, TOPICS | {"T": {"a": {}, "b": {"perm": 4}}}, (FactKind.TOPIC, "T")),
    ],
)
async def test_a_difference_is_named_with_its_sides_and_once_as_an_event(
    brokers: dict[str, str], topics: dict[str, Any], found: tuple[FactKind, str]
) -> None:
    """The second peer agrees with this one, the first does not."""
    async with watching(Scripted(brokers, topics), Scripted(BROKERS, TOPICS)) as world:
        await world.until(lambda: world.is_read() and world.found)
    (one,), (_, other, same) = world.watch.state.disagreements, world.watch.state.members
    assert [side.members for side in one.sides] == [(OWN, same.address), (other.address,)]
    assert world.found == {found}
    assert [(event.kind, event.name, event.is_over) for event in world.events] == [(*found, False)]


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        (codes.GET_BROKER_CLUSTER_INFO, b'{"brokerAddrTable":{"a":1}}'),
        (codes.GET_BROKER_CLUSTER_INFO, b"[" + b"1," * 600_000 + b"1]"),
        (codes.GET_ROUTEINFO_BY_TOPIC, b'{"queueDatas":[{}]}'),
        (codes.GET_ROUTE_DIGESTS, bytes(5 << 20)),
    ],
    ids=["no group", "many values", "no route", "large"],
)
async def test_a_peer_with_useless_answers_is_not_compared(code: int, answer: bytes | int) -> None:
    other = Scripted({"a": "10.0.0.1:1"}, TOPICS)
    other.wrong = {code: answer}

    async with watching(other) as world:
        await world.until(lambda: world.watch.state.members[1].error not in ("", NOT_READ))
    assert (world.found, world.watch.state.members[1].differing_brokers) == (set(), 0)


def test_a_side_shows_a_part_of_a_large_group() -> None:
    """What a stranger registers must not fill the state, which has 200 disagreements."""
    many = GroupView("c" * 100, tuple((number, f"10.0.0.1:{number}") for number in range(100_000)), None, False)
    long = GroupView("c" * 1_000_000, ((0, "10.0.0.1:1"),), None, False)
    assert fleet_state._group_side(many, ()).says.endswith(
        f"15=10.0.0.1:15 and {100_000 - fleet_state.ADDRESSES_SHOWN_MAX} more"
    )
    assert len(fleet_state._group_side(long, ()).says) == fleet_state.SIDE_CHARACTERS_MAX + 1


MANY = 250


class Digesting(Scripted):
    """A rocketns: it answers with the digests of its topics."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serving(self._answered)(reader, writer)

    def _answered(self, request: RemotingCommand) -> Any:
        if request.code != codes.GET_ROUTE_DIGESTS:
            return answer(request, *self.answer(request))
        slots = RouteSlots(bodies.queue_data)
        for topic, queues in self.topics.items():
            for name, other in queues.items():
                numbers = QUEUES | other
                slots.put_topics(name, [(topic, None, QueueData(*numbers.values()))])
        digests, bucket = RouteDigests(slots), request.ext("bucket")
        if bucket is None:
            return answer(request, 0, digests.buckets())
        table = {topic: f"{digest:x}" for topic, digest in digests.topics(int(bucket)).items()}
        return answer(request, 0, json.dumps({"table": table}).encode())


async def state_of(script: Scripted, is_enough: Callable[[FleetState], bool]) -> FleetState:
    """The state once it is as the test expects it."""
    async with watching(script) as world:
        await world.until(lambda: is_enough(world.watch.state))
        return world.watch.state


def of_topic(state: FleetState, topic: str) -> Disagreement | None:
    return next((one for one in state.disagreements if (one.kind, one.name) == (FactKind.TOPIC, topic)), None)


def is_read(topic: str) -> Callable[[FleetState], bool]:
    return lambda state: (one := of_topic(state, topic)) is not None and Part.UNREAD not in one.parts


@pytest.mark.parametrize(
    ("topics", "parts", "says"),
    [
        ({"T": {"a": {}, "b": {"perm": 4}}}, (Part.PERMISSION,),
         "b has 8 read and 8 write queues, permission read only"),
        ({"T": {"a": {}, "b": {"writeQueueNums": 4}}}, (Part.QUEUES,),
         "b has 8 read and 4 write queues, permission read and write"),
        ({"T": {"a": {}}}, (Part.BROKERS,), "b has no queues"),
    ],
    ids=["permission", "queues", "brokers"],
)  # fmt: skip
async def test_a_topic_says_what_differs_and_of_which_broker(
    topics: dict[str, Any], parts: tuple[Part, ...], says: str
) -> None:
    state = await state_of(Digesting(BROKERS, TOPICS | topics), is_read("T"))
    one = of_topic(state, "T")
    assert one is not None
    assert (one.parts, one.follows) == (parts, ())
    own, theirs = one.sides
    assert own.says == "b has 8 read and 8 write queues, permission read and write"
    assert theirs.says == says
    assert [queues.broker for queues in theirs.queues] == ["b"]


async def test_topics_of_a_broker_that_this_one_lacks_follow_from_it_and_leave_room_for_what_truly_differs() -> None:
    """Of so many topics only some routes are read, and only some are kept."""
    topics: dict[str, dict[str, dict[str, int]]] = {f"c-{number:03}": {"c": {}} for number in range(MANY)}
    script = Digesting(BROKERS | {"c": "10.0.0.3:1"}, TOPICS | topics | {"U": {"b": {"perm": 4}}})
    state = await state_of(script, lambda state: is_read("U")(state) and state.members[1].following_topics == MANY)
    cause, truly, *followers = state.disagreements
    assert (cause.kind, cause.name, cause.topics) == (FactKind.BROKER, "c", MANY)
    assert (truly.name, truly.parts, truly.follows) == ("U", (Part.PERMISSION,), ())
    assert {one.follows for one in followers} == {("c",)}
    assert state.members[1].differing_topics == MANY + 1
    assert len(script.looked_up) < MANY
