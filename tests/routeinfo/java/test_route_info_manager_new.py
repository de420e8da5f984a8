"""The cases of RocketMQ's RouteInfoManagerNewTest, under the same names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rocketns.protocol.body.route import DataVersion, queue_data
from rocketns.routeinfo.events import Cause
from tests.routeinfo.manager import (
    ADDR,
    BROKER,
    CLUSTER,
    MASTER,
    NORMAL,
    READ,
    SLAVE,
    SLAVE_ADDR,
    WRITE,
    Broker,
    Manager,
    table_of,
)

OTHER = Broker(cluster="AnotherCluster", name="AnotherBroker", addr=SLAVE_ADDR)


def test_get_all_cluster_info(manager: Manager) -> None:
    manager.register_normal(MASTER, "TestTopic")
    manager.register_normal(OTHER, "TestTopic1")
    assert manager.tables.cluster_addr_table == {CLUSTER: {BROKER}, "AnotherCluster": {"AnotherBroker"}}
    addrs = {name: group.broker_addrs for name, group in manager.tables.broker_addr_table.items()}
    assert addrs == {BROKER: {0: ADDR}, "AnotherBroker": {0: SLAVE_ADDR}}


def test_delete_topic(manager: Manager) -> None:
    manager.register_normal(MASTER, "TestTopic")
    manager.delete_topic("TestTopic")
    assert manager.pick_up("TestTopic") is None

    manager.register_normal(MASTER, "TestTopic")
    manager.register_normal(OTHER.but(addr=ADDR), "TestTopic")
    assert len(manager.route("TestTopic").broker_datas) == 2

    manager.delete_topic("TestTopic", CLUSTER)
    assert [group.broker_name for group in manager.route("TestTopic").broker_datas] == ["AnotherBroker"]


def test_get_all_topic_list(manager: Manager) -> None:
    assert manager.tables.topic_queue_table == {}
    manager.register_normal(MASTER, "TestTopic", "TestTopic1", "TestTopic2")
    assert manager.tables.topic_queue_table.keys() >= {"TestTopic", "TestTopic1", "TestTopic2"}


def test_register_broker(manager: Manager) -> None:
    """B109, B113."""
    of_master = manager.register_normal(MASTER, "TestTopic")
    assert (of_master.refused, of_master.ha_server_addr, of_master.master_addr) == (False, None, None)
    of_slave = manager.register_normal(SLAVE, "TestTopic")
    assert (of_slave.refused, of_slave.ha_server_addr, of_slave.master_addr) == (False, MASTER.ha_addr, ADDR)


def test_unregister_broker(manager: Manager) -> None:
    """B179."""
    manager.register_normal(MASTER, "TestTopic", "TestTopic1", "TestTopic2")
    manager.unregister(MASTER)
    assert [manager.pick_up(topic) for topic in ("TestTopic", "TestTopic1", "TestTopic2")] == [None] * 3


def test_register_slave_broker(manager: Manager) -> None:
    manager.register_normal(MASTER, "TestTopic")
    assert manager.addrs("TestTopic") == {0: ADDR}
    manager.register_normal(SLAVE, "TestTopic")
    assert manager.addrs("TestTopic") == {0: ADDR, 1: SLAVE_ADDR}


def test_create_new_topic(manager: Manager) -> None:
    manager.register_normal(MASTER, "TestTopic")
    manager.register_normal(SLAVE, "TestTopic")
    manager.register_normal(MASTER, "TestTopic", "TestTopic1")
    assert manager.addrs("TestTopic1") == {0: ADDR, 1: SLAVE_ADDR}


def switch_roles(manager: Manager, master_leaves: Callable[[Broker], object]) -> None:
    master, slave = MASTER.but(acting=False), SLAVE.but(acting=False)
    manager.register_normal(master, "TestTopic")
    manager.register_normal(slave, "TestTopic")

    master_leaves(master)
    assert manager.addrs("TestTopic") == {1: SLAVE_ADDR}

    manager.register_normal(slave.but(id=0).next_version(), "TestTopic")
    assert manager.addrs("TestTopic") == {0: SLAVE_ADDR}

    manager.register_normal(master.but(id=1).next_version(), "TestTopic")
    assert manager.addrs("TestTopic") == {0: SLAVE_ADDR, 1: ADDR}


def test_switch_broker_role(manager: Manager) -> None:
    """B154."""
    switch_roles(manager, manager.unregister)


def test_switch_broker_role_channel_destroy(manager: Manager) -> None:
    switch_roles(manager, lambda master: manager.close(master.channel))


def test_un_register_slave_broker(manager: Manager) -> None:
    for _ in range(2):
        manager.register_normal(MASTER, "TestTopic")
        manager.register_normal(SLAVE, "TestTopic")
        manager.unregister(SLAVE)
        assert manager.addrs("TestTopic") == {0: ADDR}


def test_un_register_master_broker(manager: Manager) -> None:
    """B185, B207: the slave is shown as a master that cannot be written to."""
    manager.register_normal(MASTER, "TestTopic")
    manager.register_normal(SLAVE, "TestTopic")
    manager.unregister(MASTER)
    assert manager.addrs("TestTopic") == {0: SLAVE_ADDR}
    assert manager.perm("TestTopic") == READ


def test_un_register_master_broker_old_version(manager: Manager) -> None:
    """B186."""
    manager.register_normal(MASTER.but(acting=False), "TestTopic")
    manager.register_normal(SLAVE.but(acting=False), "TestTopic")
    manager.unregister(MASTER)
    assert manager.addrs("TestTopic") == {1: SLAVE_ADDR}
    assert manager.perm("TestTopic") == READ | WRITE


def test_submit_multi_un_register_requests(manager: Manager) -> None:
    second = MASTER.but(name=BROKER + "1", addr=ADDR + "9")
    manager.register_normal(MASTER, "TestTopic1")
    manager.register_normal(second, "TestTopic2")
    manager.unregister(MASTER, second)
    assert manager.pick_up("TestTopic1") is manager.pick_up("TestTopic2") is None


@pytest.mark.parametrize(
    ("version", "changed"),
    [
        (MASTER.version, False),
        (DataVersion(0, 1_700_000_001_000, 1), True),
        (DataVersion(0, 1_700_000_000_000, 2), True),
        (DataVersion(1, 1_700_000_000_000, 1), True),
        (None, True),
    ],
)
def test_is_broker_topic_config_changed(manager: Manager, version: DataVersion | None, changed: bool) -> None:
    """B169: what a registration with another version says of a topic counts, with the same one it does not."""
    manager.register_normal(MASTER, "TestTopic")
    manager.register(MASTER.but(version=version), table_of(TestTopic=queue_data(1, 1, 1, 0), baseTopic=NORMAL))
    assert manager.perm("TestTopic") == (1 if changed else 6)


def test_is_topic_config_changed(manager: Manager) -> None:
    """B146: with the same version a topic that is missing is registered."""
    manager.register_normal(MASTER, "TestTopic")
    assert manager.pick_up("TestTopic1") is None
    manager.register_normal(MASTER, "TestTopic", "TestTopic1")
    assert manager.pick_up("TestTopic1") is not None


def test_query_broker_topic_config(manager: Manager) -> None:
    """B168."""
    manager.register_normal(MASTER, "TestTopic")
    entry = manager.live(MASTER)
    assert entry is not None
    assert entry.data_version == MASTER.version


def test_wipe_write_perm_of_broker_by_lock(manager: Manager) -> None:
    """B219."""
    manager.register_normal(MASTER, "TestTopic")
    assert manager.perm("TestTopic") == 6
    assert manager.wipe_write_perm(BROKER) == 2
    assert manager.perm("TestTopic") == 4


def test_pickup_topic_route_data(manager: Manager) -> None:
    manager.register_normal(MASTER, "TestTopic")
    route = manager.route("TestTopic")
    assert [(group.broker_name, group.broker_addrs) for group in route.broker_datas] == [(BROKER, {0: ADDR})]
    assert route.queue_datas == [(BROKER, NORMAL)]

    manager.register_normal(MASTER.but(name="AnotherBroker"), "TestTopic")
    route = manager.route("TestTopic")
    assert [group.broker_name for group in route.broker_datas] == ["AnotherBroker", BROKER]
    assert [name for name, _ in route.queue_datas] == ["AnotherBroker", BROKER]


def test_pickup_topic_route_data_with_slave(manager: Manager) -> None:
    """B153."""
    manager.register_normal(MASTER, "TestTopic")
    manager.register_normal(SLAVE, "TestTopic")
    assert (len(manager.addrs("TestTopic")), manager.perm("TestTopic") & WRITE) == (2, WRITE)
    manager.unregister(MASTER)
    assert (len(manager.addrs("TestTopic")), manager.perm("TestTopic") & WRITE) == (1, 0)
    manager.register_normal(MASTER, "TestTopic")
    assert (len(manager.addrs("TestTopic")), manager.perm("TestTopic") & WRITE) == (2, WRITE)


def test_scan_not_active_broker(manager: Manager) -> None:
    """B190: Java's case sleeps for thirty seconds and looks at nothing."""
    manager.register_normal(MASTER, "TestTopic")
    assert manager.scan() == []
    expiring = MASTER.but(timeout_ms=30_000)
    manager.register_normal(expiring, "TestTopic")
    manager.now_ms += 30_000
    assert manager.scan() == []
    manager.now_ms += 1
    assert manager.scan() == [expiring.channel]
    assert manager.pick_up("TestTopic") is None


