"""Which brokers are overdue, or lost their connection: scanNotActiveBroker and onChannelDestroy."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.doubt import Doubt, Reason
from rocketns.routeinfo.events import BrokerDoubted, Cause, Event
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo, RouteTables
from rocketns.routeinfo.unregistration import UnregisterRequest


@dataclass(slots=True, frozen=True)
class ExpiredBroker:
    """An overdue live entry, whose connection must be closed. ``request`` is None if no group has the address."""

    key: BrokerAddrInfo
    entry: BrokerLiveInfo
    cause: Cause
    request: UnregisterRequest | None


def expired_brokers(tables: RouteTables, now_ms: int) -> list[ExpiredBroker]:
    """All entries whose last refresh is longer ago than their own timeout, and the unconfirmed past their deadline."""
    return [
        given_up(tables, key, entry, Cause.EXPIRED if entry.doubt is None else Cause.UNCONFIRMED)
        for key, entry in tables.broker_live_table.items()
        if entry.expires_before(now_ms)
    ]


def overdue_unconfirmed(tables: RouteTables, now_ms: int) -> list[ExpiredBroker]:
    """The unconfirmed entries past their deadline."""
    overdue = [(key, entry) for key, entry in tables.unconfirmed.items() if entry.expires_before(now_ms)]
    return [given_up(tables, key, entry, Cause.UNCONFIRMED) for key, entry in overdue]


def given_up(tables: RouteTables, key: BrokerAddrInfo, entry: BrokerLiveInfo, cause: Cause) -> ExpiredBroker:
    """What removes a live entry that the name server itself no longer believes in.

    Java keeps the entry of an address that is in no group. An unconfirmed one goes by itself.
    """
    request = _request(tables, key, entry, cause)
    if request is None and entry.doubt is not None:
        request = UnregisterRequest(key.cluster, key.addr, None, None, cause, entry)
    return ExpiredBroker(key, entry, cause, request)


def doubt_broker(tables: RouteTables, key: BrokerAddrInfo, doubt: Doubt, now_ms: int) -> list[Event]:
    """Keep a live broker, but unconfirmed: until its next sign of life, the doubt's deadline, or proof."""
    entry = tables.broker_live_table.get(key)
    if entry is None:
        return []
    gap_ms = entry.gap_ms(now_ms)
    entry.doubt, entry.grace_ms = doubt, 0
    tables.note_doubt(key, entry)
    name, broker_id = _group_of(tables, key) or (None, None)
    return [BrokerDoubted(key.cluster, name, key.addr, broker_id, doubt, gap_ms)]


def doubt_of(entry: BrokerLiveInfo, reason: Reason, deadline_ms: int, now_ms: int, epoch_ms: int) -> Doubt:
    """A doubt in a broker that this process heard. ``epoch_ms`` is the wall clock of ``now_ms``."""
    return Doubt(reason, now_ms, deadline_ms, epoch_ms - (now_ms - entry.last_update_ms))


def silent_together(tables: RouteTables, now_ms: int, idle_ms_max: int) -> tuple[int, int]:
    """How many brokers seem to have fallen silent together, and how many there are, silent or not.

    Brokers register at least twice in their timeout, so those that were silent for more than half of it will expire
    within the other half, unless they are heard. The same holds for the idle limit of their connections, 0 for none.
    Brokers that were never heard by this process, or whose connection ended in a stall, count in neither number.
    """
    silent = live = 0
    for entry in tables.broker_live_table.values():
        doubt = entry.doubt
        if doubt is None or doubt.reason is Reason.SILENT_TOGETHER:
            live += 1
            limit_ms = min(entry.timeout_ms, idle_ms_max) if idle_ms_max > 0 else entry.timeout_ms
            silent += doubt is not None or now_ms - entry.last_update_ms > limit_ms // 2 + entry.grace_ms
    return silent, live


def forgive(tables: RouteTables, missed_ms: int) -> int:
    """Move every deadline by a time in which the server could not receive heartbeats. Returns their number."""
    for entry in tables.broker_live_table.values():
        entry.grace_ms += missed_ms
    return len(tables.broker_live_table)


def closed_connection(tables: RouteTables, connection: Connection, cause: Cause) -> UnregisterRequest | None:
    """The unregistration that a closed connection causes: of one broker only, even if several share it."""
    key = next(iter(tables.owned.pop(connection, ())), None)
    return None if key is None else _request(tables, key, tables.broker_live_table[key], cause)


def let_go(tables: RouteTables, connection: Connection) -> list[tuple[BrokerAddrInfo, BrokerLiveInfo]]:
    """Forget a connection that ended, and return its live entries, which stay."""
    kept = [(key, tables.broker_live_table[key]) for key in tables.owned.pop(connection, ())]
    for _, entry in kept:
        entry.channel = None
    return kept


def _request(tables: RouteTables, key: BrokerAddrInfo, entry: BrokerLiveInfo, cause: Cause) -> UnregisterRequest | None:
    """setupUnRegisterRequest. An address in several groups leaves the one that it joined first; None if in none."""
    found = _group_of(tables, key)
    return None if found is None else UnregisterRequest(key.cluster, key.addr, *found, cause, entry)


def _group_of(tables: RouteTables, key: BrokerAddrInfo) -> tuple[str, int] | None:
    """The group that an address joined first, of those whose own cluster is that of the entry, and its id there."""
    return next(iter(tables.memberships.get((key.cluster, key.addr), {}).items()), None)
