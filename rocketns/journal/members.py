"""What the journal has recorded of broker groups and live entries, to find out what changed."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocketns.journal import encoding
from rocketns.protocol.body.route import BrokerData, DataVersion
from rocketns.routeinfo.tables import BrokerLiveInfo

Address = tuple[str, str]


@dataclass(slots=True)
class Live:
    """The live entry of a cluster and address, and its filter servers, as records give them.

    ``announced_by``: the host that registered it. ``is_there``: there is an entry. ``members``: those with this
    address, ``last`` the one that registered last. ``tail`` is the part of an ``hb`` record behind its gap: it rarely
    changes. ``large_beat_ms``: when a heartbeat with a large record was recorded last.
    """

    timeout_ms: int
    ha_addr: str | None = None
    version: DataVersion | None = None
    announced_by: str | None = None
    is_there: bool = True
    filter_servers: list[str | None] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)
    last: Member | None = None
    owes: bool = False
    tail: bytes = b"}"
    large_beat_ms: int | None = None

    def note(self, timeout_ms: int, ha_addr: str | None, version: DataVersion | None, announced_by: str | None) -> None:
        self.timeout_ms, self.ha_addr, self.announced_by, self.is_there = timeout_ms, ha_addr, announced_by, True
        self.note_version(version)

    def note_end(self) -> None:
        self.is_there = False
        self.note_version(None)

    def note_large_beat(self, now_ms: int) -> None:
        self.large_beat_ms = now_ms

    def note_last(self, member: Member) -> None:
        """It registered last."""
        self.last = member

    def note_filter_servers(self, servers: list[str | None]) -> None:
        self.filter_servers = servers

    def note_version(self, version: DataVersion | None) -> None:
        self.version = version
        self.tail = encoding.tail(self.version_columns())

    def note_owing(self, *, owes: bool) -> None:
        """Whether topics of a broker at this address have no record yet: after a crash it should send all of them."""
        self.owes = owes
        self.note_version(self.version)

    def version_columns(self) -> dict[str, int | None]:
        """None while it owes."""
        return {} if self.owes else encoding.version_columns(self.version)

    def is_as(self, entry: BrokerLiveInfo | None, servers: list[str | None]) -> bool:
        """Whether the tables have the same."""
        if entry is None:
            return not self.is_there and servers == self.filter_servers
        is_same = (entry.timeout_ms, entry.ha_server_addr, entry.announced_by) == (
            self.timeout_ms, self.ha_addr, self.announced_by,
        )  # fmt: skip
        return self.is_there and is_same and entry.data_version == self.version and servers == self.filter_servers


@dataclass(slots=True, eq=False)
class Member:
    """A key (cluster, broker, bid, addr) between its ``reg`` and its ``down``.

    ``heartbeat`` is the part of an ``hb`` record before its gap.
    """

    cluster: str
    broker: str
    bid: int
    addr: str
    live: Live
    heartbeat: bytes = b""

    def __post_init__(self) -> None:
        self.heartbeat = encoding.columns("hb", self.key_columns())[:-1]

    @property
    def address(self) -> Address:
        return self.cluster, self.addr

    def key_columns(self) -> dict[str, object]:
        return {"cluster": self.cluster, "broker": self.broker, "addr": self.addr, "bid": self.bid}


@dataclass(slots=True)
class RecordedGroup:
    """The members of one broker name by id, and the group's cluster and switches as they were last recorded."""

    cluster: str
    zone: str | None = None
    acting: bool = False
    members: dict[int, Member] = field(default_factory=dict)

    def note_switches(self, data: BrokerData) -> None:
        self.zone, self.acting = data.zone_name, data.enable_acting_master

    def is_as(self, data: BrokerData) -> bool:
        """Whether the tables have the same."""
        return (self.cluster, self.zone, self.acting) == (data.cluster, data.zone_name, data.enable_acting_master)


class Members:
    """What a reader of all records knows: groups by broker name, and live entries."""

    def __init__(self) -> None:
        self.groups: dict[str, RecordedGroup] = {}
        self.lives: dict[Address, Live] = {}

    def put_group(self, name: str, data: BrokerData) -> RecordedGroup:
        """A group, with the cluster of its own."""
        assert data.cluster is not None
        group = self.groups.get(name)
        if group is None:
            group = self.groups[name] = RecordedGroup(data.cluster)
        group.cluster = data.cluster
        group.note_switches(data)
        return group

    def add(self, cluster: str, data: BrokerData, broker_id: int, live: Live) -> Member:
        """A new member, whose address has this live entry."""
        name = data.broker_name
        group = self.groups.get(name) or self.put_group(name, data)
        group.note_switches(data)
        member = Member(cluster, name, broker_id, data.broker_addrs[broker_id], live)
        group.members[broker_id] = live.last = member
        live.members.append(member)
        self.lives[member.address] = live
        return member

    def remove(self, member: Member) -> None:
        """The last member takes the group along, and the last of an address the live entry."""
        group, live = self.groups[member.broker], member.live
        del group.members[member.bid]
        live.members.remove(member)
        if live.last is member:
            live.last = live.members[-1] if live.members else None
        if not live.members:
            del self.lives[member.address]
        if not group.members:
            del self.groups[member.broker]

    def of_broker(self, name: str) -> list[Member]:
        """The members of a broker name; none where it is unknown."""
        group = self.groups.get(name)
        return [] if group is None else list(group.members.values())

    def everyone(self) -> list[Member]:
        return [member for group in self.groups.values() for member in group.members.values()]
