"""Registrations, topics and permissions: which tables change, and which events say so. Numbers are Java's steps."""

from __future__ import annotations

import pytest

from rocketns.protocol.body.route import DataVersion, TopicConfig, TopicQueueMappingInfo, queue_data
from rocketns.routeinfo.events import (
    BrokerConflict,
    BrokerDown,
    BrokerIdsLeft,
    BrokerRefused,
    Cause,
    GroupChanged,
    TopicChange,
    TopicsDeleted,
    TopicsPut,
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


ROLES = [
    (0, None, True), (0, False, True), (0, True, True),
    (1, None, False), (1, False, True), (1, True, True),
    (-1, None, False), (-1, False, True), (-1, True, True),
]  # fmt: skip


@pytest.mark.parametrize(("broker_id", "acting", "registers"), ROLES)
def test_10_a_broker_alone_in_its_group_registers_topics(
    manager: Manager, broker_id: int, acting: bool | None, registers: bool
) -> None:
    """B149, B150, B151: a slave only if it knows acting masters, and then without the write bit."""
    manager.register(MASTER.but(id=broker_id, acting=acting), TWO)
    perm = 4 if acting and broker_id else 6
    expected = {name: {BROKER: queue_data(8, 8, perm, 0)} for name in TWO} if registers else {}
    assert manager.tables.topic_queue_table == expected
    assert manager.live(MASTER) is not None


def test_16_a_slave_is_told_its_live_master(manager: Manager) -> None:
    """B113, B114, B115: of its own cluster, and the HA address if that is known."""
    assert manager.register(SLAVE, TWO).master_addr is None
    manager.register(MASTER, TWO)
    assert manager.register(MASTER, TWO).master_addr is None
    told = manager.register(SLAVE, TWO)
    assert (told.master_addr, told.ha_server_addr) == (ADDR, MASTER.ha_addr)
    assert manager.register(SLAVE.but(cluster="C2"), TWO).master_addr is None
    manager.register(MASTER.but(ha_addr=None), TWO)
    told = manager.register(SLAVE, TWO)
    assert (told.master_addr, told.ha_server_addr) == (ADDR, None)


# Topics of a registration: which are written, with which permission, and which changes are in the events.

NARROW = queue_data(1, 1, 6, 0)


def changes(manager: Manager) -> list[tuple[str, str, object, object]]:
    """Broker, topic, old and new of every change so far; the list is emptied."""
    puts = [event for event in manager.events if isinstance(event, TopicsPut)]
    manager.events.clear()
    return [(put.broker_name, change.topic, change.old, change.new) for put in puts for change in put.changes]


def test_11_with_the_same_version_only_what_is_missing_is_written(manager: Manager) -> None:
    """B146, B147."""
    manager.register(MASTER, TWO)
    manager.delete_topic("T1")
    manager.wipe_write_perm(BROKER)
    changes(manager)
    manager.register(MASTER, table_of(T1=NARROW, T2=NARROW))
    assert manager.tables.topic_queue_table == {"T1": {BROKER: NARROW}, "T2": {BROKER: READ_ONLY}}
    assert changes(manager) == [(BROKER, "T1", None, NARROW)]


def test_11_a_heartbeat_without_a_version_writes_all_at_the_next_one(manager: Manager) -> None:
    """B140: a missing version equals no other, not even another missing one."""
    manager.register(MASTER.but(version=None), TWO)
    manager.register(MASTER.but(version=None), table_of(T1=NARROW, T2=NARROW))
    assert manager.tables.topic_queue_table["T1"] == {BROKER: NARROW}


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


MAPPING = TopicQueueMappingInfo("T1", BROKER, {0: 0}, epoch=1)


# Topics and permissions that tools and brokers change one by one.

OTHER = MASTER.but(name="other", addr="127.0.0.1:1", cluster="C2")


@pytest.fixture
def known_brokers() -> Manager:
    known_brokers = Manager()
    known_brokers.register(MASTER, table_of("T1", "T2"))
    known_brokers.register(OTHER, table_of("T2", "T3"))
    return known_brokers


def test_a_new_topic_with_an_unknown_broker_is_not_registered(known_brokers: Manager) -> None:
    """B226."""
    assert known_brokers.register_topic("T9", (BROKER, NORMAL), ("nobody", NORMAL)) == []
    assert "T9" not in known_brokers.tables.topic_queue_table


@pytest.mark.parametrize("unknown", ["nobody", None])
def test_a_known_topic_takes_what_comes_before_the_unknown_broker(known_brokers: Manager, unknown: str | None) -> None:
    """B227."""
    events = known_brokers.register_topic("T1", ("other", NARROW), (unknown, NORMAL), (BROKER, NARROW))
    assert known_brokers.tables.topic_queue_table["T1"] == {BROKER: NORMAL, "other": NARROW}
    assert events == [TopicsPut("other", [TopicChange("T1", None, NARROW)], Cause.TOPIC)]


def test_a_topic_is_deleted_from_one_cluster(known_brokers: Manager) -> None:
    """B223: it goes with its last broker."""
    assert known_brokers.delete_topic("T2", CLUSTER) == [TopicsDeleted(BROKER, ["T2"], Cause.ADMIN)]
    assert known_brokers.tables.topic_queue_table["T2"] == {"other": NORMAL}
    known_brokers.delete_topic("T2", "C2")
    assert "T2" not in known_brokers.tables.topic_queue_table


@pytest.mark.parametrize(("topic", "cluster"), [("T1", "C3"), ("T9", CLUSTER)])
def test_nothing_to_delete_is_nothing_done(known_brokers: Manager, topic: str, cluster: str) -> None:
    """B224."""
    assert known_brokers.delete_topic(topic, cluster) == []
    assert known_brokers.tables.topic_queue_table.keys() == {"T1", "T2", "T3"}


@pytest.mark.parametrize("perm", [5, 6, 7])
def test_adding_makes_it_read_and_write_exactly(known_brokers: Manager, perm: int) -> None:
    """B220."""
    known_brokers.register_topic("T1", (BROKER, queue_data(8, 8, perm, 0)))
    known_brokers.events.clear()
    assert known_brokers.add_write_perm(BROKER) == 2
    assert known_brokers.tables.topic_queue_table["T1"][BROKER].perm == 6
    changes = [TopicChange("T1", queue_data(8, 8, perm, 0), NORMAL)]
    assert known_brokers.events == ([] if perm == 6 else [TopicsPut(BROKER, changes, Cause.PERM)])
