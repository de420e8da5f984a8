"""The members of broker groups that the journal has recorded, to find out what changed."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocketns.journal import encoding
from rocketns.protocol.body.route import BrokerData, DataVersion


@dataclass(slots=True)
class Member:
    """A key (cluster, broker, bid, addr) between its ``reg`` and its ``down``, and what the last record said of it.

    ``heartbeat`` and ``tail`` are the parts of an ``hb`` record around its gap: they rarely change.
    """

    cluster: str
    broker: str
    bid: int
    addr: str
    timeout_ms: int
    ha_addr: str | None
    version: DataVersion | None = None
    filter_servers: list[str | None] = field(default_factory=list)
    address: tuple[str, str] = ("", "")
    heartbeat: bytes = b""
    tail: bytes = b""

    def __post_init__(self) -> None:
        self.address = (self.cluster, self.addr)
        self.heartbeat = encoding.columns("hb", self.key_columns())[:-1]
        self.note_version(self.version)

    def key_columns(self) -> dict[str, object]:
        return {"cluster": self.cluster, "broker": self.broker, "addr": self.addr, "bid": self.bid}

    def note_attributes(self, timeout_ms: int, ha_addr: str | None) -> None:
        self.timeout_ms, self.ha_addr = timeout_ms, ha_addr

    def note_filter_servers(self, servers: list[str | None]) -> None:
        self.filter_servers = servers

    def note_version(self, version: DataVersion | None) -> None:
        self.version = version
        columns = {name: value for name, value in encoding.version_columns(version).items() if value is not None}
        self.tail = b"," + encoding.dumps(columns)[1:] if columns else b"}"


@dataclass(slots=True)
class Group:
    """The members of one broker name by id, and the group's cluster and switches as they were last recorded."""

    cluster: str | None = None
    zone: str | None = None
    acting: bool = False
    members: dict[int, Member] = field(default_factory=dict)

    def note(self, data: BrokerData) -> None:
        self.cluster, self.zone, self.acting = data.cluster, data.zone_name, data.enable_acting_master


class Members:
    """All groups by broker name, and the members by cluster and address, the last registered where several share it."""

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}
        self.by_addr: dict[tuple[str, str], Member] = {}

    def add(self, member: Member) -> None:
        self.groups.setdefault(member.broker, Group()).members[member.bid] = member
        self.by_addr[member.address] = member

    def remove(self, member: Member) -> None:
        group = self.groups[member.broker]
        del group.members[member.bid]
        if not group.members:
            del self.groups[member.broker]
        if self.by_addr.get(member.address) is member:
            del self.by_addr[member.address]

    def of_broker(self, name: str) -> list[Member]:
        """The members of a broker name; none where it is unknown."""
        group = self.groups.get(name)
        return [] if group is None else list(group.members.values())

    def everyone(self) -> list[Member]:
        return [member for group in self.groups.values() for member in group.members.values()]
