"""What differs between name servers, and what only follows from a broker that one of them lacks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from interop.harness import codes
from rocketns._fast.routes.routes import RouteSlots
from rocketns.fleet.comparing import FactKind
from rocketns.fleet.state import OWN, Disagreement, FleetState, Part
from rocketns.protocol.body import bodies
from rocketns.protocol.body.route import QueueData
from rocketns.protocol.command import RemotingCommand
from rocketns.server.fleet import watching
from rocketns.server.publishing.route_digests import SlotDigests
from tests.client.peers import answer, serving
from tests.server.fleet.test_comparing import BROKERS, TOPICS, World, watched
from tests.tools.scripted import QUEUES, Scripted

MANY = 400


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
        digests, bucket = SlotDigests(slots), request.ext("bucket")
        if bucket is None:
            return answer(request, 0, digests.buckets())
        table = {topic: f"{digest:x}" for topic, digest in digests.topics(int(bucket)).items()}
        return answer(request, 0, json.dumps({"table": table}).encode())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "ROUND_S", 0.05)
    monkeypatch.setattr(watching, "AGAIN_S", 0.02)


@pytest.fixture(params=[Scripted, Digesting], ids=["java", "rocketns"])
def kind(request: pytest.FixtureRequest) -> type[Scripted]:
    chosen: type[Scripted] = request.param
    return chosen


def found(script: Scripted, is_enough: Callable[[FleetState], bool]) -> FleetState:
    """The state once it is as the test expects it."""
    states: list[FleetState] = []

    async def test(world: World, _addrs: list[str]) -> None:
        await world.until(lambda: is_enough(world.watch.state))
        states.append(world.watch.state)

    watched(script, test=test)
    return states[0]


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
def test_a_topic_says_what_differs_and_of_which_broker(
    kind: type[Scripted], topics: dict[str, Any], parts: tuple[Part, ...], says: str
) -> None:
    state = found(kind(BROKERS, TOPICS | topics), is_read("T"))
    one = of_topic(state, "T")
    assert one is not None
    assert (one.parts, one.follows) == (parts, ())
    own, theirs = one.sides
    assert own.value == "b has 8 read and 8 write queues, permission read and write"
    assert theirs.value == says
    assert [name for name, _ in theirs.queues or ()] == ["b"]


def test_a_topic_that_a_name_server_lacks_is_missing(kind: type[Scripted]) -> None:
    one = of_topic(found(kind(BROKERS, {"T": TOPICS["T"]}), is_read("U")), "U")
    assert one is not None
    assert (Part.MISSING in one.parts, one.follows) == (True, ())


def test_topics_of_a_broker_that_a_peer_lacks_follow_from_it(kind: type[Scripted]) -> None:
    state = found(
        kind({"a": BROKERS["a"]}, {"T": {"a": {}}}),
        lambda state: len(state.disagreements) == 3 and state.members[1].following_topics == 2,
    )
    assert [(one.kind, one.name, one.follows) for one in state.disagreements] == [
        (FactKind.BROKER, "b", ()), (FactKind.TOPIC, "T", ("b",)), (FactKind.TOPIC, "U", ("b",)),
    ]  # fmt: skip
    assert (state.disagreements[0].parts, state.disagreements[0].topics) == ((Part.MISSING,), 2)


def test_topics_of_a_broker_that_this_one_lacks_follow_from_it_and_leave_room_for_what_truly_differs() -> None:
    """Of so many topics only some routes are read, and only some are kept."""
    topics: dict[str, dict[str, dict[str, int]]] = {f"c-{number:03}": {"c": {}} for number in range(MANY)}
    script = Digesting(BROKERS | {"c": "10.0.0.3:1"}, TOPICS | topics | {"U": {"b": {"perm": 4}}})
    state = found(script, lambda state: is_read("U")(state) and state.members[1].following_topics == MANY)
    cause, truly, *followers = state.disagreements
    assert (cause.kind, cause.name, cause.topics) == (FactKind.BROKER, "c", MANY)
    assert (truly.name, truly.parts, truly.follows) == ("U", (Part.PERMISSION,), ())
    assert {one.follows for one in followers} == {("c",)}
    assert state.members[1].differing_topics == MANY + 1
    assert len(script.looked_up) < MANY


def test_topics_that_differ_alike_are_counted_and_one_route_explains_them() -> None:
    topics: dict[str, dict[str, dict[str, int]]] = {f"c-{number:03}": {"a": {}} for number in range(MANY)}
    script = Digesting(BROKERS, TOPICS | topics)
    state = found(script, lambda state: bool(state.disagreements) and state.disagreements[0].topics == MANY)
    assert state.disagreements[0].parts == (Part.MISSING,)
    assert [side.members[0] == OWN for side in state.disagreements[0].sides] == [True, False]
