"""registerBroker step by step, in the order of Java's lock block: which tables change, and which events say so."""

from __future__ import annotations

import pytest

from rocketns.protocol.body.route import DataVersion, TopicConfig, queue_data
from rocketns.routeinfo.events import (
    BrokerConflict,
    BrokerDown,
    BrokerIdsLeft,
    BrokerRefused,
    BrokerRegistered,
    Cause,
    GroupChanged,
)
from rocketns.routeinfo.tables import DEFAULT_BROKER_CHANNEL_EXPIRED_TIME_MS, BrokerLiveInfo, RouteTables
from tests.routeinfo.manager import (
    ADDR,
    BROKER,
    CLUSTER,
    MASTER,
    NORMAL,
    SLAVE,
    SLAVE_ADDR,
    VERSION,
    Broker,
    Manager,
    table_of,
)

TWO = table_of("T1", "T2")
OTHER_ADDR = "127.0.0.1:50911"


@pytest.mark.parametrize("missing", [{"cluster": None}, {"name": None}, {"addr": None}, {"addr": ""}], ids=str)
def test_1_a_broker_without_identity_leaves_no_trace(manager: Manager, missing: dict[str, object]) -> None:
    """B142, B143, B144: an answer without error, and none of the residue that Java keeps."""
    result = manager.register(MASTER.but(**missing), TWO)
    assert (result.refused, result.master_addr, manager.events) == (False, None, [])
    assert manager.tables == RouteTables()


def test_1_a_group_may_be_listed_by_two_clusters(manager: Manager) -> None:
    """B158: its own cluster stays the first."""
    manager.register(MASTER, TWO)
    manager.register(MASTER.but(cluster="C2"), TWO)
    assert manager.tables.cluster_addr_table == {CLUSTER: {BROKER}, "C2": {BROKER}}
    assert manager.tables.broker_addr_table[BROKER].cluster == CLUSTER
    assert manager.tables.broker_live_table.keys() == {manager.key(MASTER), manager.key(MASTER.but(cluster="C2"))}


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


def test_6_a_loser_that_was_never_live_is_only_a_conflict(manager: Manager) -> None:
    holder_of(manager, 5)
    result = manager.register(MASTER.but(addr=OTHER_ADDR, version=DataVersion(4, 1, 1)), TWO)
    assert result.events == [BrokerConflict(CLUSTER, BROKER, 0, ADDR, OTHER_ADDR)]


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


def test_7_a_single_topic_of_an_unknown_broker_is_refused(manager: Manager) -> None:
    """B110: nothing is left. Java keeps the group without the address, for ever."""
    result = manager.register(MASTER, table_of("T1"))
    assert result.refused
    assert result.events == [BrokerRefused(BROKER, 0, ADDR)]
    assert manager.tables == RouteTables()


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


@pytest.mark.parametrize("broker_id", [-1, -(2**63), 2**63 - 1])
def test_8_ids_are_longs(manager: Manager, broker_id: int) -> None:
    """B145."""
    manager.register(MASTER.but(id=broker_id), TWO)
    assert manager.tables.broker_addr_table[BROKER].broker_addrs == {broker_id: ADDR}


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


def test_14_the_live_entry_is_replaced(manager: Manager) -> None:
    """B166, B167: it belongs to the connection of the latest registration."""
    manager.register(MASTER, TWO)
    later = MASTER.but(timeout_ms=0, ha_addr=None, channel=object(), version=None)
    manager.now_ms += 7
    result = manager.register(later, TWO)
    now = manager.now_ms
    assert manager.tables.broker_live_table == {
        manager.key(MASTER): BrokerLiveInfo(now, 0, None, later.channel, None),
    }
    first, second = (event for event in manager.events if isinstance(event, BrokerRegistered))
    assert first.gap_ms is None
    assert first.timeout_ms == DEFAULT_BROKER_CHANNEL_EXPIRED_TIME_MS == 120_000
    assert second == BrokerRegistered(CLUSTER, BROKER, ADDR, 0, None, None, 0, 7)
    assert result.events[-1] == second


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


def test_a_topic_without_a_name_is_left_out(manager: Manager) -> None:
    """Java stops with a NullPointerException at this point, and the broker never becomes live."""
    manager.register(MASTER, {"T1": TopicConfig(None, NORMAL), "T2": TopicConfig("T2", NORMAL)})
    assert manager.tables.topic_queue_table == {"T2": {BROKER: NORMAL}}
    assert manager.live(MASTER) is not None
