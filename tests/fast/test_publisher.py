"""While control publishes a change, reactors see each route before or after it, or let control answer."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from interop.harness.payloads import data_version, register_body, register_ext, topic_config
from interop.harness.wire import eventually
from rocketns._fast.access.networks import Networks
from rocketns._fast.routes.routes import RouteSlots
from rocketns.protocol.body import bodies
from rocketns.protocol.body.route import BrokerData, queue_data
from tests.compiled.parts import HANDED_OVER, body_of
from tests.compiled.watcher import Watcher
from tests.fast.lookups import CLIENTS, PublishedWorld, look_up

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


# Routes do not change while a reactor reads them: control holds the mutex of every reader.

BROKERS = 8
STEPS = 200  # of control while a reader reads
TOPIC = "wide"

Change = Callable[[RouteSlots, int], None]


def put_broker(slots: RouteSlots, name: str, *hosts: str) -> None:
    """With an address for everybody, and one for each view."""
    groups = [BrokerData("C1", name, {0: f"{host}:10911"}) for host in hosts or ["10.0.0.1"]]
    slots.put_broker(name, tuple((bodies.broker_data(group, standard=False), b"") for group in groups))


def put_topic(slots: RouteSlots, name: str, topic: str = TOPIC, queues: int = 8) -> None:
    slots.put_topics(name, [(topic, None, queue_data(queues, queues, 6, 0))])


def filled() -> RouteSlots:
    slots = RouteSlots(bodies.queue_data)
    for number in range(BROKERS):
        put_broker(slots, f"b{number}")
        put_topic(slots, f"b{number}")
    return slots


def queues_change(slots: RouteSlots, n: int) -> None:
    put_topic(slots, "b3", queues=n % 2 + 1)


def addresses_change(slots: RouteSlots, n: int) -> None:
    put_broker(slots, "b3", f"10.0.0.{n % 2 + 1}")


def broker_goes_and_comes(slots: RouteSlots, n: int) -> None:
    if n % 2:
        put_broker(slots, "b3")
    else:
        slots.remove_broker("b3")


def topic_leaves_a_broker_and_comes_back(slots: RouteSlots, n: int) -> None:
    if n % 2:
        put_topic(slots, "b3")
    else:
        slots.delete_topics("b3", [TOPIC])


def topic_goes_and_comes(slots: RouteSlots, n: int) -> None:
    if n % 2:
        slots.delete_topics("b3", ["other"])
    else:
        put_topic(slots, "b3", "other")


def views_change(slots: RouteSlots, n: int) -> None:
    """The watcher is in the first view, where there is one."""
    slots.use_views(Networks([]), [0], n % 3)
    for number in range(BROKERS):
        put_broker(slots, f"b{number}", "10.0.0.1", *(f"203.0.113.{n % 200}" for _ in range(n % 3)))


CHANGES_OF = (
    views_change, queues_change, addresses_change, broker_goes_and_comes, topic_leaves_a_broker_and_comes_back,
    topic_goes_and_comes,
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES_OF, ids=lambda change: change.__name__)
def test_nothing_changes_while_a_reader_reads(change: Change) -> None:
    slots = filled()
    watcher = Watcher(slots)
    with ThreadPoolExecutor(1) as thread:
        seen = thread.submit(watcher.watch, look_up(CLIENTS[0], TOPIC))
        eventually(lambda: watcher.is_watching, every_s=0.001)
        try:
            for n in itertools.count():
                if seen.done() or watcher.steps_taken >= STEPS:
                    break
                change(slots, n)
        finally:
            watcher.stop()
        assert not seen.result()
