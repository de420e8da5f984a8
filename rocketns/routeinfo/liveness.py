"""Which brokers are overdue, or lost their connection: scanNotActiveBroker and onChannelDestroy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.doubt import Doubt, DoubtReason
from rocketns.routeinfo.events import BrokerDoubted, Cause, Event
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo, RouteTables
from rocketns.routeinfo.unregistration import UnregisterRequest


@dataclass(slots=True, frozen=True)
class ExpiredBroker:
    """An overdue live entry, whose connection must be closed."""

    key: BrokerAddrInfo
    entry: BrokerLiveInfo
    cause: Cause
    request: UnregisterRequest


def expired_brokers(tables: RouteTables, now_ms: int) -> list[ExpiredBroker]:
    """All entries whose last refresh is longer ago than their own timeout, and the unconfirmed past their deadline."""
    return [
        expired(tables, key, entry, Cause.EXPIRED if entry.doubt is None else Cause.UNCONFIRMED)
        for key, entry in tables.broker_live_table.items()
        if entry.expires_before(now_ms)
    ]


def overdue_unconfirmed(tables: RouteTables, now_ms: int) -> list[ExpiredBroker]:
    """The unconfirmed entries past their deadline."""
    overdue = [(key, entry) for key, entry in tables.unconfirmed.items() if entry.expires_before(now_ms)]
    return [expired(tables, key, entry, Cause.UNCONFIRMED) for key, entry in overdue]


def overdue_unnamed(tables: RouteTables, now_ms: int, most: int) -> list[UnregisterRequest]:
    """Unregistrations of some members that no sign of life named in time. To be applied at once."""
    overdue = list(islice((one for one, deadline_ms in tables.unnamed.items() if deadline_ms < now_ms), most))
    for one in overdue:
        del tables.unnamed[one]
    return [UnregisterRequest(key.cluster, key.addr, name, tables.members_of[key][name], Cause.UNCONFIRMED)
            for key, name in overdue if name in tables.members_of.get(key, ())]  # fmt: skip


def expired(tables: RouteTables, key: BrokerAddrInfo, entry: BrokerLiveInfo, cause: Cause) -> ExpiredBroker:
    """What removes a live entry that the name server itself no longer believes in."""
    return ExpiredBroker(key, entry, cause, _request(tables, key, entry, cause))


def doubt_broker(tables: RouteTables, key: BrokerAddrInfo, doubt: Doubt, now_ms: int) -> list[Event]:
    """Keep a live broker, but unconfirmed: until its next sign of life, the doubt's deadline, or proof."""
    entry = tables.broker_live_table.get(key)
    if entry is None:
        return []
    gap_ms = entry.gap_ms(now_ms)
    entry.doubt, entry.grace_ms = doubt, 0
    tables.put_live_entry(key, entry)
    name, broker_id = _group_of(tables, key) or (None, None)
    return [BrokerDoubted(key.cluster, name, key.addr, broker_id, doubt, gap_ms)]


def doubt_of(entry: BrokerLiveInfo, reason: DoubtReason, deadline_ms: int, now_ms: int, epoch_ms: int) -> Doubt:
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
        if doubt is None or doubt.reason is DoubtReason.SILENT_TOGETHER:
            live += 1
            limit_ms = min(entry.timeout_ms, idle_ms_max) if idle_ms_max > 0 else entry.timeout_ms
            silent += doubt is not None or now_ms - entry.last_update_ms > limit_ms // 2 + entry.grace_ms
    return silent, live


def forgive(tables: RouteTables, missed_ms: int) -> int:
    """Move every deadline by a time in which the server could not receive heartbeats. Returns their number."""
    for entry in tables.broker_live_table.values():
        entry.grace_ms += missed_ms
    tables.unnamed = {one: deadline_ms + missed_ms for one, deadline_ms in tables.unnamed.items()}
    return len(tables.broker_live_table)


def closed_connection(tables: RouteTables, connection: Connection, cause: Cause) -> Iterator[UnregisterRequest]:
    """The unregistrations that a closed connection causes, one for each live entry. Each is made when it is taken.

    An entry that another connection owns by then has none. As in Java, neither has an address in no group: its entry
    expires.
    """
    return _requests(tables, tables.owned.pop(connection, {}), connection, cause)


def _requests(
    tables: RouteTables, keys: dict[BrokerAddrInfo, None], connection: Connection, cause: Cause
) -> Iterator[UnregisterRequest]:
    for key in keys:
        entry = tables.broker_live_table.get(key)
        if entry is not None and entry.channel is connection and key in tables.members_of:
            yield _request(tables, key, entry, cause)


def orphaned(tables: RouteTables, most: int) -> list[UnregisterRequest]:
    """Unregistrations of some members whose live entry ended. To be applied at once."""
    requests = (
        UnregisterRequest(key.cluster, key.addr, name, broker_id, cause)
        for key, cause in tables.orphans.items()
        for name, broker_id in tables.members_of[key].items()
    )
    return list(islice(requests, most))


def let_go(tables: RouteTables, connection: Connection) -> list[tuple[BrokerAddrInfo, BrokerLiveInfo]]:
    """Forget a connection that ended, and return its live entries, which stay."""
    entries = [(key, tables.broker_live_table[key]) for key in tables.owned.pop(connection, ())]
    for _, entry in entries:
        entry.channel = None
    return entries


def _request(tables: RouteTables, key: BrokerAddrInfo, entry: BrokerLiveInfo, cause: Cause) -> UnregisterRequest:
    """setupUnRegisterRequest, of the group that the address joined first. It leaves the others as an orphan."""
    name, broker_id = _group_of(tables, key) or (None, None)
    return UnregisterRequest(key.cluster, key.addr, name, broker_id, cause, entry)


def _group_of(tables: RouteTables, key: BrokerAddrInfo) -> tuple[str, int] | None:
    """The group that an address joined first by registrations with this cluster, and its id there."""
    return next(iter(tables.members_of.get(key, {}).items()), None)