def show_an_acting_master(manager: Manager, topic: str) -> None:
    manager.register_normal(SLAVE, topic)
    assert (manager.addrs(topic), manager.perm(topic)) == ({0: SLAVE_ADDR}, READ)
    manager.unregister(SLAVE)

    manager.register_normal(SLAVE, topic)
    manager.register_normal(MASTER, topic)
    manager.unregister(MASTER)
    assert (manager.addrs(topic), manager.perm(topic)) == ({0: SLAVE_ADDR}, READ)


def test_pickup_partition_order_topic_route_data(manager: Manager) -> None:
    """B151, B207: whether a topic is ordered is nothing that routes know of."""
    topic, another = "PartitionOrderTopicTest", BROKER + "_ANOTHER"
    show_an_acting_master(manager, topic)
    manager.unregister(SLAVE)

    for broker in (SLAVE, MASTER, MASTER.but(name=another), SLAVE.but(name=another)):
        manager.register_normal(broker, topic)
    assert (len(manager.route(topic).broker_datas), len(manager.route(topic).queue_datas)) == (2, 2)
    manager.unregister(MASTER)
    assert (len(manager.route(topic).broker_datas), len(manager.route(topic).queue_datas)) == (2, 2)
    assert manager.addrs(topic) == {0: SLAVE_ADDR}
    assert manager.addrs(topic, another) == {0: ADDR, 1: SLAVE_ADDR}


