"""What was gathered about name servers, addresses and brokers: values that checks read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from rocketns.addresses import literal, split
from rocketns.doctor.words import N_
from rocketns.fleet.group_view import GroupView
from rocketns.protocol.body.route import QueueData, TopicRouteData
from rocketns.protocol.codes import MASTER_ID, PERM_READ, PERM_WRITE


@dataclass(frozen=True, slots=True)
class DoctorOptions:
    """Addresses are ``host:port``. ``client_version`` is an ordinal of MQVersion; None: not given.

    ``from_client``: this machine is where the client runs, so what cannot be reached from here is the fault.
    ``list_option``: the name servers as they were written, where that is one text; ``is_clients_list``: a client reads
    it. ``tls``: connections are opened with TLS. ``timeout_s`` is for each connection and for each answer.
    """

    name_servers: tuple[str, ...]
    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    brokers: tuple[str, ...] = ()
    from_client: bool = False
    client_version: int | None = None
    list_option: str = ""
    is_clients_list: bool = False
    tls: bool = False
    timeout_s: float = 5.0
    watch_s: float = 0.0


class Reaction(StrEnum):
    """What happened at an address."""

    ANSWERED = N_("answered")
    REFUSED = N_("refused")
    TIMED_OUT = N_("timed out")  # no connection in time
    UNREACHABLE = N_("unreachable")  # the network says so: no route to the host, network unreachable
    NO_HOST = N_("no machine answers")  # of brokers: or a firewall rejects connections to the address
    UNRESOLVED = N_("no address")  # the host name has no address
    SILENT = N_("silent")  # a connection, and no answer in time
    CLOSED = N_("closed")  # the peer ended the connection without an answer
    SPEAKS_TLS = N_("speaks TLS")  # it answers with TLS only, and was asked without
    SPEAKS_PLAIN = N_("speaks plain")  # it answers without TLS only, and was asked with it
    OTHER_PROTOCOL = N_("another protocol")  # what it sends is no frame of RocketMQ
    NOT_TRIED = "not tried"


class IpScope(StrEnum):
    """Where an IP address is."""

    LOOPBACK = N_("loopback")
    CONTAINER = N_("container network")  # as container engines have it: Docker's bridges, pod networks
    LINK_LOCAL = N_("link-local")
    PRIVATE = N_("private network")
    PUBLIC = N_("public")
    UNKNOWN = N_("unknown place")  # the host name has no address


@dataclass(frozen=True, slots=True)
class AddressFacts:
    """One address that a broker announces. ``addr`` is ``host:port`` as announced, ``ips`` what its host resolves to.

    ``error`` is the system's message, empty if there was none. ``is_here``:
    the address is one of this machine.
    """

    addr: str
    ips: tuple[str, ...] = ()
    scope: IpScope = IpScope.UNKNOWN
    outcome: Reaction = Reaction.NOT_TRIED
    error: str = ""
    is_here: bool = False


@dataclass(frozen=True, slots=True)
class BrokerClock:
    """How far a broker's clock is ahead of this machine's, in ms: somewhere between the two; negative is behind.

    A broker says when it started, and for how many whole seconds it has run, both by its own clock. So there is at
    least a second between them, and what its answer took.
    """

    from_ms: int
    to_ms: int


BROADCASTING = "BROADCASTING"  # of MessageModel


@dataclass(frozen=True, slots=True)
class Consumers:
    """Who consumes with a group at a broker. ``subscribes``: topics."""

    count: int
    model: str = ""
    subscribes: frozenset[str] = frozenset()


# Of a group at a broker, by topic and number of the queue: how many messages were stored, and how many consumed.
Offsets = Mapping[tuple[str, int], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Consumption:
    """How far a group is at a broker. ``later`` is a second look, some seconds after the first one; None where there
    was no need."""

    first: Offsets = field(default_factory=dict)
    later: Offsets | None = None

    @property
    def lag(self) -> int:
        """Messages that are not consumed yet, at the last look."""
        offsets = self.first if self.later is None else self.later
        return sum(max(0, stored - consumed) for stored, consumed in offsets.values())

    @property
    def moves(self) -> bool:
        """Whether a message was consumed between the two looks."""
        return any(consumed > self.first.get(queue, (0, 0))[1] for queue, (_, consumed) in (self.later or {}).items())


def number(text: str | None, default: int) -> int:
    """A text of up to nine digits as a number."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else default


