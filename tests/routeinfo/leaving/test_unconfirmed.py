"""Brokers kept without a sign of life: what confirms them, what removes them, and who replaces them."""

from __future__ import annotations

import pytest

from rocketns.protocol.body.route import DataVersion
from rocketns.routeinfo import liveness
from rocketns.routeinfo.doubt import Doubt, Reason
from rocketns.routeinfo.events import BrokerDoubted, BrokerDown, BrokerHeartbeat, BrokerRegistered, Cause
from tests.routeinfo.manager import ADDR, BROKER, CLUSTER, MASTER, SLAVE, Broker, Manager, table_of

TWO = table_of("T1", "T2")
SECOND = MASTER.but(addr="127.0.0.1:1", channel=object())


def doubt_of(manager: Manager, reason: Reason = Reason.RESTORED, ms: int = 90_000) -> Doubt:
    return Doubt(reason, manager.now_ms, manager.now_ms + ms)


def doubted(manager: Manager, broker: Broker = MASTER, reason: Reason = Reason.RESTORED) -> Doubt:
    """A registered broker that is unconfirmed now; a restored one has no connection."""
    manager.register(broker, TWO)
    entry = manager.live(broker)
    assert entry is not None
    if reason is not Reason.SILENT_TOGETHER:
        manager.tables._disown(manager.key(broker), entry)
        entry.channel = None
    doubt = doubt_of(manager, reason)
    manager.note(liveness.doubt_broker(manager.tables, manager.key(broker), doubt, manager.now_ms))
    return doubt


def test_a_doubt_is_an_event_with_the_brokers_group(manager: Manager) -> None:
    doubt = doubted(manager)
    assert manager.events[-1] == BrokerDoubted(CLUSTER, BROKER, ADDR, 0, doubt, 0)
    assert list(manager.tables.unconfirmed) == [manager.key(MASTER)]


def test_nobody_doubts_an_unknown_address(manager: Manager) -> None:
    assert liveness.doubt_broker(manager.tables, manager.key(MASTER), doubt_of(manager), manager.now_ms) == []
    assert manager.tables.unconfirmed == {}


def test_it_is_in_routes_like_every_other(manager: Manager) -> None:
    manager.register(MASTER, TWO)
    before = manager.route("T1")
    doubted(manager)
    assert manager.route("T1") == before


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


def test_a_stall_moves_its_deadline(manager: Manager) -> None:
    doubted(manager)
    liveness.forgive(manager.tables, 50_000)
    manager.now_ms += 140_000
    assert liveness.overdue_unconfirmed(manager.tables, manager.now_ms) == []
    assert len(liveness.overdue_unconfirmed(manager.tables, manager.now_ms + 1)) == 1


@pytest.mark.parametrize(("reason", "gap_ms"), [(Reason.RESTORED, None), (Reason.SILENT_TOGETHER, 7)])
def test_a_heartbeat_confirms_it(manager: Manager, reason: Reason, gap_ms: int | None) -> None:
    """Its own timeout counts from then on. The gap is known only for a broker that this process has heard."""
    doubt = doubted(manager, MASTER.but(timeout_ms=10), reason)
    manager.now_ms += 7
    assert manager.tables.refresh(CLUSTER, ADDR, manager.now_ms) == [BrokerHeartbeat(CLUSTER, ADDR, gap_ms, doubt)]
    assert manager.tables.unconfirmed == {}
    manager.now_ms += 11
    assert [one.cause for one in liveness.expired_brokers(manager.tables, manager.now_ms)] == [Cause.EXPIRED]


def test_a_registration_confirms_it(manager: Manager) -> None:
    doubt = doubted(manager)
    manager.register(MASTER, TWO)
    (event,) = [e for e in manager.events[-1:] if isinstance(e, BrokerRegistered)]
    assert (event.gap_ms, event.doubt) == (None, doubt)
    assert manager.tables.unconfirmed == {}
    manager.register(MASTER, TWO)
    assert manager.events[-1] == BrokerRegistered(
        CLUSTER, BROKER, ADDR, 0, MASTER.ha_addr, MASTER.version, 120_000, 0, None
    )


def test_the_connection_of_its_first_heartbeat_is_kept(manager: Manager) -> None:
    """A broker that registers only after changes may send only version queries for days."""
    doubted(manager)
    first, later = object(), object()
    manager.tables.refresh(CLUSTER, ADDR, manager.now_ms, first)
    manager.tables.refresh(CLUSTER, ADDR, manager.now_ms, later)
    assert manager.close(later) == []
    manager.close(first)
    assert manager.live(MASTER) is None


def test_a_heartbeat_over_another_connection_does_not_take_over_a_registration(manager: Manager) -> None:
    doubted(manager, reason=Reason.SILENT_TOGETHER)
    manager.tables.refresh(CLUSTER, ADDR, manager.now_ms, object())
    assert manager.live(MASTER).channel is MASTER.channel


def test_a_broker_that_registers_in_its_place_wins_whatever_its_state_version(manager: Manager) -> None:
    """A confirmed holder with a higher stateVersion would keep its id."""
    newer = MASTER.but(version=DataVersion(9, 1, 1))
    doubted(manager, newer)
    assert not manager.register(SECOND, TWO).refused
    assert manager.addrs("T1") == {0: SECOND.addr}
    assert manager.live(newer) is None
    downs = [e for e in manager.events if isinstance(e, BrokerDown)]
    assert [(e.addr, e.broker_id, e.live, e.gap_ms, e.cause) for e in downs] == [(ADDR, 0, True, None, Cause.CONFLICT)]


def test_a_slave_learns_an_unconfirmed_master(manager: Manager) -> None:
    """Told that it has no master, it would stop copying the master's topics and offsets."""
    doubted(manager)
    assert manager.register(SLAVE, TWO).master_addr == ADDR


def test_one_that_is_in_no_group_any_more_goes_by_itself(manager: Manager) -> None:
    doubted(manager)
    manager.register(SECOND.but(cluster="C2"), TWO)
    assert manager.live(MASTER) is not None
    manager.now_ms += 90_001
    manager.scan()
    assert manager.live(MASTER) is None
    assert manager.addrs("T1") == {0: SECOND.addr}
