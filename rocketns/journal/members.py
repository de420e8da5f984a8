"""What the journal has recorded of broker groups and live entries, and what of the tables differs from that."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rocketns.journal import encoding
from rocketns.journal.buffer import Buffer
from rocketns.protocol.body.route import BrokerData, DataVersion
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo, RouteTables


@dataclass(slots=True)
class RecordedLive:
    """The live entry of a cluster and address, and its filter servers, as records give them.

    ``announced_by``: the host that registered it. ``is_there``: there is an entry. ``members``: those with this
    address, ``last`` the one that registered last. ``tail`` is the part of an ``hb`` record behind its gap: it rarely
    changes. ``large_beat_ms``: when a heartbeat with a large record was recorded last.
    """

    timeout_ms: int
    is_there: bool = True
    ha_addr: str | None = None
    version: DataVersion | None = None
    announced_by: str | None = None
    filter_servers: list[str | None] = field(default_factory=list)
    members: list[RecordedMember] = field(default_factory=list)
    last: RecordedMember | None = None
    is_deferred: bool = False
    tail: bytes = b"}"
    large_beat_ms: int | None = None

    def note(self, timeout_ms: int, ha_addr: str | None, version: DataVersion | None, announced_by: str | None) -> None:
        self.timeout_ms, self.ha_addr, self.announced_by, self.is_there = timeout_ms, ha_addr, announced_by, True
        self.note_version(version)

    def note_version(self, version: DataVersion | None) -> None:
        self.version = version
        self.tail = encoding.tail(None if self.is_deferred else version)

    def note_deferred(self, *, is_deferred: bool) -> None:
        """Whether topics of a broker at this address have no record yet: after a crash it should send all of them."""
        self.is_deferred = is_deferred
        self.note_version(self.version)

    def columns(self) -> dict[str, Any]:
        """The live entry and the filter servers; without ``timeout_ms`` if there is no entry.

        It has no data version while topics are deferred.
        """
        return encoding.version_columns(None if self.is_deferred else self.version) | {
            "timeout_ms": self.timeout_ms if self.is_there else None,
            "ha": self.ha_addr,
            "from_host": self.announced_by,
            "fs": encoding.filter_servers(self.filter_servers) or None,
        }

    def is_as(self, entry: BrokerLiveInfo | None, servers: list[str | None]) -> bool:
        """Whether the tables have the same."""
        if entry is None:
            return not self.is_there and servers == self.filter_servers
        is_same = (entry.timeout_ms, entry.ha_server_addr, entry.announced_by) == (
            self.timeout_ms, self.ha_addr, self.announced_by,
        )  # fmt: skip
        return self.is_there and is_same and entry.data_version == self.version and servers == self.filter_servers


@dataclass(slots=True, eq=False)
class RecordedMember:
    """A key (cluster, broker, bid, addr) between its ``reg`` and its ``down``.

    ``heartbeat`` is the part of an ``hb`` record before its gap.
    """

    cluster: str
    broker: str
    bid: int
    addr: str
    live: RecordedLive
    heartbeat: bytes = b""

    def __post_init__(self) -> None:
        self.heartbeat = encoding.columns("hb", self.key_columns())[:-1]

    @property
    def key(self) -> BrokerAddrInfo:
        return BrokerAddrInfo(self.cluster, self.addr)

    def key_columns(self) -> dict[str, object]:
        return {"cluster": self.cluster, "broker": self.broker, "addr": self.addr, "bid": self.bid}


@dataclass(slots=True)
class RecordedGroup:
    """The members of one broker name by id, and the group's cluster and switches as they were last recorded."""

    cluster: str
    zone: str | None = None
    acting: bool = False
    members: dict[int, RecordedMember] = field(default_factory=dict)

    def note_switches(self, data: BrokerData) -> None:
        self.zone, self.acting = data.zone_name, data.enable_acting_master

    def is_as(self, data: BrokerData) -> bool:
        """Whether the tables have the same."""
        return (self.cluster, self.zone, self.acting) == (data.cluster, data.zone_name, data.enable_acting_master)


