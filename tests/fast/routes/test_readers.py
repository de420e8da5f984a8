"""Routes do not change while a reactor reads them: control holds the mutex of every reader."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from interop.harness.wire import eventually
from rocketns._fast.routes.routes import RouteSlots
from rocketns.protocol.body import bodies
from rocketns.protocol.body.route import BrokerData, queue_data
from tests.compiled.watcher import Watcher
from tests.fast.clients import CLIENTS, look_up

BROKERS = 8
STEPS = 200  # of control while a reader reads
TOPIC = "wide"

Change = Callable[[RouteSlots, int], None]


def put_broker(slots: RouteSlots, name: str, host: int = 1) -> None:
    data = bodies.broker_data(BrokerData("C1", name, {0: f"10.0.0.{host}:10911"}), standard=False)
    slots.put_broker(name, data, data, False)


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
    put_broker(slots, "b3", n % 2 + 1)


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


def topics_come(slots: RouteSlots, n: int) -> None:
    put_topic(slots, "b3", f"topic {n}")


def brokers_come_and_go(slots: RouteSlots, n: int) -> None:
    """Before all others in the order of names."""
    if n % 50 < 25:
        put_broker(slots, f"a{100 - n % 50}")
    else:
        slots.remove_broker(f"a{100 - (n % 50 - 25)}")


def queues_of_another_kind_come(slots: RouteSlots, n: int) -> None:
    put_topic(slots, "b3", "other", queues=n + 1)


CHANGES_OF = (
    queues_change, addresses_change, broker_goes_and_comes, topic_leaves_a_broker_and_comes_back, topic_goes_and_comes,
    topics_come, brokers_come_and_go, queues_of_another_kind_come,
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
