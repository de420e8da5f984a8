"""Reading routes: pickupTopicRouteData with acting masters, and the filter by zone."""

from __future__ import annotations

import copy

import pytest

from rocketns.protocol.body.route import BrokerData, TopicRouteData, queue_data
from rocketns.routeinfo import view
from rocketns.routeinfo.tables import BrokerAddrInfo
from tests.routeinfo.manager import (
    ADDR,
    BROKER,
    CLUSTER,
    MASTER,
    NORMAL,
    READ_ONLY,
    SLAVE,
    SLAVE_ADDR,
    Broker,
    Manager,
    table_of,
)

TWO = table_of("T1", "T2")
SYNC_TOPIC = "rmq_sys_SYNC_BROKER_MEMBER_" + BROKER
OTHER = MASTER.but(name="another", addr="127.0.0.1:1")


def test_a_route_is_sorted_and_a_copy(manager: Manager) -> None:
    """Changes to the returned route do not change the tables."""
    manager.register(MASTER.but(channel=None), TWO, filters=["f:1"])
    manager.register(OTHER.but(channel=None), TWO)
    before = copy.deepcopy(manager.tables)
    route = manager.route("T1")
    assert [name for name, _ in route.queue_datas] == [group.broker_name for group in route.broker_datas]
    assert [name for name, _ in route.queue_datas] == [BROKER, "another"]
    view.filter_by_zone(route, "z")
    for group in route.broker_datas:
        group.broker_addrs.clear()
    assert manager.tables == before


def test_queue_data_without_a_group_is_listed_and_alone_is_no_route(manager: Manager) -> None:
    manager.tables.put_topics("ghost", {"T": NORMAL})
    assert manager.pick_up("T") is None
    manager.register(MASTER, TWO)
    manager.tables.put_topics(BROKER, {"T": NORMAL})
    route = manager.route("T")
    assert [name for name, _ in route.queue_datas] == [BROKER, "ghost"]
    assert [group.broker_name for group in route.broker_datas] == [BROKER]


def test_filter_servers_are_those_of_the_route_s_addresses(manager: Manager) -> None:
    """B202: an address without filter servers is in the table with an empty value."""
    manager.register(MASTER, TWO)
    manager.register(SLAVE, TWO)
    assert manager.route("T1").filter_server_table == {}
    manager.register(SLAVE, TWO, filters=["f:1"])
    manager.tables.filter_server_table[BrokerAddrInfo("C2", ADDR)] = ["f:2"]
    assert manager.route("T1").filter_server_table == {ADDR: None, SLAVE_ADDR: ["f:1"]}


def acting_group(manager: Manager, topic: str = "T1", perm: int = 4) -> None:
    """Two slaves without their master; one topic with the given permission."""
    manager.register(SLAVE, {})
    manager.register(SLAVE.but(id=2, addr="127.0.0.1:2"), {})
    manager.register_topic(topic, (BROKER, queue_data(8, 8, perm, 0)))


def test_brokers_see_each_other_with_their_real_ids(manager: Manager) -> None:
    """B210: brokers look up the topic of their group."""
    acting_group(manager, SYNC_TOPIC)
    assert manager.addrs(SYNC_TOPIC) == {1: SLAVE_ADDR, 2: "127.0.0.1:2"}


@pytest.mark.parametrize(
    "broker",
    [SLAVE.but(acting=False), SLAVE.but(acting=None), MASTER],
    ids=["not acting", "old version", "has a master"],
)
def test_other_groups_are_shown_as_they_are(manager: Manager, broker: Broker) -> None:
    manager.register(broker, {})
    manager.register_topic("T1", (BROKER, READ_ONLY))
    assert manager.addrs("T1") == {broker.id: broker.addr}


def test_the_smallest_slave_is_shown_as_the_master_that_is_missing(manager: Manager) -> None:
    """B207."""
    acting_group(manager)
    assert manager.addrs("T1") == {0: SLAVE_ADDR, 2: "127.0.0.1:2"}
    assert manager.tables.broker_addr_table[BROKER].broker_addrs == {1: SLAVE_ADDR, 2: "127.0.0.1:2"}


def test_every_group_is_judged_by_its_own_queue_data(manager: Manager) -> None:
    manager.register(SLAVE, {})
    manager.register(SLAVE.but(name="another"), {})
    manager.register_topic("T1", (BROKER, READ_ONLY), ("another", NORMAL))
    assert (manager.addrs("T1"), manager.addrs("T1", "another")) == ({0: SLAVE_ADDR}, {1: SLAVE_ADDR})


def zoned_route() -> TopicRouteData:
    """Masters in two zones and one without, a group of slaves, an empty group, and queue data without a group."""
    names = ["z1", "z2", "none", "slaves", "empty", "ghost"]
    groups = [
        BrokerData(CLUSTER, "z1", {0: "a:1"}, "z1"),
        BrokerData(CLUSTER, "z2", {0: "a:2", 1: "a:3"}, "z2"),
        BrokerData(CLUSTER, "none", {0: "a:4"}),
        BrokerData(CLUSTER, "slaves", {1: "a:5"}, "z2"),
        BrokerData(CLUSTER, "empty", {}, "z2"),
    ]
    return TopicRouteData([(name, NORMAL) for name in names], groups, {f"a:{i}": None for i in range(1, 6)})


@pytest.mark.parametrize("zone", ["z1", "Z1"])
def test_other_zones_leave_the_route(zone: str) -> None:
    """B211, B213: with their queue data and filter servers. A group without a master is kept."""
    route = zoned_route()
    view.filter_by_zone(route, zone)
    assert [group.broker_name for group in route.broker_datas] == ["z1", "slaves", "empty"]
    assert [name for name, _ in route.queue_datas] == ["z1", "slaves", "empty", "ghost"]
    assert route.filter_server_table.keys() == {"a:1", "a:5"}


def test_system_topics_name_an_address_that_can_be_asked(manager: Manager) -> None:
    """B232."""
    assert view.system_topics(manager.tables) == (set(), None)
    manager.register(SLAVE, TWO)
    manager.register(MASTER, TWO)
    assert view.system_topics(manager.tables) == ({CLUSTER, BROKER}, ADDR)
