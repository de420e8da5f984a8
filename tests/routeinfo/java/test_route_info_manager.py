"""The cases of RocketMQ's RouteInfoManagerTest, under the same names, with stricter checks."""

from __future__ import annotations

import pytest

from rocketns.protocol.body import bodies
from rocketns.protocol.body.route import DataVersion, queue_data
from rocketns.routeinfo import view
from tests.routeinfo.manager import NORMAL, READ, READ_ONLY, WRITE, Broker, Manager, table_of

VERSION = DataVersion(0, 100, 10)
MOST = 12
BROKER = Broker("default-cluster", "default-broker", "127.0.0.1:10911", 1234, "127.0.0.1:1001", False, VERSION, "")


@pytest.fixture
def manager() -> Manager:
    manager = Manager()
    assert not manager.register(BROKER, table_of("unit-test0", "unit-test1"), filters=[]).refused
    return manager


def test_get_all_cluster_info(manager: Manager) -> None:
    """B216."""
    assert bodies.cluster_info(manager.tables.broker_addr_table, manager.tables.cluster_addr_table, 1_000) == (
        b'{"brokerAddrTable":{"default-broker":{"brokerAddrs":{1234:"127.0.0.1:10911"},"brokerName":"default-broker",'
        b'"cluster":"default-cluster","enableActingMaster":false,"zoneName":""}},'
        b'"clusterAddrTable":{"default-cluster":["default-broker"]}}'
    )


def test_query_broker_topic_config(manager: Manager) -> None:
    """One address in two clusters is two brokers."""
    other = BROKER.but(cluster="default-cluster-1", name="default-broker-1", version=DataVersion(0, 200, 20))
    manager.register(other, table_of("unit-test-0", "unit-test-1"))

    def versions() -> list[DataVersion | None]:
        entries = [manager.live(broker) for broker in (BROKER, other)]
        return [None if entry is None else entry.data_version for entry in entries]

    assert versions() == [VERSION, DataVersion(0, 200, 20)]
    manager.unregister(other)
    assert versions() == [VERSION, None]


def test_get_all_topic_list(manager: Manager) -> None:
    assert bodies.topic_list(manager.tables.topic_queue_table, 1_000) == b'{"topicList":["unit-test0","unit-test1"]}'


def test_register_broker(manager: Manager) -> None:
    """B150: the smallest slave of a group without master registers topics with full permission."""
    assert manager.tables.topic_queue_table == {
        "unit-test0": {"default-broker": NORMAL},
        "unit-test1": {"default-broker": NORMAL},
    }


def test_wipe_write_perm_of_broker_by_lock(manager: Manager) -> None:
    manager.tables.put_topics("broker-a", {"topic-a": NORMAL})
    assert manager.wipe_write_perm("broker-a") == 1
    assert manager.tables.topic_queue_table["topic-a"]["broker-a"].perm == READ


def test_pickup_topic_route_data(manager: Manager) -> None:
    """B197."""
    assert manager.pick_up("unit_test") is manager.pick_up(None) is manager.pick_up("") is None


def test_get_system_topic_list(manager: Manager) -> None:
    """B232."""
    assert view.system_topics(manager.tables) == ({"default-cluster", "default-broker"}, "127.0.0.1:10911")


def test_get_topics_by_cluster(manager: Manager) -> None:
    """B230."""
    assert set(view.topics_by_cluster(manager.tables, "default-cluster", MOST)) == {"unit-test0", "unit-test1"}
    for cluster in ("other", None):
        assert not view.topics_by_cluster(manager.tables, cluster, MOST)


def topics_by_flag(manager: Manager) -> None:
    """One topic for every flag; of several brokers the first by name decides."""
    others = {f"T{flag}": queue_data(1, 1, 6, 7) for flag in range(4)}
    manager.tables.put_topics("b", others)
    manager.tables.put_topics("a", {f"T{flag}": queue_data(1, 1, 6, flag) for flag in range(4)})
    manager.tables.put_topics("c", others)


def test_get_unit_topics(manager: Manager) -> None:
    """B233."""
    topics_by_flag(manager)
    assert sorted(view.unit_topics(manager.tables, MOST)) == ["T1", "T3"]


def test_get_has_unit_sub_topic_list(manager: Manager) -> None:
    """B233."""
    topics_by_flag(manager)
    assert sorted(view.has_unit_sub_topics(manager.tables, MOST)) == ["T2", "T3"]


def test_get_has_unit_sub_un_unit_topic_list(manager: Manager) -> None:
    """B233."""
    topics_by_flag(manager)
    assert view.has_unit_sub_ununit_topics(manager.tables, MOST) == ["T2"]


def test_add_write_perm_of_broker_by_lock(manager: Manager) -> None:
    """B220."""
    manager.tables.put_topics("broker-a", {"topic-a": READ_ONLY})
    assert manager.add_write_perm("broker-a") == 1
    assert manager.tables.topic_queue_table["topic-a"]["broker-a"].perm == READ | WRITE