@dataclass(slots=True)
class BrokerFacts:
    """Filled in while the broker is asked; checks only read it.

    ``addr`` is ``host:port`` as announced, or as given. ``version`` is the ordinal in the headers of its answers.

    Name, id and cluster are those of the name servers. Of a broker that no name server shows they are its own
    (``is_announced`` is False), and empty where it does not say.

    ``configuration`` (request 26) is None where it was not answered. ``name_servers``: the items of its list, each with
    the IP addresses that its host has here. ``topics`` has the configuration of each topic that was asked for; None:
    the broker does not have it. ``groups``: likewise of consumer groups. ``similar``: other groups of the broker by the
    group that it does not have. ``consumers`` and ``consumption`` by group; None: no consumer is connected.
    ``topics_bytes``: the size of all its topics as JSON, as in a registration, by the mean of the first thousand; None:
    not asked. ``topics_count``: their number, if known.
    ``codes`` has the response code of each request that was not answered with success, by request code.
    """

    name: str
    broker_id: int
    cluster: str
    addr: str
    is_announced: bool = True
    version: int | None = None
    configuration: Mapping[str, str] | None = None
    name_servers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    clock: BrokerClock | None = None
    topics: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)
    groups: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)
    similar: dict[str, tuple[str, ...]] = field(default_factory=dict)
    consumers: dict[str, Consumers | None] = field(default_factory=dict)
    consumption: dict[str, Consumption] = field(default_factory=dict)
    topics_bytes: int | None = None
    topics_count: int | None = None
    codes: Mapping[int, int] = field(default_factory=dict)

    def setting(self, name: str) -> str | None:
        """A property of its configuration. None: unknown."""
        return None if self.configuration is None else self.configuration.get(name)

    @property
    def own_list(self) -> list[str]:
        """The name servers of its configuration, as RocketMQ reads them: it splits at semicolons alone."""
        return [one for one in (self.setting("namesrvAddr") or "").split(";") if one]

    @property
    def sends_less(self) -> bool:
        """Whether it sends less than all of its topics as JSON in one registration."""
        return bool(self.is_on("compressedRegister") or self.is_on("enableSplitRegistration"))

    def ips_of(self, name_server: str) -> tuple[str, ...]:
        """The IP addresses of an item of its list, as far as they are known here."""
        host = split(name_server)[0]
        return self.name_servers.get(name_server) or ((host,) if literal(host) else ())

    @property
    def permission(self) -> int:
        """What it allows with all of its topics, as bits of a permission."""
        return number(self.setting("brokerPermission"), PERM_READ | PERM_WRITE)

    def is_on(self, name: str) -> bool | None:
        """A property that is true or false. None: unknown."""
        text = self.setting(name)
        return None if text is None else text.strip().lower() == "true"


class ServerKind(StrEnum):
    """What answers at the address."""

    JAVA = "java"
    ROCKETNS = "rocketns"
    OTHER = "other"  # it answers, and is no name server
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class LaterGroups:
    """Broker groups as no look before showed them, so many seconds after the first one."""

    at_s: float
    groups: Mapping[str, GroupView]


@dataclass(frozen=True)
class NameServerFacts:
    """``addr`` is ``host:port`` as given. Names come from peers: they are escaped where they are shown.

    ``error`` says why there is no answer, or which answers could not be read. ``version`` is the ordinal in the headers
    of its answers. ``clusters``: the broker names by cluster. ``topics`` is None where it does not list them.
    ``routes`` has each topic that was asked for; None: it has no route. ``codes`` has the response code of each request
    that was not answered with success, by request code. ``order``: the order configurations by topic. ``looks`` are
    later views of the groups. ``is_here``: it runs on this machine. ``name`` is what has
    this and other addresses; empty: no name was given, or it has one address.
    """

    addr: str
    outcome: Reaction
    error: str = ""
    ips: tuple[str, ...] = ()
    is_here: bool = False
    kind: ServerKind = ServerKind.UNKNOWN
    version: int | None = None
    groups: Mapping[str, GroupView] | None = None
    clusters: Mapping[str, frozenset[str]] = field(default_factory=dict)
    topics: frozenset[str] | None = None
    routes: Mapping[str, TopicRouteData | None] = field(default_factory=dict)
    configuration: Mapping[str, str] | None = None
    order: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[int, int] = field(default_factory=dict)
    looks: list[LaterGroups] = field(default_factory=list)
    name: str = ""

    @property
    def is_readable(self) -> bool:
        return self.groups is not None

    @cached_property
    def addrs(self) -> frozenset[str]:
        """The addresses of the brokers that it shows."""
        return frozenset(addr for group in (self.groups or {}).values() for _id, addr in group.addrs)

    def has(self, topic: str) -> bool:
        """Whether it has a route of a topic that was asked for."""
        return self.routes.get(topic) is not None

    def lacks(self, topic: str) -> bool:
        """Whether it said that it has no route of the topic. Both are False where it did not say."""
        return topic in self.routes and self.routes[topic] is None

    def queues(self, topic: str) -> dict[str, QueueData]:
        """The queues of a topic by broker name."""
        route = self.routes.get(topic)
        return {} if route is None else dict(route.queue_datas)