class RecordedTables:
    """What a reader of all records knows: groups by broker name, and live entries."""

    def __init__(self) -> None:
        self.groups: dict[str, RecordedGroup] = {}
        self.lives: dict[BrokerAddrInfo, RecordedLive] = {}

    def put_group(self, name: str, data: BrokerData) -> RecordedGroup:
        """A group, with the cluster of its own."""
        assert data.cluster is not None
        group = self.groups.get(name)
        if group is None:
            group = self.groups[name] = RecordedGroup(data.cluster)
        group.cluster = data.cluster
        group.note_switches(data)
        return group

    def add(self, cluster: str, data: BrokerData, broker_id: int, live: RecordedLive) -> RecordedMember:
        """A new member, whose address has this live entry."""
        name = data.broker_name
        group = self.groups.get(name) or self.put_group(name, data)
        group.note_switches(data)
        member = RecordedMember(cluster, name, broker_id, data.broker_addrs[broker_id], live)
        group.members[broker_id] = live.last = member
        live.members.append(member)
        self.lives[member.key] = live
        return member

    def remove(self, member: RecordedMember) -> None:
        """The last member takes the group along, and the last of an address the live entry."""
        group, live = self.groups[member.broker], member.live
        del group.members[member.bid]
        live.members.remove(member)
        if live.last is member:
            live.last = live.members[-1] if live.members else None
        if not live.members:
            del self.lives[member.key]
        if not group.members:
            del self.groups[member.broker]

    def of_broker(self, name: str) -> list[RecordedMember]:
        """The members of a broker name; none where it is unknown."""
        group = self.groups.get(name)
        return [] if group is None else list(group.members.values())


class Reconciler:
    """After a batch of events, compares the tables with the records, for the names and addresses that it touched.

    A batch touches few of them, whatever the tables hold. ``is_due``: it touched some, ``names`` are those of groups.
    """

    def __init__(self, tables: RouteTables, members: RecordedTables, buffer: Buffer) -> None:
        self._tables = tables
        self._members = members
        self._buffer = buffer
        self.names: dict[str, None] = {}
        self._keys: dict[BrokerAddrInfo, None] = {}
        self._routes_changed = False
        self.is_due = False

    def note_name(self, name: str) -> None:
        """The group of this name may have changed."""
        self.names[name] = None
        self.is_due = True

    def note_key(self, key: BrokerAddrInfo) -> None:
        """The live entry or the filter servers of this address may have changed."""
        self._keys[key] = None
        self.is_due = True

    def settle(self) -> bool:
        """Write what differs, and forget what was noted. Whether routes changed."""
        names, keys = self.names, self._keys
        self.names, self._keys, self.is_due, self._routes_changed = {}, {}, False, False
        for name in names:
            self._settle_group(name)
        for key in keys:
            self._settle_live(key)
        return self._routes_changed

    def _settle_group(self, name: str) -> None:
        data, group = self._tables.broker_addr_table.get(name), self._members.groups.get(name)
        if data is not None and group is not None and not group.is_as(data):
            recorded = self._members.put_group(name, data)
            switches = {"gcluster": recorded.cluster, "zone": recorded.zone, "acting": recorded.acting}
            self._buffer.put(encoding.columns("group", {"broker": name} | switches))
            self._routes_changed = True

    def _settle_live(self, key: BrokerAddrInfo) -> None:
        entry, servers = self._tables.broker_live_table.get(key), self._tables.filter_server_table.get(key, [])
        live = self._members.lives.get(key)
        if live is None and (entry is not None or servers):
            live = self._members.lives[key] = RecordedLive(0, False)
        if live is None or live.is_as(entry, servers):
            return
        if entry is None:
            live.is_there, live.ha_addr, live.announced_by = False, None, None
            live.note_version(None)
        else:
            live.note(entry.timeout_ms, entry.ha_server_addr, entry.data_version, entry.announced_by)
        live.filter_servers = servers
        self.write_live(key, live)
        self._routes_changed = True
        if not (live.is_there or live.members or live.filter_servers):
            del self._members.lives[key]

    def write_live(self, key: BrokerAddrInfo, live: RecordedLive) -> None:
        """Record the live entry of an address."""
        self._buffer.put(encoding.columns("live", live_columns(key, live)))


def member_columns(member: RecordedMember, group: RecordedGroup) -> dict[str, Any]:
    """All columns of ``reg``; without ``timeout_ms`` if the address has no live entry."""
    gcluster = None if group.cluster == member.cluster else group.cluster
    switches = {"zone": group.zone, "acting": group.acting, "gcluster": gcluster}
    return member.key_columns() | member.live.columns() | switches


def live_columns(key: BrokerAddrInfo, live: RecordedLive) -> dict[str, Any]:
    """All columns of ``live``."""
    return {"cluster": key.cluster, "live": key.addr} | live.columns()


def adopt(tables: RouteTables, members: RecordedTables) -> None:
    """The tables were filled at the start: all that is in them counts as recorded. A snapshot records it."""
    for key, entry in tables.broker_live_table.items():
        live = members.lives[key] = RecordedLive(entry.timeout_ms)
        live.note(entry.timeout_ms, entry.ha_server_addr, entry.data_version, entry.announced_by)
    for key, servers in tables.filter_server_table.items():
        members.lives.setdefault(key, RecordedLive(0, False)).filter_servers = servers
    for name, group in tables.broker_addr_table.items():
        members.put_group(name, group)
        for broker_id, addr in group.broker_addrs.items():
            cluster = tables.registrants[name][broker_id]
            live = members.lives.get(BrokerAddrInfo(cluster, addr)) or RecordedLive(0, False)
            members.add(cluster, group, broker_id, live)
