"""While control publishes a change, reactors see each route before or after it, or let control answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from rocketns._fast.routes.routes import RouteSlots
from rocketns.protocol.body import bodies
from tests.compiled.parts import HANDED_OVER, body_of
from tests.fast.worlds import PublishedWorld

TOPICS = [f"T{number}" for number in range(200)]  # more than are changed at once
Bodies = list[bytes | int | None]


class WatchedSlots(RouteSlots):
    """Checks every topic after each step."""

    seen: list[Bodies]

    def look(self) -> Bodies:
        return [body_of(self, topic.encode(), False) for topic in TOPICS]

    def put_broker(self, *arguments: Any) -> None:
        super().put_broker(*arguments)
        self.seen.append(self.look())

    def put_topics(self, *arguments: Any) -> None:
        super().put_topics(*arguments)
        self.seen.append(self.look())

    def delete_topics(self, *arguments: Any) -> None:
        super().delete_topics(*arguments)
        self.seen.append(self.look())


@pytest.fixture
def world(tmp_path: Path) -> PublishedWorld:
    world = PublishedWorld(tmp_path, "deleteTopicWithBrokerRegistration=true\n")
    world.publisher.slots = world.slots = WatchedSlots(bodies.queue_data)
    world.slots.seen = []
    return world


def register(
    world: PublishedWorld, addr: str, queues: int, state: int, topics: list[str] = TOPICS, broker_id: int = 0
) -> None:
    body = register_body([topic_config(topic, queues) for topic in topics], data_version(state))
    world.ask(103, register_ext(broker="ba", addr=addr, broker_id=broker_id, body=body), body)


@pytest.mark.parametrize(
    "change",
    [
        lambda world: register(world, "10.0.0.2:1", 4, 2),
        lambda world: register(world, "10.0.0.2:1", 8, 2, TOPICS[:100]),
        lambda world: register(world, "10.0.0.2:1", 8, 2),
        lambda world: register(world, "10.0.0.1:1", 4, 2),
    ],
    ids=["address and queues", "address and topics", "address", "queues"],
)
def test_nobody_sees_a_new_address_with_old_queues(
    world: PublishedWorld, change: Callable[[PublishedWorld], None]
) -> None:
    """To lookups, a registration is one step."""
    register(world, "10.0.0.1:1", 8, 1)
    world.publish()
    assert isinstance(world.slots, WatchedSlots)
    before = world.slots.look()
    world.slots.seen.clear()
    change(world)
    world.publish()
    after = world.slots.look()
    assert before != after
    assert HANDED_OVER not in after
    assert world.slots.seen
    for bodies_seen in world.slots.seen:
        for seen, old, new in zip(bodies_seen, before, after, strict=True):
            assert seen in (old, new, HANDED_OVER)


def test_a_slave_that_leaves_is_in_no_route_any_more(world: PublishedWorld) -> None:
    """Its group and all topics stay; only the group's addresses change."""
    register(world, "10.0.0.1:1", 8, 1)
    register(world, "10.0.0.2:1", 8, 1, broker_id=1)
    world.publish()
    assert b"10.0.0.2:1" in body_of(world.slots, b"T0", False)
    world.ask(104, {"clusterName": "C1", "brokerName": "ba", "brokerAddr": "10.0.0.2:1", "brokerId": 1})
    world.publish()
    shown = body_of(world.slots, b"T0", False)
    assert b"10.0.0.1:1" in shown
    assert b"10.0.0.2:1" not in shown


def test_a_broker_that_left_and_comes_back_as_it_was_is_in_its_routes_again(world: PublishedWorld) -> None:
    register(world, "10.0.0.1:1", 8, 1)
    world.publish()
    before = body_of(world.slots, b"T0", False)
    world.ask(104, {"clusterName": "C1", "brokerName": "ba", "brokerAddr": "10.0.0.1:1", "brokerId": 0})
    world.publish()
    assert body_of(world.slots, b"T0", False) is None
    register(world, "10.0.0.1:1", 8, 1)
    world.publish()
    assert body_of(world.slots, b"T0", False) == before
