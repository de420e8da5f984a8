"""How brokers leave: expiry, closed connections, unregistrations; who is told, and who is kept unconfirmed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rocketns.protocol.body.route import DataVersion
from rocketns.routeinfo import liveness
from rocketns.routeinfo.doubt import Doubt, DoubtReason
from rocketns.routeinfo.events import (
    BrokerDown,
    BrokerHeartbeat,
    Cause,
)
from rocketns.routeinfo.filling import fill
from rocketns.routeinfo.prior_routes import PriorRoutes
from rocketns.routeinfo.tables import HEARTBEAT_TIMEOUT_MS_MAX, RouteTables
from rocketns.routeinfo.unregistration import UnregisterRequest
from tests.routeinfo.manager import (
    ADDR,
    BROKER,
    CLUSTER,
    MASTER,
    NORMAL,
    SLAVE,
    Broker,
    Manager,
    table_of,
)

TWO = table_of("T1", "T2")


@pytest.fixture
def manager() -> Manager:
    return Manager()


@pytest.mark.parametrize(("timeout_ms", "most_ms"), [(None, 120_000), (6_500, 6_500), (0, 0), (-10, -10)])
def test_a_broker_expires_after_its_own_timeout(manager: Manager, timeout_ms: int | None, most_ms: int) -> None:
    """B166, B167, B190."""
    manager.register(MASTER.but(timeout_ms=timeout_ms), TWO)
    manager.now_ms += most_ms
    assert liveness.expired_brokers(manager.tables, manager.now_ms) == []
    assert len(liveness.expired_brokers(manager.tables, manager.now_ms + 1)) == 1


def test_a_heartbeat_begins_its_time_again(manager: Manager) -> None:
    manager.register(MASTER, TWO)
    manager.now_ms += 120_000
    manager.tables.refresh(CLUSTER, ADDR, manager.now_ms)
    assert liveness.expired_brokers(manager.tables, manager.now_ms + 120_000) == []
    assert len(liveness.expired_brokers(manager.tables, manager.now_ms + 120_001)) == 1


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


def test_a_close_that_is_handled_late_does_not_touch_the_next_registration(manager: Manager) -> None:
    """The request waits in its queue while the broker registers again."""
    manager.register(MASTER, TWO)
    (closed,) = liveness.closed_connection(manager.tables, MASTER.channel, Cause.CHANNEL_CLOSE)
    manager.now_ms += 120_001
    (expired,) = liveness.expired_brokers(manager.tables, manager.now_ms)
    manager.register(MASTER.but(channel=object()), TWO)
    assert manager.unregister(closed, expired.request) == []
    assert manager.tables.topic_queue_table.keys() == {"T1", "T2"}


# Heartbeat timeouts that a journal or another name server gives.


def test_a_restored_timeout_counts_as_a_day_at_most() -> None:
    known, tables = PriorRoutes(), RouteTables()
    known.put_broker("b", 0, "C", "a:1", "C").put(2**63 - 1, None, None, 0)
    fill(tables, known, DoubtReason.RESTORED, 0, 90_000)
    (entry,) = tables.broker_live_table.values()
    assert entry.timeout_ms == HEARTBEAT_TIMEOUT_MS_MAX


# Brokers kept without a sign of life: what confirms them, what removes them, and who replaces them.

RIVAL = MASTER.but(addr="127.0.0.1:1", channel=object())


def doubted(manager: Manager, broker: Broker = MASTER, reason: DoubtReason = DoubtReason.RESTORED) -> Doubt:
    """A registered broker that is unconfirmed now; a restored one has no connection."""
    manager.register(broker, TWO)
    if reason is not DoubtReason.SILENT_TOGETHER:
        assert broker.channel is not None
        assert liveness.let_go(manager.tables, broker.channel)
    doubt = Doubt(reason, manager.now_ms, manager.now_ms + 90_000)
    manager.note(liveness.doubt_broker(manager.tables, manager.key(broker), doubt, manager.now_ms))
    return doubt


def test_its_deadline_counts_and_not_its_timeout(manager: Manager) -> None:
    doubted(manager, MASTER.but(timeout_ms=10))
    manager.now_ms += 90_000
    assert liveness.overdue_unconfirmed(manager.tables, manager.now_ms) == []
    assert manager.scan() == []
    manager.now_ms += 1
    assert [one.cause for one in liveness.overdue_unconfirmed(manager.tables, manager.now_ms)] == [Cause.UNCONFIRMED]
    manager.scan()
    assert manager.live(MASTER) is None
    assert manager.pick_up("T1") is None
    assert [e.cause for e in manager.events if isinstance(e, BrokerDown)] == [Cause.UNCONFIRMED]
    assert manager.tables.unconfirmed == {}


@pytest.mark.parametrize(("reason", "gap_ms"), [(DoubtReason.RESTORED, None), (DoubtReason.SILENT_TOGETHER, 7)])
def test_a_heartbeat_confirms_it(manager: Manager, reason: DoubtReason, gap_ms: int | None) -> None:
    """Its own timeout counts from then on. The gap is known only for a broker that this process has heard."""
    doubt = doubted(manager, MASTER.but(timeout_ms=10), reason)
    manager.now_ms += 7
    assert manager.tables.refresh(CLUSTER, ADDR, manager.now_ms) == [BrokerHeartbeat(CLUSTER, ADDR, gap_ms, doubt)]
    assert manager.tables.unconfirmed == {}
    manager.now_ms += 11
    assert [one.cause for one in liveness.expired_brokers(manager.tables, manager.now_ms)] == [Cause.EXPIRED]


@pytest.mark.parametrize("reason", [*DoubtReason])
def test_a_name_that_no_sign_of_life_gives_leaves_at_the_deadline(manager: Manager, reason: DoubtReason) -> None:
    """Also after a stall. A time in which the server did not run moves the deadline."""
    renamed, missed_ms = MASTER.but(name="renamed"), 500
    doubted(manager, reason=reason)
    manager.register(renamed, TWO)
    liveness.forgive(manager.tables, missed_ms)
    manager.now_ms += 90_000 + missed_ms
    assert liveness.overdue_unnamed(manager.tables, manager.now_ms, 9) == []
    manager.now_ms += 1
    manager.unregister(*liveness.overdue_unnamed(manager.tables, manager.now_ms, 9))
    assert manager.tables.broker_addr_table.keys() == {"renamed"}
    assert manager.live(renamed) is not None
    assert [(e.broker_name, e.cause) for e in manager.events if isinstance(e, BrokerDown)] == [
        (BROKER, Cause.UNCONFIRMED)
    ]


def test_the_connection_of_its_first_heartbeat_is_kept(manager: Manager) -> None:
    """A broker that registers only after changes may send only version queries for days."""
    doubted(manager)
    first, later = object(), object()
    manager.tables.refresh(CLUSTER, ADDR, manager.now_ms, first)
    manager.tables.refresh(CLUSTER, ADDR, manager.now_ms, later)
    assert manager.close(later) == []
    manager.close(first)
    assert manager.live(MASTER) is None


def test_a_broker_that_registers_in_its_place_wins_whatever_its_state_version(manager: Manager) -> None:
    """A confirmed holder with a higher stateVersion would keep its id."""
    newer = MASTER.but(version=DataVersion(9, 1, 1))
    doubted(manager, newer)
    assert not manager.register(RIVAL, TWO).refused
    assert manager.addrs("T1") == {0: RIVAL.addr}
    assert manager.live(newer) is None
    downs = [e for e in manager.events if isinstance(e, BrokerDown)]
    assert [(e.addr, e.broker_id, e.live, e.gap_ms, e.cause) for e in downs] == [(ADDR, 0, True, None, Cause.CONFLICT)]


# unRegisterBroker: a batch of requests, then one clean-up of the topics.


def leaving(**changes: object) -> UnregisterRequest:
    fields = {"cluster": CLUSTER, "addr": ADDR, "broker_name": BROKER, "broker_id": 0, "cause": Cause.UNREGISTER}
    return UnregisterRequest(**(fields | changes))  # type: ignore[arg-type]


def test_an_address_that_leaves_one_of_its_groups_stays_live(manager: Manager) -> None:
    """The other group ends with its live entry."""
    manager.register(MASTER, TWO)
    manager.register(MASTER.but(name="other"), TWO)
    manager.unregister(MASTER)
    assert manager.tables.broker_addr_table.keys() == {"other"}
    assert manager.live(MASTER) is not None
    manager.unregister(MASTER.but(name="other"))
    assert manager.tables == RouteTables()


@pytest.mark.parametrize("changes", [{"cluster": None}, {"addr": None}], ids=str)
def test_a_request_without_identity_does_not_spoil_its_batch(manager: Manager, changes: dict[str, object]) -> None:
    """In Java it drops the rest of the batch and the clean-up of topics."""
    manager.register(MASTER, TWO)
    manager.unregister(leaving(**changes), leaving(broker_name=None, addr="x"), MASTER)
    assert manager.tables == RouteTables()


def test_a_group_with_an_id_below_the_master_s_stays_writable(manager: Manager) -> None:
    """B186: though its master left, and its brokers know acting masters."""
    manager.register(SLAVE.but(id=-1), {})
    manager.register(MASTER, TWO)
    manager.unregister(MASTER)
    assert manager.tables.topic_queue_table["T1"][BROKER] == NORMAL
