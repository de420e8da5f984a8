"""RouteInfoManager.unRegisterBroker: for UNREGISTER_BROKER, and after a closed connection or an expiry.

Deliberately different: Java applies a batch in one try block, so a null in one request drops the other requests and the
topic clean-up. Here each request is applied by itself. A request made for a live entry (close, expiry) has no effect if
the broker has registered again (apache/rocketmq issue 11043). Where an address is in
other groups too, Java removes its live entry, and it stays in them for ever. Here the entry stays as well, and they end
with it. Java leaves a removed group in clusters that the request does not name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rocketns.protocol.codes import PERM_WRITE
from rocketns.routeinfo.events import BrokerDown, Cause, Event, MinBrokerIdChanged, TopicsDeleted, TopicsPut
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo, RouteTables


@dataclass(slots=True, frozen=True)
class UnregisterRequest:
    """The broker to unregister. With ``entry`` the request applies to that live entry only, not to a later one."""

    cluster: str | None
    addr: str | None
    broker_name: str | None
    broker_id: int | None
    cause: Cause
    entry: BrokerLiveInfo | None = None


def unregister_brokers(tables: RouteTables, batch: Iterable[UnregisterRequest], now_ms: int) -> list[Event]:
    """Apply a batch in its order, and clean up the topics once at its end. Java's batch is a set without order."""
    outcome = _Outcome()
    for request in batch:
        _unregister(tables, request, now_ms, outcome)
    events = outcome.events
    deleted = [(name, tables.remove_topics(name), cause) for name, cause in outcome.removed.items()]
    events += [TopicsDeleted(name, topics, cause) for name, topics, cause in deleted if topics]
    for broker_name, cause in outcome.reduced.items():
        events += _wipe_acting_group(tables, broker_name, cause)
    for broker_name, addr in outcome.left_as_min.items():
        events += _note_min_broker_id(tables, broker_name, addr)
    return events


@dataclass(slots=True)
class _Outcome:
    """What a batch has done so far: groups removed or reduced, and why; the addresses that left as smallest id."""

    events: list[Event] = field(default_factory=list)
    removed: dict[str, Cause] = field(default_factory=dict)
    reduced: dict[str, Cause] = field(default_factory=dict)
    left_as_min: dict[str, str] = field(default_factory=dict)


def _unregister(tables: RouteTables, request: UnregisterRequest, now_ms: int, outcome: _Outcome) -> None:
    if request.cluster is None or request.addr is None:
        return
    if request.entry is not None and tables.live(request.cluster, request.addr) is not request.entry:
        return
    outcome.events.append(_remove_live_entry(tables, request, BrokerAddrInfo(request.cluster, request.addr), now_ms))
    # As in Java the id need not match, but there must be one.
    is_named = request.broker_name is not None and request.broker_id is not None
    group = tables.broker_addr_table.get(request.broker_name or "") if is_named else None
    if group is None:
        return
    name = group.broker_name
    tables.changed_groups.add(name)
    is_min = request.broker_id == min(group.broker_addrs, default=None)
    for broker_id in [i for i, member in group.broker_addrs.items() if member == request.addr]:
        tables.remove_member(group, broker_id)
    if not group.broker_addrs:
        tables.remove_group(group)
        outcome.removed[name] = request.cause
        return
    outcome.reduced[name] = request.cause
    if is_min:
        outcome.left_as_min[name] = request.addr


def _remove_live_entry(tables: RouteTables, request: UnregisterRequest, key: BrokerAddrInfo, now_ms: int) -> BrokerDown:
    """Unless the address asks itself, and is in other groups than the one that it leaves."""
    left = request.broker_id is not None and request.broker_name in tables.members_of.get(key, ())
    stays = request.entry is None and len(tables.members_of.get(key, ())) > left
    entry = None if stays else tables.remove_live_entry(key, request.cause)
    gap_ms = None if entry is None else entry.gap_ms(now_ms)
    return BrokerDown(
        key.cluster, request.broker_name, key.addr, request.broker_id, entry is not None, gap_ms, request.cause
    )


def _wipe_acting_group(tables: RouteTables, broker_name: str, cause: Cause) -> list[Event]:
    """A group that lost its master and knows acting masters is read-only until a master returns."""
    group = tables.broker_addr_table.get(broker_name)
    if group is None or not group.enable_acting_master or (group.broker_addrs and min(group.broker_addrs) <= 0):
        return []
    changes = tables.change_topics(broker_name, lambda old: old.with_perm(old.perm & ~PERM_WRITE))
    return [TopicsPut(broker_name, changes, cause)] if changes else []


def _note_min_broker_id(tables: RouteTables, broker_name: str, offline_addr: str) -> list[Event]:
    """Only groups that know acting masters are notified that their smallest id left."""
    group = tables.broker_addr_table.get(broker_name)
    if group is None or not group.enable_acting_master or not group.broker_addrs:
        return []
    smallest = min(group.broker_addrs)
    receivers = list(group.broker_addrs.values())
    return [MinBrokerIdChanged(broker_name, smallest, group.broker_addrs[smallest], offline_addr, None, receivers)]
