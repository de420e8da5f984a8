"""Heartbeat timeouts that a journal or another name server gives."""

from __future__ import annotations

from rocketns.routeinfo.doubt import Reason
from rocketns.routeinfo.tables import HEARTBEAT_TIMEOUT_MS_MAX, RouteTables
from rocketns.routeinfo.unconfirmed.filling import fill
from rocketns.routeinfo.unconfirmed.known import KnownRoutes


def test_a_restored_timeout_counts_as_a_day_at_most() -> None:
    known, tables = KnownRoutes(), RouteTables()
    known.put_broker("b", 0, "C", "a:1", "C").put(2**63 - 1, None, None, 0)
    fill(tables, known, Reason.RESTORED, 0, 90_000)
    (entry,) = tables.broker_live_table.values()
    assert entry.timeout_ms == HEARTBEAT_TIMEOUT_MS_MAX


def test_a_group_without_members_is_not_restored() -> None:
    """An older journal has such groups."""
    known, tables = KnownRoutes(), RouteTables()
    known.put_group("b", "C")
    fill(tables, known, Reason.RESTORED, 0, 90_000)
    assert tables == RouteTables()