@dataclass(frozen=True)
class FleetFacts:
    """No field changes, so what is asked of them often is kept: there may be 10,000s of brokers.

    ``addresses`` by ``host:port`` as announced; ``brokers`` in no particular order.

    ``left_out`` counts brokers that were not asked, because there are too many. ``requests``: how many
    were sent.
    """

    options: DoctorOptions
    name_servers: tuple[NameServerFacts, ...]
    addresses: Mapping[str, AddressFacts] = field(default_factory=dict)
    brokers: tuple[BrokerFacts, ...] = ()
    left_out: int = 0
    requests: int = 0

    @cached_property
    def readable(self) -> list[NameServerFacts]:
        """The name servers that showed their brokers."""
        return [one for one in self.name_servers if one.is_readable]

    @cached_property
    def groups(self) -> dict[str, GroupView]:
        """Each broker group as the first name server that has it shows it."""
        found: dict[str, GroupView] = {}
        for name_server in self.readable:
            for name, group in (name_server.groups or {}).items():
                found.setdefault(name, group)
        return found

    @cached_property
    def clusters(self) -> dict[str, set[str]]:
        """The broker names of each cluster, at any name server."""
        found: dict[str, set[str]] = {}
        for name, group in self.groups.items():
            found.setdefault(group.cluster or "", set()).add(name)
        return found

    def queues(self, topic: str) -> dict[str, QueueData]:
        """The queues of a topic by broker name, at any name server that has its route."""
        return self._queues.get(topic, {})

    @cached_property
    def _queues(self) -> dict[str, dict[str, QueueData]]:
        found: dict[str, dict[str, QueueData]] = {}
        for name_server in reversed(self.name_servers):  # of two that differ the first one counts
            for topic in name_server.routes:
                found.setdefault(topic, {}).update(name_server.queues(topic))
        return found

    def missing_topics(self) -> list[str]:
        """The topics that were asked for, and that no name server has; at least one said so."""
        return [topic for topic in self.options.topics if any(one.lacks(topic) for one in self.name_servers)
                and not any(one.has(topic) for one in self.name_servers)]  # fmt: skip

    def divided_topics(self) -> list[str]:
        """The topics that were asked for, and that some name servers have and others do not."""
        return [topic for topic in self.options.topics if any(one.has(topic) for one in self.name_servers)
                and any(one.lacks(topic) for one in self.name_servers)]  # fmt: skip

    def unknown_at(self) -> Iterator[tuple[str, BrokerFacts]]:
        """The topics that were asked for, each with a master that name servers route to, and that does not have it."""
        for topic in self.options.topics:
            queues = self.queues(topic)
            for broker in self.brokers:
                is_routed = broker.broker_id == MASTER_ID and broker.is_announced and broker.name in queues
                if is_routed and broker.topics.get(topic, broker) is None:
                    yield topic, broker

    def masters(self) -> dict[str, str]:
        """The address of each group's master by broker name."""
        found = {name: dict(group.addrs).get(MASTER_ID) for name, group in self.groups.items()}
        return {name: addr for name, addr in found.items() if addr is not None}

    @cached_property
    def restricted(self) -> dict[str, BrokerFacts]:
        """The masters whose own configuration takes a permission from all of their topics, by address."""
        both = PERM_READ | PERM_WRITE
        return {one.addr: one for one in self.brokers if one.broker_id == MASTER_ID and one.permission & both != both}

    def broker(self, addr: str) -> BrokerFacts | None:
        """What the broker at an announced address said, if it was asked."""
        return next((one for one in self.brokers if one.addr == addr), None)
