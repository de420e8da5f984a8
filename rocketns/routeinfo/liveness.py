"""Which brokers are overdue or lost their connection: scanNotActiveBroker and onChannelDestroy."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo, Channel, RouteTables
from rocketns.routeinfo.unregistration import UnregisterRequest


@dataclass(slots=True, frozen=True)
class ExpiredBroker:
    """An overdue live entry. Its connection is to be closed; ``request`` is None where no group has the address."""

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


def closed_channel(tables: RouteTables, channel: Channel, cause: Cause) -> UnregisterRequest | None:
    """The unregistration that a closed connection causes: of one broker only, even where several share it."""
    for key, entry in tables.broker_live_table.items():
        if entry.channel is channel:
            return _request(tables, key, entry, cause)
    return None


def _request(tables: RouteTables, key: BrokerAddrInfo, entry: BrokerLiveInfo, cause: Cause) -> UnregisterRequest | None:
    """setupUnRegisterRequest: only a group whose own cluster is the entry's, so zombies stay."""
    for group in tables.broker_addr_table.values():
        if group.cluster != key.cluster:
            continue
        for broker_id, addr in group.broker_addrs.items():
            if addr == key.addr:
                return UnregisterRequest(key.cluster, key.addr, group.broker_name, broker_id, cause, entry)
    return None
