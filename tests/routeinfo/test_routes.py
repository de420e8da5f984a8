"""Reading: routes with acting masters and zones, lists of topics, and one object for equal broker names."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from rocketns.errors import AnswerTooLarge
from rocketns.protocol.body.route import queue_data
from rocketns.routeinfo import view
from rocketns.routeinfo.events import Event, TopicsDeleted, TopicsPut
from rocketns.routeinfo.tables import RouteTables
from tests.routeinfo.manager import (
    BROKER,
    CLUSTER,
    MASTER,
    NORMAL,
    READ_ONLY,
    SLAVE,
    SLAVE_ADDR,
    Broker,
    Manager,
    check_tables,
    table_of,
)

TWO = table_of("T1", "T2")
OTHER = MASTER.but(name="another", addr="127.0.0.1:1")


@pytest.fixture
def manager() -> Manager:
    return Manager()


def test_the_smallest_slave_is_shown_as_the_master_that_is_missing(manager: Manager) -> None:
    """B207."""
    manager.register(SLAVE, {})
    manager.register(SLAVE.but(id=2, addr="127.0.0.1:2"), {})
    manager.register_topic("T1", (BROKER, READ_ONLY))
    assert manager.addrs("T1") == {0: SLAVE_ADDR, 2: "127.0.0.1:2"}
    assert manager.tables.broker_addr_table[BROKER].broker_addrs == {1: SLAVE_ADDR, 2: "127.0.0.1:2"}


def test_every_group_is_judged_by_its_own_queue_data(manager: Manager) -> None:
    manager.register(SLAVE, {})
    manager.register(SLAVE.but(name="another"), {})
    manager.register_topic("T1", (BROKER, READ_ONLY), ("another", NORMAL))
    assert (manager.addrs("T1"), manager.addrs("T1", "another")) == ({0: SLAVE_ADDR}, {1: SLAVE_ADDR})


# What lists of topics look through: the topics that they may have, and no others.

OTHER_TOPIC_LISTS = MASTER.but(cluster="other", name="other-broker", addr="127.0.0.2:10911")
UNIT, SUB, BOTH, OTHERS = (queue_data(8, 8, 6, flag) for flag in (1, 2, 3, 4))
MOST = 100
UNIT_LISTS = [view.unit_topics, view.has_unit_sub_topics, view.has_unit_sub_ununit_topics]
UnitList = Callable[[RouteTables, int], list[str]]


class Unwalked(dict[str, dict]):
    """A table of topics of which single ones may be looked up."""

    def walk(self, *_: object) -> None:
        raise AssertionError("a walk through all topics")

    __iter__ = items = keys = values = walk  # type: ignore[assignment]


@pytest.fixture
def two_clusters() -> Manager:
    """Two clusters with a broker each. The other one has many topics."""
    two_clusters = Manager()
    two_clusters.register(MASTER, table_of("T1", "T2", U1=UNIT, U2=BOTH, U3=SUB, V=OTHERS))
    two_clusters.register(OTHER_TOPIC_LISTS, table_of("T2", *(f"X{number}" for number in range(50))))
    return two_clusters


def unwalked(two_clusters: Manager) -> RouteTables:
    two_clusters.tables.topic_queue_table = Unwalked(two_clusters.tables.topic_queue_table)
    return two_clusters.tables


def test_topics_of_a_cluster_without_a_walk_through_those_of_others(two_clusters: Manager) -> None:
    names = view.topics_by_cluster(unwalked(two_clusters), MASTER.cluster, MOST)
    assert sorted(names) == ["T1", "T2", "U1", "U2", "U3", "V"]


def test_brokers_with_the_same_topics_are_walked_as_one() -> None:
    """The table has fewer topics than the brokers together."""
    manager = Manager()
    for number in range(3):
        broker = MASTER.but(name=f"b{number}", addr=f"127.0.0.1:{number + 1}")
        manager.register(broker, table_of(*(f"T{topic}" for topic in range(10))))
    manager.register(OTHER_TOPIC_LISTS, table_of("X1", "X2"))
    assert set(view.topics_by_cluster(manager.tables, MASTER.cluster, MOST)) == {f"T{topic}" for topic in range(10)}
    assert len(view.topics_by_cluster(manager.tables, MASTER.cluster, 4)) == 5


def test_the_walk_through_a_cluster_ends_after_the_bound() -> None:
    manager = Manager()
    for number in range(5):
        broker = MASTER.but(name=f"b{number}", addr=f"127.0.0.1:{number + 1}")
        manager.register(broker, table_of(f"T{number}", f"U{number}"))
    assert len(view.topics_by_cluster(manager.tables, MASTER.cluster, 3)) == 4
    assert len(view.topics_by_cluster(manager.tables, MASTER.cluster, 10)) == 10


@pytest.mark.parametrize(("read", "listed"), list(zip(UNIT_LISTS, (["U1", "U2"], ["U2", "U3"], ["U3"]), strict=True)))
def test_unit_lists_walk_through_topics_with_a_flag(two_clusters: Manager, read: UnitList, listed: list[str]) -> None:
    assert sorted(read(unwalked(two_clusters), MOST)) == listed


@pytest.mark.parametrize("read", UNIT_LISTS)
def test_unit_lists_read_no_more_queues_than_the_bound(two_clusters: Manager, read: UnitList) -> None:
    """Also those whose topic is not in the list, and those without the flag: three topics, one of two brokers."""
    two_clusters.register(OTHER_TOPIC_LISTS.next_version(), table_of("U1"))
    assert read(two_clusters.tables, 4) == read(two_clusters.tables, MOST)
    with pytest.raises(AnswerTooLarge, match="more queues than UNIT_QUEUES_READ_MAX=3"):
        read(two_clusters.tables, 3)


def test_a_flag_ends_with_the_topic_the_broker_or_other_queues(two_clusters: Manager) -> None:
    two_clusters.register(MASTER.next_version(), table_of("U1", T1=UNIT))
    assert sorted(view.unit_topics(two_clusters.tables, MOST)) == ["T1", "U2"]
    two_clusters.delete_topic("U2")
    two_clusters.wipe_write_perm(MASTER.name)
    check_tables(two_clusters.tables, two_clusters.now_ms)
    assert view.unit_topics(two_clusters.tables, MOST) == ["T1"]
    two_clusters.unregister(MASTER)
    assert view.unit_topics(two_clusters.tables, 0) == []


# An equal name that is another object is compared with the tables' once for a request, not once for a topic.

TOPICS = [f"T{number}" for number in range(2_000)]
NARROW = queue_data(1, 1, 6, 0)


def copy_of(name: str) -> str:
    """An equal name that is another object."""
    return "".join([name[:1], name[1:]])


def changed(manager: Manager, broker: Broker) -> None:
    manager.register(broker.next_version(), table_of(**dict.fromkeys(TOPICS, NARROW)))


def unregistered(manager: Manager, broker: Broker) -> None:
    manager.unregister(broker)


def wiped(manager: Manager, broker: Broker) -> None:
    manager.wipe_write_perm(broker.name)


def without_master(manager: Manager, broker: Broker) -> None:
    slave = SLAVE.but(name=copy_of(broker.name))
    manager.register(slave, {})
    manager.unregister(broker)


def named_by_a_tool(manager: Manager, broker: Broker) -> None:
    manager.register_topic("T0", (broker.name, NARROW))


REQUESTS: dict[str, Callable[[Manager, Broker], None]] = {
    function.__name__: function for function in (changed, unregistered, wiped, without_master, named_by_a_tool)
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


def test_a_broker_that_is_named_twice_for_a_topic_is_one_change(manager: Manager) -> None:
    """The last queues count, as in Java."""
    manager.register(MASTER, table_of("T0", "T1"))
    (event,) = manager.register_topic("T0", (BROKER, NORMAL), (BROKER, queue_data(2, 2, 6, 0)), (BROKER, NARROW))
    assert isinstance(event, TopicsPut)
    assert [(change.topic, change.old, change.new) for change in event.changes] == [("T0", NORMAL, NARROW)]
