"""An equal name that is another object is compared with the tables' once for a request, not once for a topic."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from rocketns.protocol.body.route import queue_data
from rocketns.routeinfo.events import Event, TopicsDeleted, TopicsPut
from tests.routeinfo.manager import BROKER, CLUSTER, MASTER, NORMAL, SLAVE, Broker, Manager, table_of

TOPICS = [f"T{number}" for number in range(2_000)]
NARROW = queue_data(1, 1, 6, 0)
# One comparison of such names takes 0.3 ms, so that one for each topic takes more than half a second.
LONG = "b" * (4 << 20)
CPU_S = 0.3


def copy_of(name: str) -> str:
    """An equal name that is another object."""
    return "".join([name[:1], name[1:]])


def changed(manager: Manager, broker: Broker) -> None:
    manager.register(broker.next_version(), table_of(**dict.fromkeys(TOPICS, NARROW)))


def unregistered(manager: Manager, broker: Broker) -> None:
    manager.unregister(broker)


def deleted_by_registration(manager: Manager, broker: Broker) -> None:
    manager.config.delete_topic_with_broker_registration = True
    manager.register(broker, table_of("T0", "T1"))


def wiped(manager: Manager, broker: Broker) -> None:
    manager.wipe_write_perm(broker.name)


def written(manager: Manager, broker: Broker) -> None:
    manager.wipe_write_perm(BROKER if broker.name == BROKER else LONG)
    manager.add_write_perm(broker.name)


def without_master(manager: Manager, broker: Broker) -> None:
    slave = SLAVE.but(name=copy_of(broker.name))
    manager.register(slave, {})
    manager.unregister(broker)


def named_by_a_tool(manager: Manager, broker: Broker) -> None:
    manager.register_topic("T0", (broker.name, NARROW))


REQUESTS: dict[str, Callable[[Manager, Broker], None]] = {
    function.__name__: function
    for function in (changed, unregistered, deleted_by_registration, wiped, written, without_master, named_by_a_tool)
}


def broker_names(events: list[Event]) -> Iterator[str]:
    return (event.broker_name for event in events if isinstance(event, TopicsPut | TopicsDeleted))


@pytest.mark.parametrize("request_of", REQUESTS.values(), ids=REQUESTS)
def test_events_and_tables_have_one_object(manager: Manager, request_of: Callable[[Manager, Broker], None]) -> None:
    """Also what is published and recorded is looked up by it."""
    manager.register(MASTER, table_of(*TOPICS))
    (known,) = manager.tables.topic_queue_table["T0"]
    manager.events.clear()
    request_of(manager, MASTER.but(name=copy_of(BROKER)))
    names = list(broker_names(manager.events))
    assert names
    assert {id(name) for name in names} == {id(known)}
    assert {id(name) for queues in manager.tables.topic_queue_table.values() for name in queues} <= {id(known)}
    assert {id(name) for name in manager.tables.cluster_addr_table.get(CLUSTER, ())} <= {id(known)}


@pytest.mark.parametrize("request_of", REQUESTS.values(), ids=REQUESTS)
def test_a_long_name_costs_its_length_once(manager: Manager, request_of: Callable[[Manager, Broker], None]) -> None:
    manager.register(MASTER.but(name=LONG), table_of(*TOPICS))
    broker = MASTER.but(name=copy_of(LONG))
    before = time.process_time()
    request_of(manager, broker)
    assert time.process_time() - before < CPU_S


def test_a_broker_that_is_named_twice_for_a_topic_is_one_change(manager: Manager) -> None:
    """The last queues count, as in Java."""
    manager.register(MASTER, table_of("T0", "T1"))
    (event,) = manager.register_topic("T0", (BROKER, NORMAL), (BROKER, queue_data(2, 2, 6, 0)), (BROKER, NARROW))
    assert isinstance(event, TopicsPut)
    assert [(change.topic, change.old, change.new) for change in event.changes] == [("T0", NORMAL, NARROW)]
