"""Registrations: which tables change, and which events say so. Numbers are Java's steps."""

from __future__ import annotations

import pytest

from rocketns.protocol.body.route import DataVersion, TopicConfig
from rocketns.routeinfo.events import (
    BrokerConflict,
    BrokerDown,
    BrokerIdsLeft,
    BrokerRefused,
    Cause,
    GroupChanged,
    TopicsDeleted,
)
from tests.routeinfo.manager import (
    ADDR,
    BROKER,
    CLUSTER,
    MASTER,
    NORMAL,
    READ_ONLY,
    SLAVE,
    SLAVE_ADDR,
    VERSION,
    Broker,
    Manager,
    table_of,
)

TWO = table_of("T1", "T2")
OTHER_ADDR = "127.0.0.1:50911"


@pytest.fixture
def manager() -> Manager:
    return Manager()


def holder_of(manager: Manager, state: int | None) -> Broker:
    holder = MASTER.but(version=None if state is None else DataVersion(state, 1, 1))
    manager.register(holder, TWO)
    return holder


def test_6_a_newcomer_with_a_lower_state_version_loses(manager: Manager) -> None:
    """B155: the holder stays, and the newcomer is not live any more."""
    newcomer = MASTER.but(addr=OTHER_ADDR, version=DataVersion(4, 1, 1))
    manager.register(newcomer.but(id=7), TWO)
    holder = holder_of(manager, 5)
    manager.now_ms += 10
    result = manager.register(newcomer, table_of("T3", "T4"))
    assert (result.refused, result.master_addr, result.ha_server_addr) == (False, None, None)
    assert manager.tables.broker_addr_table[BROKER].broker_addrs == {0: ADDR}
    assert (manager.live(newcomer), manager.live(holder) is None) == (None, False)
    assert "T3" not in manager.tables.topic_queue_table
    assert result.events == [
        BrokerIdsLeft(BROKER, OTHER_ADDR, [7]),
        BrokerConflict(CLUSTER, BROKER, 0, ADDR, OTHER_ADDR),
        BrokerDown(CLUSTER, BROKER, OTHER_ADDR, 0, True, 10, Cause.CONFLICT),
    ]


@pytest.mark.parametrize(("holder", "newcomer"), [(None, VERSION), (5, None)])
def test_6_without_a_version_nothing_can_be_compared(
    manager: Manager, holder: int | None, newcomer: DataVersion | None
) -> None:
    """Java stops with a NullPointerException at this point, and answers a success."""
    holder_of(manager, holder)
    before = dict(manager.tables.broker_live_table)
    result = manager.register(MASTER.but(addr=OTHER_ADDR, version=newcomer), TWO)
    assert (result.refused, result.events) == (False, [])
    assert manager.tables.broker_addr_table[BROKER].broker_addrs == {0: ADDR}
    assert manager.tables.broker_live_table == before


def test_7_a_refused_broker_of_another_cluster_is_not_listed(manager: Manager) -> None:
    manager.register(MASTER, TWO)
    result = manager.register(SLAVE.but(cluster="C2", zone="z"), table_of("T1"))
    assert result.events == [BrokerRefused(BROKER, 1, SLAVE_ADDR), GroupChanged(BROKER)]
    assert manager.tables.cluster_addr_table == {CLUSTER: {BROKER}}


def test_7_a_refused_broker_that_is_alone_keeps_its_id(manager: Manager) -> None:
    """In Java it gives up its id, and the group stays without an address."""
    manager.register(SLAVE, TWO)
    assert manager.register(SLAVE.but(id=0), table_of("T1")).refused
    assert manager.tables.broker_addr_table[BROKER].broker_addrs == {1: SLAVE_ADDR}


def test_10a_topics_that_are_missing_are_deleted_where_configured(manager: Manager) -> None:
    """B159: by the keys of the table, even with the same version, and before others are written."""
    manager.config.delete_topic_with_broker_registration = True
    other = MASTER.but(name="other", addr="127.0.0.1:1")
    for broker in (MASTER, other):
        manager.register(broker, table_of("T1", "T2", "T3"))
    result = manager.register(MASTER, {"T1": TopicConfig("T4", NORMAL), "T2": TopicConfig("T2", NORMAL)})
    assert manager.tables.topic_queue_table == {
        "T1": {BROKER: NORMAL, "other": NORMAL},
        "T2": {BROKER: NORMAL, "other": NORMAL},
        "T3": {"other": NORMAL},
        "T4": {BROKER: NORMAL},
    }
    assert result.events[0] == TopicsDeleted(BROKER, ["T3"], Cause.REGISTER)


def test_11_with_the_same_version_only_what_is_missing_is_written(manager: Manager) -> None:
    """B146, B147."""
    manager.register(MASTER, TWO)
    manager.delete_topic("T1")
    manager.wipe_write_perm(BROKER)
    manager.register(MASTER, TWO)
    assert manager.tables.topic_queue_table == {"T1": {BROKER: NORMAL}, "T2": {BROKER: READ_ONLY}}


def test_11_a_heartbeat_without_a_version_writes_all_at_the_next_one(manager: Manager) -> None:
    """B140: a missing version equals no other, not even another missing one."""
    manager.register(MASTER.but(version=None), TWO)
    manager.register(MASTER.but(version=None), table_of(T1=READ_ONLY, T2=READ_ONLY))
    assert manager.tables.topic_queue_table["T1"] == {BROKER: READ_ONLY}


def test_16_a_slave_learns_the_master_of_its_own_cluster(manager: Manager) -> None:
    manager.register(MASTER, TWO)
    assert manager.register(SLAVE, TWO).master_addr == ADDR
    assert manager.register(SLAVE.but(cluster="C2"), TWO).master_addr is None
