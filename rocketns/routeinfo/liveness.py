"""Which brokers are overdue, or lost their connection: scanNotActiveBroker and onChannelDestroy."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo, RouteTables
from rocketns.routeinfo.unregistration import UnregisterRequest


@dataclass(slots=True, frozen=True)
class ExpiredBroker:
    """An overdue live entry, whose connection must be closed. ``request`` is None if no group has the address."""

    key: BrokerAddrInfo
    entry: BrokerLiveInfo
    request: UnregisterRequest | None


def expired_brokers(tables: RouteTables, now_ms: int) -> list[ExpiredBroker]:
    """All entries whose last refresh is longer ago than their own timeout."""
    return [
        ExpiredBroker(key, entry, _request(tables, key, entry, Cause.EXPIRED))
        for key, entry in tables.broker_live_table.items()
        if entry.expires_before(now_ms)
    ]


def forgive(tables: RouteTables, missed_ms: int) -> int:
    """Move every deadline by a time in which the server could not receive heartbeats. Returns their number."""
    for entry in tables.broker_live_table.values():
        entry.grace_ms += missed_ms
    return len(tables.broker_live_table)


def closed_connection(tables: RouteTables, connection: Connection, cause: Cause) -> UnregisterRequest | None:
    """The unregistration that a closed connection causes: of one broker only, even if several share it."""
    key = next(iter(tables.owned.pop(connection, ())), None)
    return None if key is None else _request(tables, key, tables.broker_live_table[key], cause)


def _request(tables: RouteTables, key: BrokerAddrInfo, entry: BrokerLiveInfo, cause: Cause) -> UnregisterRequest | None:
    """setupUnRegisterRequest. Only of a group whose own cluster is that of the entry; None if there is none.

    An address in several such groups leaves the one that it joined first.
    """
    for broker_name, broker_id in tables.memberships.get((key.cluster, key.addr), {}).items():
        return UnregisterRequest(key.cluster, key.addr, broker_name, broker_id, cause, entry)
    return None