def test_pickup_global_order_topic_route_data(manager: Manager) -> None:
    show_an_acting_master(manager, "GlobalOrderTopicTest")


def test_register_only_slave_broker(manager: Manager) -> None:
    """B151, B153."""
    manager.register_normal(SLAVE, "TestTopic")
    assert manager.perm("TestTopic") == READ
    manager.unregister(SLAVE)

    manager.register_normal(MASTER, "TestTopic")
    manager.register_normal(SLAVE, "TestTopic")
    assert manager.perm("TestTopic") == READ | WRITE
    manager.unregister(MASTER)
    assert manager.perm("TestTopic") == READ
    manager.register_normal(MASTER, "TestTopic")
    assert manager.perm("TestTopic") == READ | WRITE


def test_on_channel_destroy(manager: Manager) -> None:
    """B187."""
    manager.register_normal(MASTER, "TestTopic", "TestTopic1")
    manager.close(MASTER.channel)
    assert manager.pick_up("TestTopic") is manager.pick_up("TestTopic1") is None

    master, slave = MASTER.but(acting=False, channel=object()), SLAVE.but(acting=False)
    manager.register_normal(master, "TestTopic")
    manager.register_normal(slave, "TestTopic")
    assert manager.addrs("TestTopic") == {0: ADDR, 1: SLAVE_ADDR}
    manager.close(master.channel)
    assert manager.addrs("TestTopic") == {1: SLAVE_ADDR}
    manager.close(slave.channel)
    assert manager.pick_up("TestTopic") is None


