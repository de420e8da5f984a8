"""Which brokers are overdue, and which broker a closed connection unregisters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rocketns.routeinfo import liveness
from rocketns.routeinfo.events import BrokerDown, Cause
from rocketns.routeinfo.tables import HEARTBEAT_TIMEOUT_MS_MAX, RouteTables
from tests.routeinfo.manager import ADDR, BROKER, CLUSTER, MASTER, SLAVE, Broker, Manager, table_of

TWO = table_of("T1", "T2")
OTHER = MASTER.but(name="other", addr="127.0.0.1:1")


@pytest.mark.parametrize(("timeout_ms", "most_ms"), [(None, 120_000), (6_500, 6_500), (0, 0), (-10, -10)])
def test_a_broker_expires_after_its_own_timeout(manager: Manager, timeout_ms: int | None, most_ms: int) -> None:
    """B166, B167, B190."""
    manager.register(MASTER.but(timeout_ms=timeout_ms), TWO)
    manager.now_ms += most_ms
    assert liveness.expired_brokers(manager.tables, manager.now_ms) == []
    assert len(liveness.expired_brokers(manager.tables, manager.now_ms + 1)) == 1


def test_a_refresh_puts_it_off(manager: Manager) -> None:
    """B173."""
    manager.register(MASTER, TWO)
    manager.now_ms += 100_000
    manager.tables.refresh(CLUSTER, ADDR, manager.now_ms)
    manager.now_ms += 120_000
    assert manager.scan() == []
    manager.now_ms += 1
    assert manager.scan() == [MASTER.channel]


def test_expiry_removes_the_broker_and_names_its_connection(manager: Manager) -> None:
    """B190."""
    manager.register(MASTER, TWO, filters=["f:1"])
    manager.register(OTHER.but(timeout_ms=10**9), TWO)
    manager.now_ms += 120_001
    assert manager.scan() == [MASTER.channel]
    assert manager.tables.topic_queue_table == {"T1": {"other": TWO["T1"].queues}, "T2": {"other": TWO["T2"].queues}}
    assert manager.events[-2] == BrokerDown(CLUSTER, BROKER, ADDR, 0, True, 120_001, Cause.EXPIRED)
    assert manager.scan() == []


def test_a_replaced_address_expires(manager: Manager) -> None:
    """B191: Java keeps it, and closes its connection at every scan."""
    manager.register(MASTER, TWO)
    manager.register(MASTER.but(addr="127.0.0.1:9", timeout_ms=10**9), TWO)
    manager.now_ms += 120_001
    assert manager.scan() == [MASTER.channel]
    assert manager.live(MASTER) is None
    assert manager.events[-1] == BrokerDown(CLUSTER, None, ADDR, None, True, 120_001, Cause.EXPIRED)
    assert manager.scan() == []
    assert manager.tables.broker_addr_table[BROKER].broker_addrs == {0: "127.0.0.1:9"}


def test_an_address_leaves_the_group_of_another_cluster(manager: Manager) -> None:
    """The registration that made it a member named a second cluster. Its entry there decides."""
    manager.register(MASTER.but(timeout_ms=10**9), TWO)
    manager.register(MASTER.but(cluster="C2"), TWO)
    manager.now_ms += 120_001
    manager.scan()
    assert manager.tables.broker_addr_table == manager.tables.cluster_addr_table == {}
    assert manager.tables.broker_live_table.keys() == {manager.key(MASTER)}


def test_an_address_expires_in_all_its_groups(manager: Manager) -> None:
    for number in range(5):
        manager.register(MASTER.but(name=f"b{number}"), TWO)
    manager.now_ms += 120_001
    manager.scan()
    assert manager.tables == RouteTables()


@pytest.mark.parametrize("timeout_ms", [HEARTBEAT_TIMEOUT_MS_MAX + 1, 2**63 - 1])
def test_a_timeout_counts_as_a_day_at_most(manager: Manager, timeout_ms: int) -> None:
    manager.register(MASTER.but(timeout_ms=timeout_ms), TWO)
    manager.now_ms += HEARTBEAT_TIMEOUT_MS_MAX
    assert manager.scan() == []
    manager.now_ms += 1
    assert manager.scan() == [MASTER.channel]
    assert manager.tables == RouteTables()


@pytest.mark.parametrize("cause", [Cause.CHANNEL_CLOSE, Cause.CHANNEL_EXCEPTION, Cause.CHANNEL_IDLE])
def test_a_closed_connection_unregisters_its_broker(manager: Manager, cause: Cause) -> None:
    """B187."""
    manager.register(MASTER, TWO)
    events = manager.close(MASTER.channel, cause)
    assert events[0] == BrokerDown(CLUSTER, BROKER, ADDR, 0, True, 0, cause)
    assert manager.tables == RouteTables()


def test_a_connection_of_nobody_takes_nobody_with_it(manager: Manager) -> None:
    manager.register(MASTER, TWO)
    assert manager.close(object()) == []
    assert [*liveness.closed_connection(RouteTables(), object(), Cause.CHANNEL_CLOSE)] == []


def test_a_closed_connection_ends_a_member_of_a_group_of_another_cluster(manager: Manager) -> None:
    """Registered under a second cluster over a second connection. Java keeps it."""
    manager.register(MASTER, TWO)
    second = MASTER.but(cluster="C2", channel=object())
    manager.register(second, TWO)
    manager.close(second.channel)
    assert manager.tables.broker_addr_table == manager.tables.cluster_addr_table == {}


def test_a_closed_connection_leaves_the_same_address_of_another_cluster(manager: Manager) -> None:
    """Two clusters behind two networks may have the same addresses."""
    manager.register(MASTER, TWO)
    second = MASTER.but(cluster="C2", name="other", channel=object())
    manager.register(second, TWO)
    manager.close(second.channel)
    assert manager.tables.broker_addr_table.keys() == {BROKER}


class Looked(dict[Any, Any]):
    """Counts the entries that are visited."""

    looked = 0

    def __iter__(self) -> Iterator[Any]:
        for key in super().__iter__():
            self.looked += 1
            yield key

    def items(self) -> Any:
        return ((key, self[key]) for key in self)

    def values(self) -> Any:
        return (self[key] for key in self)


def test_a_closed_connection_looks_at_no_other_brokers(manager: Manager) -> None:
    """This work is charged to no peer, so it must stay cheap with many brokers."""
    for number in range(100):
        manager.register(Broker(name=f"broker-{number}", addr=f"10.0.0.{number}:1"), TWO)
    live = manager.tables.broker_live_table = Looked(manager.tables.broker_live_table)
    groups = manager.tables.broker_addr_table = Looked(manager.tables.broker_addr_table)
    last = live[manager.key(Broker(name="broker-99", addr="10.0.0.99:1"))].channel
    (closed,) = liveness.closed_connection(manager.tables, last, Cause.CHANNEL_CLOSE)
    assert closed.broker_name == "broker-99"
    assert (live.looked, groups.looked) == (0, 0)


def test_filter_servers_change_only_the_groups_of_their_broker(manager: Manager) -> None:
    """Each changed group is compared with the published one, so one broker's registration must not mark all groups."""
    for number in range(100):
        manager.register(Broker(name=f"broker-{number}", addr=f"10.0.0.{number}:1"), TWO)
    manager.tables.take_changed_groups()
    seventh = Broker(name="broker-7", addr="10.0.0.7:1")
    manager.register(seventh.but(name="alias"), TWO)
    manager.tables.take_changed_groups()
    manager.tables.put_filter_servers(manager.key(seventh), ["10.0.0.7:9"])
    assert manager.tables.take_changed_groups() == {"broker-7", "alias"}
    manager.tables.put_filter_servers(manager.key(seventh), ["10.0.0.7:9"])
    assert manager.tables.take_changed_groups() == set()


def test_a_close_that_is_handled_late_does_not_touch_the_next_registration(manager: Manager) -> None:
    """The request waits in its queue while the broker registers again."""
    manager.register(MASTER, TWO)
    (closed,) = liveness.closed_connection(manager.tables, MASTER.channel, Cause.CHANNEL_CLOSE)
    manager.now_ms += 120_001
    (expired,) = liveness.expired_brokers(manager.tables, manager.now_ms)
    manager.register(MASTER.but(channel=object()), TWO)
    assert manager.unregister(closed, expired.request) == []
    assert manager.tables.topic_queue_table.keys() == {"T1", "T2"}


def test_the_id_of_the_request_is_the_one_the_group_knows(manager: Manager) -> None:
    manager.register(MASTER, TWO)
    manager.register(SLAVE, TWO)
    (closed,) = liveness.closed_connection(manager.tables, SLAVE.channel, Cause.CHANNEL_CLOSE)
    assert (closed.cluster, closed.addr, closed.broker_name, closed.broker_id) == (CLUSTER, SLAVE.addr, BROKER, 1)
