"""Which brokers are overdue or lost their connection: scanNotActiveBroker and onChannelDestroy."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo, RouteTables
from rocketns.routeinfo.unregistration import UnregisterRequest

Member = tuple[str, int]
"""A broker's name and id."""


@dataclass(slots=True, frozen=True)
class ExpiredBroker:
    """An overdue live entry. Its connection is to be closed; ``request`` is None where no group has the address."""

    key: BrokerAddrInfo
    entry: BrokerLiveInfo
    request: UnregisterRequest | None


def expired_brokers(tables: RouteTables, now_ms: int) -> list[ExpiredBroker]:
    """All entries whose last refresh is longer ago than their own timeout."""
    overdue = [(key, entry) for key, entry in tables.broker_live_table.items() if entry.expires_before(now_ms)]
    members = _members(tables) if overdue else {}
    return [
        ExpiredBroker(key, entry, _request(members.get((key.cluster, key.addr)), key, entry, Cause.EXPIRED))
        for key, entry in overdue
    ]


def forgive(tables: RouteTables, missed_ms: int) -> int:
    """Move every deadline: the server could not have heard a heartbeat for so long. How many there are."""
    for entry in tables.broker_live_table.values():
        entry.grace_ms += missed_ms
    return len(tables.broker_live_table)


def closed_connection(tables: RouteTables, connection: Connection, cause: Cause) -> UnregisterRequest | None:
    """The unregistration that a closed connection causes: of one broker only, even where several share it."""
    if connection not in tables.owners:
        return None
    tables.owners.discard(connection)
    for key, entry in tables.broker_live_table.items():
        if entry.channel is connection:
            return _request(_member(tables, key), key, entry, cause)
    return None


def _member(tables: RouteTables, key: BrokerAddrInfo) -> Member | None:
    """setupUnRegisterRequest: only a group whose own cluster is the entry's, so zombies stay."""
    for group in tables.broker_addr_table.values():
        if group.cluster == key.cluster:
            for broker_id, addr in group.broker_addrs.items():
                if addr == key.addr:
                    return group.broker_name, broker_id
    return None


def _members(tables: RouteTables) -> dict[tuple[str | None, str], Member]:
    """`_member` of every cluster and address."""
    found: dict[tuple[str | None, str], Member] = {}
    for group in tables.broker_addr_table.values():
        for broker_id, addr in group.broker_addrs.items():
            found.setdefault((group.cluster, addr), (group.broker_name, broker_id))
    return found


def _request(
    member: Member | None, key: BrokerAddrInfo, entry: BrokerLiveInfo, cause: Cause
) -> UnregisterRequest | None:
    return None if member is None else UnregisterRequest(key.cluster, key.addr, *member, cause, entry)
