"""Writes the journal's records of a mutation's events, as the contract in `record` defines them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from rocketns.config.properties import is_secret
from rocketns.journal import encoding
from rocketns.journal.buffer import Buffer
from rocketns.journal.deferred import DeferredTopics
from rocketns.journal.members import (
    Reconciler,
    RecordedGroup,
    RecordedLive,
    RecordedMember,
    RecordedTables,
    member_columns,
)
from rocketns.journal.record import Ev
from rocketns.logs import ESCAPE_BYTES
from rocketns.protocol.body.route import BrokerData
from rocketns.routeinfo import events as e
from rocketns.routeinfo.tables import BrokerAddrInfo, RouteTables

HEARTBEAT = "heartbeat"
# A heartbeat's record repeats names that its request does not have. A larger one is written once in this time.
LARGE_BEAT_BYTES = 1_024
LARGE_BEAT_EVERY_MS = 10_000
# Bytes of a record of topics, without its topics and its broker's name.
AROUND_BYTES = 128
# The event of a registration comes after the events of its topics, but its record before theirs. If an address gave up
# its former ids, its registration or conflict records that, because it knows more. Without one, BrokerIdsLeft does.
RANKS: dict[type, int] = {e.BrokerRegistered: 0, e.BrokerIdsLeft: 2}


class Effects:
    """Writes the records of one batch of events. Reads the tables as they are after the batch.

    Compares the members of groups with those already recorded, so every record is a change.
    """

    def __init__(self, tables: RouteTables, buffer: Buffer) -> None:
        self.members = RecordedTables()
        self._tables = tables
        self._buffer = buffer
        self._settling = Reconciler(tables, self.members, buffer)
        self.deferred = DeferredTopics(tables, buffer, self._deferred_are_written)
        self._lists: deque[list[encoding.TopicsColumn]] = deque()
        self._now_ms = 0
        self._joined = False
        self._routes_changed = False

    def write(self, events: list[e.Event], now_ms: int) -> bool:
        """``now_ms`` is the clock by which brokers expire. Whether routes changed."""
        self._now_ms = now_ms
        self._routes_changed = False
        if len(events) > 1:
            self._joined = False
            events = sorted(events, key=lambda event: RANKS.get(type(event), 1))
            self._lists.clear()  # an earlier batch may have failed
            self._lists.extend(self._listed(one) for one in events if isinstance(one, e.TopicsPut | e.TopicsDeleted))
        for event in events:
            if type(event) in WRITERS:
                WRITERS[type(event)](self, event)
        if self._settling.is_due:  # the records so far may not give all of the groups and addresses that events named
            for name in [*self._settling.names]:
                self._leave_missing(name)
            self._routes_changed |= self._settling.settle()
        return self._routes_changed

    def _put(self, kind: Ev, columns: dict[str, Any]) -> None:
        self._buffer.put(encoding.columns(kind, columns))

    def _registered(self, event: e.BrokerRegistered) -> None:
        group = self.members.groups.get(event.broker_name)
        member = None if group is None else group.members.get(event.broker_id)
        if group is None or member is None or member.addr != event.addr or member.cluster != event.cluster:
            self._join(event)
            return
        if event.timeout_ms is None:
            self._settling.note_key(member.key)
            return
        live = member.live
        live.last = member
        data = self._tables.broker_addr_table[event.broker_name]
        if data.cluster != group.cluster:
            self._settling.note_name(event.broker_name)
        said = (event.timeout_ms, event.ha_server_addr, event.announced_by, data.zone_name, data.enable_acting_master)
        recorded = (live.timeout_ms, live.ha_addr, live.announced_by, group.zone, group.acting)
        changed = said != recorded or not live.is_there
        has_filters = self._tables.filter_server_table or live.filter_servers
        if changed or (has_filters and self._filter_servers(member.key) != live.filter_servers):
            self._write_attributes(event, member, group, data)
            return
        if event.data_version != live.version:
            live.note_version(event.data_version)
            self._routes_changed = True  # it is told to the broker
        self._beat(member, event.gap_ms)

    def _filter_servers(self, key: BrokerAddrInfo) -> list[str | None]:
        return self._tables.filter_server_table.get(key, [])

    def _beat(self, member: RecordedMember, gap_ms: int | None) -> None:
        if gap_ms is None:
            self._buffer.put(member.heartbeat + member.live.tail)
        else:
            self._buffer.put(b'%b,"gap":%d%b' % (member.heartbeat, gap_ms, member.live.tail))

    def _write_attributes(
        self, event: e.BrokerRegistered, member: RecordedMember, group: RecordedGroup, data: BrokerData
    ) -> None:
        assert event.timeout_ms is not None
        live, servers = member.live, self._filter_servers(member.key)
        changed_servers = None if servers == live.filter_servers else encoding.filter_servers(servers)
        live.note(event.timeout_ms, event.ha_server_addr, event.data_version, event.announced_by)
        live.filter_servers = servers
        group.note_switches(data)
        columns = member_columns(member, group) | {"gap": event.gap_ms, "fs": changed_servers}
        self._put("hb", columns)
        self._routes_changed = True

    def _heartbeat(self, event: e.BrokerHeartbeat) -> None:
        key = BrokerAddrInfo(event.cluster, event.addr)
        live = self.members.lives.get(key)
        if live is None or (event.doubt is None and self._was_recorded(live)):
            return
        if live.last is not None:
            self._beat(live.last, event.gap_ms)
        else:
            self._settling.write_live(key, live)

    def _was_recorded(self, live: RecordedLive) -> bool:
        """Whether its last large record is so young that this one is left out. Otherwise this is the last one."""
        size = sum(map(len, filter(None, live.filter_servers))) if live.last is None else len(live.last.heartbeat)
        if size <= LARGE_BEAT_BYTES:
            return False
        is_young = live.large_beat_ms is not None and self._now_ms - live.large_beat_ms < LARGE_BEAT_EVERY_MS
        if not is_young:
            live.large_beat_ms = self._now_ms
        return is_young

    def _doubted(self, event: e.BrokerDoubted) -> None:
        live = self.members.lives.get(BrokerAddrInfo(event.cluster, event.addr))
        if live is not None and live.last is not None:
            columns = live.last.key_columns() | {"gap": event.gap_ms} | encoding.doubt_columns(event.doubt)
            self._put("doubt", columns)

    def _join(self, event: e.BrokerRegistered) -> None:
        """Record a new member, after the end of the members that it replaces."""
        name, key = event.broker_name, BrokerAddrInfo(event.cluster, event.addr)
        for member in self._missing(name):
            if member.addr != event.addr:
                self._leave(member, e.Cause.CONFLICT, self._gap_ms(member))
            else:
                self._leave(member, e.Cause.REGISTER, self._gap_before(event, member))
        group = self.members.groups.get(name)
        same = None if group is None else group.members.get(event.broker_id)
        if same is not None:  # the same address, from another cluster
            self._leave(same, e.Cause.REGISTER, self._gap_before(event, same))
        live = self.members.lives.get(key) or RecordedLive(event.timeout_ms or 0, False)
        if event.timeout_ms is not None:
            live.note(event.timeout_ms, event.ha_server_addr, event.data_version, event.announced_by)
        live.filter_servers = self._filter_servers(key)
        if name in self.deferred.brokers:
            live.note_deferred(is_deferred=True)
        member = self.members.add(event.cluster, self._tables.broker_addr_table[name], event.broker_id, live)
        self._put("reg", member_columns(member, self.members.groups[name]))
        self._settling.note_name(name)
        self._settling.note_key(member.key)
        self._joined = self._routes_changed = True

    def _missing(self, name: str) -> list[RecordedMember]:
        """The recorded members that are no longer in their group."""
        data = self._tables.broker_addr_table.get(name)
        addrs = {} if data is None else data.broker_addrs
        return [member for member in self.members.of_broker(name) if addrs.get(member.bid) != member.addr]

    def _leave(self, member: RecordedMember, cause: e.Cause, gap_ms: int | None, asked: str | None = None) -> None:
        self._routes_changed = True
        self.members.remove(member)
        self._settling.note_name(member.broker)
        self._settling.note_key(member.key)
        columns = member.key_columns() | {"gap": gap_ms, "cause": cause, "asked": asked}
        self._put("down", columns)

    def _leave_missing(self, name: str) -> None:
        for member in self._missing(name):
            self._leave(member, e.Cause.CONFLICT, self._gap_ms(member))

    def _down(self, event: e.BrokerDown) -> None:
        key = BrokerAddrInfo(event.cluster, event.addr)
        self._settling.note_key(key)
        if event.broker_name is not None:
            self._settling.note_name(event.broker_name)
            for member in self._missing(event.broker_name):
                if member.addr == event.addr:
                    is_own = member.key == key
                    self._leave(member, event.cause, event.gap_ms if is_own else self._gap_ms(member), event.asked)

    def _gap_ms(self, member: RecordedMember) -> int | None:
        entry = self._tables.live(member.cluster, member.addr)
        return None if entry is None else entry.gap_ms(self._now_ms)

    def _gap_before(self, event: e.BrokerRegistered, member: RecordedMember) -> int | None:
        """The gap before this registration, which replaced the live entry of its own cluster."""
        return event.gap_ms if event.cluster == member.cluster else self._gap_ms(member)

    def _topics_changed(self, event: e.TopicsPut | e.TopicsDeleted) -> None:
        self._routes_changed = True
        is_put = isinstance(event, e.TopicsPut)
        is_member = is_put and event.cause is e.Cause.REGISTER and not self._joined
        cause = HEARTBEAT if is_member else event.cause
        for some in self._lists.popleft() if self._lists else self._listed(event):
            columns = {"broker": event.broker_name, "cause": cause, "topics": some}
            self._put("tput" if is_put else "tdel", columns)

    def _listed(self, event: e.TopicsPut | e.TopicsDeleted) -> list[encoding.TopicsColumn]:
        """The topics in lists for a record each, as far as there is room; the others are deferred."""
        if isinstance(event, e.TopicsPut):
            names, queues = [change.topic for change in event.changes], [change.new for change in event.changes]
        else:
            names, queues = event.topics, None
        room, lists = self._buffer.room_at_once, []
        around = ESCAPE_BYTES * len(event.broker_name) + AROUND_BYTES
        for start, end in encoding.bounds([*map(len, names)]):
            listed, size = encoding.topic_list(names[start:end], None if queues is None else queues[start:end])
            room -= size + around
            if room < 0:
                self._defer(event, names[start:])
                break
            lists.append(listed)
        return lists

    def _defer(self, event: e.TopicsPut | e.TopicsDeleted, names: list[str]) -> None:
        is_put, is_observed = isinstance(event, e.TopicsPut), event.cause is e.Cause.OBSERVED
        cause = HEARTBEAT if event.cause is e.Cause.REGISTER and is_put else event.cause
        self.deferred.add(
            event.broker_name, names, put=cause if is_put or is_observed else None,
            deleted=None if is_put and not is_observed else cause,
        )  # fmt: skip
        for member in self.members.of_broker(event.broker_name):
            member.live.note_deferred(is_deferred=True)

    def _deferred_are_written(self, broker: str) -> None:
        """All topics of a broker are recorded: record its data version as well."""
        for live in {id(member.live): member.live for member in self.members.of_broker(broker)}.values():
            if live.is_deferred and not any(member.broker in self.deferred.brokers for member in live.members):
                live.note_deferred(is_deferred=False)
                if live.is_there:  # else there is no data version that was left out
                    self._settling.write_live(live.members[0].key, live)

    def _mappings_put(self, event: e.MappingsPut) -> None:
        self._routes_changed = True
        for some in encoding.mapping_lists(event.mappings):
            self._put("map", {"broker": event.broker_name, "maps": some})

    def _config_changed(self, event: e.ConfigChanged) -> None:
        shown = None if is_secret(event.key) else event.value
        self._put("config", encoding.property_columns(event.key, shown))

    def _requested(self, event: e.AdminRequested | e.RequestRefused) -> None:
        self._buffer.put(encoding.request_record(event))
        self._buffer.wants_seal = True


# What writes the records of an event. Those that are not here change no member and no topic; and whether name servers
# differ, the audit finds in the journals themselves.
WRITERS: dict[type, Callable[[Effects, Any], None]] = {
    e.BrokerRegistered: Effects._registered,
    e.BrokerHeartbeat: Effects._heartbeat,
    e.BrokerDoubted: Effects._doubted,
    e.BrokerDown: Effects._down,
    # The registration that caused it may not be accepted.
    e.BrokerIdsLeft: lambda effects, event: effects._leave_missing(event.broker_name),
    e.GroupChanged: lambda effects, event: effects._settling.note_name(event.broker_name),
    e.TopicsPut: Effects._topics_changed,
    e.TopicsDeleted: Effects._topics_changed,
    e.MappingsPut: Effects._mappings_put,
    e.KvChanged: lambda effects, event: effects._put(
        "kv", encoding.item_columns(event.namespace, event.key, event.value)
    ),
    e.ConfigChanged: Effects._config_changed,
    e.Stalled: lambda effects, event: effects._put("stall", {"ms": event.ms}),
    e.AdminRequested: Effects._requested,
    e.RequestRefused: Effects._requested,
}
