"""Who is overdue, and whom a closed connection takes with it."""

from __future__ import annotations

import pytest

from rocketns.routeinfo import liveness
from rocketns.routeinfo.events import BrokerDown, Cause
from rocketns.routeinfo.tables import RouteTables
from tests.routeinfo.manager import ADDR, BROKER, CLUSTER, MASTER, SLAVE, Manager, table_of

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


def test_a_replaced_address_is_never_removed(manager: Manager) -> None:
    """B191: its connection is closed at every scan."""
    manager.register(MASTER, TWO)
    manager.register(MASTER.but(addr="127.0.0.1:9", timeout_ms=10**9), TWO)
    manager.now_ms += 120_001
    for _ in range(2):
        assert [one.request for one in liveness.expired_brokers(manager.tables, manager.now_ms)] == [None]
        assert manager.scan() == [MASTER.channel]
    assert manager.live(MASTER) is not None


def test_a_group_of_another_cluster_is_not_cleaned_up(manager: Manager) -> None:
    """Registered under a second cluster: its entry there finds no group of its own."""
    manager.register(MASTER.but(timeout_ms=10**9), TWO)
    manager.register(MASTER.but(cluster="C2"), TWO)
    manager.now_ms += 120_001
    manager.scan()
    assert manager.tables.broker_addr_table[BROKER].broker_addrs == {0: ADDR}


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
    assert liveness.closed_channel(RouteTables(), object(), Cause.CHANNEL_CLOSE) is None


def test_a_closed_connection_leaves_a_group_of_another_cluster(manager: Manager) -> None:
    """Registered under a second cluster over a second connection: the group belongs to the first."""
    manager.register(MASTER, TWO)
    second = MASTER.but(cluster="C2", channel=object())
    manager.register(second, TWO)
    assert manager.close(second.channel) == []
    assert manager.tables.broker_addr_table[BROKER].broker_addrs == {0: ADDR}


def test_of_several_brokers_on_one_connection_only_one_goes_at_once(manager: Manager) -> None:
    """B188."""
    manager.register(MASTER, TWO)
    manager.register(OTHER.but(channel=MASTER.channel), TWO)
    manager.close(MASTER.channel)
    assert len(manager.tables.broker_live_table) == 1
    assert len(manager.tables.broker_addr_table) == 1


def test_an_old_connection_has_no_say_any_more(manager: Manager) -> None:
    """B189."""
    manager.register(MASTER, TWO)
    manager.register(MASTER.but(channel=object()), TWO)
    assert manager.close(MASTER.channel) == []
    assert manager.tables.topic_queue_table.keys() == {"T1", "T2"}


def test_a_close_that_is_handled_late_does_not_touch_the_next_registration(manager: Manager) -> None:
    """The request waits in its queue while the broker comes back."""
    manager.register(MASTER, TWO)
    closed = liveness.closed_channel(manager.tables, MASTER.channel, Cause.CHANNEL_CLOSE)
    manager.now_ms += 120_001
    (expired,) = liveness.expired_brokers(manager.tables, manager.now_ms)
    manager.register(MASTER.but(channel=object()), TWO)
    assert closed is not None
    assert expired.request is not None
    assert manager.unregister(closed, expired.request) == []
    assert manager.tables.topic_queue_table.keys() == {"T1", "T2"}


def test_the_id_of_the_request_is_the_one_the_group_knows(manager: Manager) -> None:
    manager.register(MASTER, TWO)
    manager.register(SLAVE, TWO)
    closed = liveness.closed_channel(manager.tables, SLAVE.channel, Cause.CHANNEL_CLOSE)
    assert closed is not None
    assert (closed.cluster, closed.addr, closed.broker_name, closed.broker_id) == (CLUSTER, SLAVE.addr, BROKER, 1)