def test_on_channel_destroy_by_broker_info(manager: Manager) -> None:
    """Java's second onChannelDestroy is what the scan calls."""
    manager.register_normal(MASTER.but(timeout_ms=0), "TestTopic", "TestTopic1")
    manager.now_ms += 1
    manager.scan()
    assert manager.pick_up("TestTopic") is manager.pick_up("TestTopic1") is None
    assert [event.cause for event in manager.events if hasattr(event, "cause")][-1] is Cause.EXPIRED


def test_keep_topic_with_broker_registration(manager: Manager) -> None:
    manager.register_normal(MASTER, "TestTopic", "TestTopic1")
    manager.register_normal(MASTER, "TestTopic1")
    assert manager.pick_up("TestTopic") is not None
    assert manager.pick_up("TestTopic1") is not None


def test_delete_topic_with_broker_registration(manager: Manager) -> None:
    """B159."""
    manager.config.delete_topic_with_broker_registration = True
    manager.register_normal(MASTER, "TestTopic", "TestTopic1")
    assert manager.pick_up("TestTopic") is not None
    manager.register_normal(MASTER, "TestTopic1")
    assert manager.pick_up("TestTopic") is None
    assert manager.pick_up("TestTopic1") is not None


def test_delete_topic_with_broker_registration_2(manager: Manager) -> None:
    manager.config.delete_topic_with_broker_registration = True
    second = MASTER.but(name=BROKER + "1", addr=ADDR + "9")

    def holders(topic: str) -> list[str]:
        route = manager.pick_up(topic)
        return [] if route is None else [group.broker_name for group in route.broker_datas]

    for broker in (MASTER, second):
        manager.register_normal(broker, "TestTopic", "TestTopic1")
    assert (holders("TestTopic"), holders("TestTopic1")) == ([BROKER, second.name], [BROKER, second.name])
    manager.register_normal(MASTER, "TestTopic1")
    assert (holders("TestTopic"), holders("TestTopic1")) == ([second.name], [BROKER, second.name])
    manager.register_normal(second, "TestTopic1")
    assert (holders("TestTopic"), holders("TestTopic1")) == ([], [BROKER, second.name])


def test_register_single_topic_with_broker_registration(manager: Manager) -> None:
    """B225, B226."""
    manager.config.delete_topic_with_broker_registration = True
    manager.register_topic("TestTopic", (BROKER, NORMAL))
    assert manager.pick_up("TestTopic") is None

    manager.register_normal(MASTER, "TestTopic")
    manager.register_topic("TestTopic1", (BROKER, NORMAL))
    assert {"TestTopic", "TestTopic1"} <= manager.tables.topic_queue_table.keys()

    manager.register_normal(MASTER, "TestTopic", "TestTopic1")
    assert {"TestTopic", "TestTopic1"} <= manager.tables.topic_queue_table.keys()

    manager.register_normal(MASTER, "TestTopic")
    assert manager.pick_up("TestTopic") is not None
    assert manager.pick_up("TestTopic1") is None

    manager.register_topic("TestTopic1", (BROKER, NORMAL))
    manager.unregister(MASTER)
    assert manager.pick_up("TestTopic") is manager.pick_up("TestTopic1") is None
