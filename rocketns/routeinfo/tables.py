"""RouteInfoManager's six tables, and the few steps that several mutations share.

Only the control thread touches them. Which mutation does what is in the modules beside this one:
`registration`, `unregistration` and `topics`. `view` reads the tables, `liveness` finds overdue brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from rocketns._fast.routes.queue_table import change_queues, keep_unit_topics, put_queues, remove_queues, routes_of
from rocketns.protocol.body.route import BrokerData, DataVersion, QueueData, TopicQueueMappingInfo, TopicTable
from rocketns.routeinfo.broker_topics import (
    UNIT_FLAGS,
    BrokerTopics,
    routes_of_mapping,
    routes_of_name,
    routes_of_servers,
)
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.doubt import Doubt, Unheard
from rocketns.routeinfo.events import BrokerHeartbeat, Cause, Event, TopicChange

# Of one group. The one that left first makes room.
FORMER_OF_A_GROUP_MAX = 8
# A longer address is not remembered: one of a host name with its port has less.
ADDRESS_CHARACTERS_MAX = 300
DEFAULT_BROKER_CHANNEL_EXPIRED_TIME_MS = 120_000
# A day. A longer heartbeat timeout of a registration counts as this one: what a peer registers has an end.
HEARTBEAT_TIMEOUT_MS_MAX = 86_400_000
# Brokers send a heartbeat every 10 to 60 s with a timeout of 120 s, or every second with one of 10 s.
LATE_PERCENT = 55
# Groups of an address that remember it as their member when its live entry ends. A broker is in one.
NOTED_AT_ONCE_MAX = 8


def heartbeat_timeout_ms(asked_ms: int | None) -> int:
    """Of a broker that asks for so much, or for none."""
    return DEFAULT_BROKER_CHANNEL_EXPIRED_TIME_MS if asked_ms is None else min(asked_ms, HEARTBEAT_TIMEOUT_MS_MAX)


@dataclass(slots=True, frozen=True)
class AcceptedBody:
    """The little that is kept of a body of megabytes. ``removals``: the tables' count after the registration."""

    fingerprint: Hashable
    broker_name: str
    data_version: DataVersion
    clears_filter_servers: bool
    topics_applied: bool
    removals: int


class FormerMembers:
    """Bounded for each group, and forgotten with the group. A restart of the name server forgets all of it.

    With each address the host that announced it last, None if that is not known.
    """

    def __init__(self) -> None:
        self._of: dict[str, dict[str, str | None]] = {}

    def note(self, broker_name: str, addr: str, announced_by: str | None) -> None:
        """The address leaves the group, or one of its ids."""
        if len(addr) > ADDRESS_CHARACTERS_MAX:
            return
        former = self._of.setdefault(broker_name, {})
        former.pop(addr, None)
        if len(former) >= FORMER_OF_A_GROUP_MAX:
            del former[next(iter(former))]
        former[addr] = announced_by

    def of(self, broker_name: str) -> dict[str, str | None]:
        """The former members of a group, and who announced them."""
        return self._of.get(broker_name, {})

    def forget(self, broker_name: str) -> None:
        """The group is gone."""
        self._of.pop(broker_name, None)


class BrokerAddrInfo(NamedTuple):
    """The key of a live broker."""

    cluster: str
    addr: str


@dataclass(slots=True)
class BrokerLiveInfo:
    """A live broker. Times are milliseconds of the caller's clock.

    ``channel`` is the connection of the last registration. ``accepted`` is what `registration` needs of its body.
    ``grace_ms`` extends the timeout by the time in which the server itself did not run. With a ``doubt`` the broker is
    unconfirmed: the doubt's deadline counts instead of the timeout. Set it by `RouteTables.put_live_entry` or
    `liveness.doubt_broker`. ``has_registered``: with this process; one that was known at the start may have sent
    heartbeats only. ``principal``: by whose right it registered last.
    """

    last_update_ms: int
    timeout_ms: int
    data_version: DataVersion | None
    channel: Connection | None
    ha_server_addr: str | None
    accepted: AcceptedBody | None = field(default=None, compare=False, repr=False)
    grace_ms: int = field(default=0, compare=False, repr=False)
    doubt: Doubt | None = None
    has_registered: bool = field(default=True, compare=False, repr=False)
    announced_by: str | None = field(default=None, compare=False, repr=False)
    principal: str | None = field(default=None, compare=False, repr=False)

    def expires_before(self, now_ms: int) -> bool:
        doubt = self.doubt
        deadline_ms = self.last_update_ms + self.timeout_ms if doubt is None else doubt.deadline_ms
        return deadline_ms + self.grace_ms < now_ms

    @property
    def late_ms(self) -> int:
        """After so much silence it is late."""
        return self.timeout_ms * LATE_PERCENT // 100

    def is_late(self, now_ms: int) -> bool:
        return now_ms - self.last_update_ms > self.late_ms

    def gap_ms(self, now_ms: int) -> int | None:
        """Since the last sign of life; None if this process had none."""
        return now_ms - self.last_update_ms if self.doubt is None or self.doubt.was_heard else None


@dataclass(slots=True)
class RouteTables:
    """All route state. Names are Java's: topicQueueTable, brokerAddrTable, clusterAddrTable and so on.

    ``removals`` counts the queue data that `remove_queue_data` removed: while it is unchanged, no topic lost a broker.
    ``filled`` counts the brokers that the start knew.
    ``unnamed`` has members that a doubt kept, and that the sign of life which ended it did not name, with its deadline:
    what an address was called before. ``assumed``: the groups whose own cluster is known from the start alone.
    ``changed_groups`` are the names of broker groups that may have changed, ``static_topics`` the topics that got a
    queue mapping. Both accumulate until the publisher takes them. ``unheard`` has the groups whose topics were known at
    the start and not registered since.

    Indexes keep the cost of a closed connection independent of the number of brokers. ``owned`` has the live
    entries of each connection, ``by_principal`` those of each principal. ``memberships`` has, for each cluster and
    address, the groups of that cluster which list the address, with its id. ``registrants`` has the
    cluster that each member of a group registered with, and ``members_of`` the members of each live entry: a member
    leaves when the entry of the registration that made it ends. ``orphans`` are the addresses whose entry ended while
    they were members, and why it ended.
    ``unconfirmed`` has the live entries with a doubt. `put_live_entry`, `remove_live_entry`, `refresh`, `add_group`,
    `put_member`, `remove_member` and `remove_group` keep them.

    A group has at least one member. A cluster lists a group if it is the group's own cluster, or if a member of the
    group registered with it.

    ``broker_topics`` has the topics of each broker name, and ``mapped`` the routes of its mappings. ``routes`` and
    ``members`` count what the limits bound: routes as `broker_topics` does, and the ids of all groups. What adds or
    removes queues, mappings or filter servers keeps them.

    ``former`` has the addresses that left each group. `remove_live_entry`, `remove_member` and `remove_group` keep it.
    """

    topic_queue_table: dict[str, dict[str, QueueData]] = field(default_factory=dict)
    broker_addr_table: dict[str, BrokerData] = field(default_factory=dict)
    cluster_addr_table: dict[str, set[str]] = field(default_factory=dict)
    broker_live_table: dict[BrokerAddrInfo, BrokerLiveInfo] = field(default_factory=dict)
    filter_server_table: dict[BrokerAddrInfo, list[str | None]] = field(default_factory=dict)
    topic_queue_mapping_info_table: dict[str, dict[str | None, TopicQueueMappingInfo]] = field(default_factory=dict)
    removals: int = field(default=0, compare=False)
    filled: int = field(default=0, compare=False)
    changed_groups: set[str] = field(default_factory=set, compare=False)
    static_topics: set[str] = field(default_factory=set, compare=False)
    owned: dict[Connection, dict[BrokerAddrInfo, None]] = field(default_factory=dict, compare=False)
    by_principal: dict[str, dict[BrokerAddrInfo, None]] = field(default_factory=dict, compare=False)
    memberships: dict[tuple[str | None, str], dict[str, int]] = field(default_factory=dict, compare=False)
    registrants: dict[str, dict[int, str]] = field(default_factory=dict, compare=False)
    members_of: dict[BrokerAddrInfo, dict[str, int]] = field(default_factory=dict, compare=False)
    orphans: dict[BrokerAddrInfo, Cause] = field(default_factory=dict, compare=False)
    unconfirmed: dict[BrokerAddrInfo, BrokerLiveInfo] = field(default_factory=dict, compare=False)
    unheard: dict[str, Unheard] = field(default_factory=dict, compare=False)
    unnamed: dict[tuple[BrokerAddrInfo, str], int] = field(default_factory=dict, compare=False)
    assumed: set[str] = field(default_factory=set, compare=False)
    broker_topics: dict[str, BrokerTopics] = field(default_factory=dict, compare=False, repr=False)
    mapped: dict[str, int] = field(default_factory=dict, compare=False, repr=False)
    routes: int = field(default=0, compare=False)
    members: int = field(default=0, compare=False)
    former: FormerMembers = field(default_factory=FormerMembers, compare=False, repr=False)

    def shared_name(self, broker_name: str) -> str:
        """The object for this name that the tables hold, if they do.

        Whatever looks up a broker in many topics uses this object: an equal one would be compared with it each time,
        byte for byte.
        """
        group = self.broker_addr_table.get(broker_name)
        return broker_name if group is None else group.broker_name

    def live(self, cluster: str | None, addr: str | None) -> BrokerLiveInfo | None:
        """The live entry of an address in a cluster."""
        return self.broker_live_table.get(BrokerAddrInfo(cluster, addr)) if cluster is not None and addr else None

    def put_live_entry(self, key: BrokerAddrInfo, entry: BrokerLiveInfo) -> None:
        """Add the live entry of an address, or replace it."""
        previous = self.broker_live_table.get(key)
        if previous is not None and previous.channel is not entry.channel:
            _strike(self.owned, previous.channel, key)
        if previous is not None and previous.principal != entry.principal:
            _strike(self.by_principal, previous.principal, key)
        self.broker_live_table[key] = entry
        self.orphans.pop(key, None)
        if entry.doubt is not None:
            self.unconfirmed[key] = entry
        elif self.unconfirmed:
            self.unconfirmed.pop(key, None)
        if entry.channel is not None:
            self.owned.setdefault(entry.channel, {})[key] = None
        if entry.principal is not None:
            self.by_principal.setdefault(entry.principal, {})[key] = None

    def remove_live_entry(self, key: BrokerAddrInfo, cause: Cause) -> BrokerLiveInfo | None:
        """Remove the live entry of an address, if it has one, and its filter servers. Return the entry.

        Its members must leave: until they did it is an orphan.
        """
        entry = self.broker_live_table.pop(key, None)
        if key in self.members_of:
            self.orphans[key] = cause
            self._note_former(key, islice(self.members_of[key], NOTED_AT_ONCE_MAX), entry)
        self.put_filter_servers(key, [])
        if entry is not None:
            _strike(self.owned, entry.channel, key)
            _strike(self.by_principal, entry.principal, key)
            self.unconfirmed.pop(key, None)
        return entry

    def _note_former(self, key: BrokerAddrInfo, names: Iterable[str], entry: BrokerLiveInfo | None) -> None:
        if entry is not None:
            for name in names:
                self.former.note(name, key.addr, entry.announced_by)

    def add_group(self, cluster: str, broker_name: str) -> BrokerData:
        """A new group. The caller gives it a member at once."""
        group = self.broker_addr_table[broker_name] = BrokerData(cluster, broker_name, {})
        self.registrants[broker_name] = {}
        self.cluster_addr_table.setdefault(cluster, set()).add(broker_name)
        return group

    def put_member(self, group: BrokerData, broker_id: int, addr: str, cluster: str) -> None:
        """Give an id of a group to an address that registered with ``cluster``. A former holder loses the id."""
        name, former = group.broker_name, group.broker_addrs.get(broker_id)
        is_same = former == addr and self.registrants[name][broker_id] == cluster
        if former is not None and not is_same:
            self.remove_member(group, broker_id)
        self.members += broker_id not in group.broker_addrs
        group.broker_addrs[broker_id] = addr
        self.memberships.setdefault((group.cluster, addr), {})[name] = broker_id
        self.members_of.setdefault(BrokerAddrInfo(cluster, addr), {})[name] = broker_id
        self.registrants[name][broker_id] = cluster
        self.cluster_addr_table.setdefault(cluster, set()).add(name)
        if cluster == group.cluster:
            self.assumed.discard(name)
        if name in self.assumed:
            self._settle_cluster(group)

    def remove_member(self, group: BrokerData, broker_id: int) -> None:
        """Free an id of a group."""
        self.members -= 1
        name, addr = group.broker_name, group.broker_addrs.pop(broker_id)
        cluster = self.registrants[name].pop(broker_id)
        _drop(self.memberships, (group.cluster, addr), name, broker_id)
        key = BrokerAddrInfo(cluster, addr)
        self._note_former(key, (name,), self.broker_live_table.get(key))
        _drop(self.members_of, key, name, broker_id)
        if key not in self.members_of:
            self.orphans.pop(key, None)
        if cluster != group.cluster and cluster not in self.registrants[name].values():
            self._unlist(cluster, name)
        if name in self.assumed:
            self._settle_cluster(group)

    def _settle_cluster(self, group: BrokerData) -> None:
        """A group whose own cluster is assumed takes that of a member, once no member registered with its own."""
        name, former = group.broker_name, group.cluster
        clusters = self.registrants[name].values()
        if not clusters or former in clusters:
            return
        self.assumed.discard(name)
        assert former is not None
        group.cluster = next(iter(clusters))
        for broker_id, addr in group.broker_addrs.items():
            _drop(self.memberships, (former, addr), name, broker_id)
            self.memberships.setdefault((group.cluster, addr), {})[name] = broker_id
        self._unlist(former, name)

    def remove_group(self, group: BrokerData) -> None:
        """The group has no member left. Its topics are for the caller to delete."""
        name = group.broker_name
        del self.broker_addr_table[name], self.registrants[name]
        self.unheard.pop(name, None)
        self.assumed.discard(name)
        self.former.forget(name)
        assert group.cluster is not None
        self._unlist(group.cluster, name)

    def _unlist(self, cluster: str, broker_name: str) -> None:
        names = self.cluster_addr_table[cluster]
        names.discard(broker_name)
        if not names:
            del self.cluster_addr_table[cluster]

    def note_named(self, key: BrokerAddrInfo, broker_name: str, doubt: Doubt | None) -> None:
        """A sign of life names a member. It ends ``doubt``, but the address' other members must be named in time."""
        if doubt is not None:
            self.unnamed.update({(key, name): doubt.deadline_ms for name in self.members_of.get(key, ())})
        self.unnamed.pop((key, broker_name), None)

    def refresh(
        self, cluster: str, addr: str, now_ms: int, channel: Connection | None = None, broker_name: str | None = None
    ) -> list[Event]:
        """updateBrokerInfoUpdateTimestamp: a heartbeat of an unknown address changes nothing.

        It confirms a broker; without a name, all members of the address. The connection of a broker that this process
        heard for the first time is kept, as that of a registration is: a broker may not register for days after it.
        """
        entry = self.live(cluster, addr)
        if entry is None:
            return []
        gap_ms, doubt = entry.gap_ms(now_ms), entry.doubt
        entry.last_update_ms, entry.grace_ms = now_ms, 0
        if doubt is not None:
            key = BrokerAddrInfo(cluster, addr)
            entry.doubt, entry.channel = None, entry.channel or channel
            self.put_live_entry(key, entry)
        if broker_name is not None and (doubt is not None or self.unnamed):
            self.note_named(BrokerAddrInfo(cluster, addr), broker_name, doubt)
        return [BrokerHeartbeat(cluster, addr, gap_ms, doubt)]

    def put_filter_servers(self, key: BrokerAddrInfo, servers: list[str | None]) -> None:
        """Replace the filter servers of a broker; an empty list removes them."""
        former = self.filter_server_table.get(key, [])
        if former == servers:
            return
        self.routes += routes_of_servers(servers) - routes_of_servers(former)
        if servers:
            self.filter_server_table[key] = servers
        else:
            del self.filter_server_table[key]
        self.changed_groups.update(self.memberships.get((key.cluster, key.addr), ()))

    def put_mapping(self, topic: str, info: TopicQueueMappingInfo) -> bool:
        """A broker's mapping of a static topic; none is kept of a broker without the topic. Whether it is another."""
        if info.bname is None or info.bname not in self.topic_queue_table.get(topic, ()):
            return False
        infos = self.topic_queue_mapping_info_table.setdefault(topic, {})
        former = infos.get(info.bname)
        more = routes_of_mapping(topic, info) - (0 if former is None else routes_of_mapping(topic, former))
        self._count_mapped(info.bname, more)
        infos[info.bname] = info
        return former != info

    def _remove_mapping(self, topic: str, broker_name: str) -> None:
        """The broker has no such topic any more."""
        infos = self.topic_queue_mapping_info_table.get(topic, {})
        info = infos.pop(broker_name, None)
        if info is not None:
            self._count_mapped(broker_name, -routes_of_mapping(topic, info))
            if not infos:
                del self.topic_queue_mapping_info_table[topic]

    def _count_mapped(self, broker_name: str, more: int) -> None:
        self.routes += more
        self.mapped[broker_name] = self.mapped.get(broker_name, 0) + more
        if not self.mapped[broker_name]:
            del self.mapped[broker_name]

    def topics_of_broker(self, broker_name: str) -> list[str]:
        """Every topic that has queue data of the broker, in the order in which they came. Do not change the list."""
        own = self.broker_topics.get(broker_name)
        if own is None:
            return []
        own.tidy(broker_name, self.topic_queue_table)
        return own.names

    def put_topics(
        self, broker_name: str, queues: dict[str, QueueData], table: TopicTable | None = None, *, overwrite: bool = True
    ) -> list[TopicChange]:
        """Queue data of a broker by topic, or by key of a table; without ``overwrite`` only what the broker lacks."""
        own = self.broker_topics.setdefault(broker_name, BrokerTopics())
        before, renamed = len(own.names), {} if table is None else table.renamed
        changes = put_queues(self.topic_queue_table, broker_name, queues, renamed, overwrite, TopicChange, own.names)
        self._note_topics(broker_name, own, before, changes)
        return changes

    def note_filled(self, broker_name: str, changes: list[TopicChange]) -> None:
        """The table has these topics of a broker, and did not have them before."""
        own = self.broker_topics.setdefault(broker_name, BrokerTopics())
        before = len(own.names)
        own.names += [change.topic for change in changes]
        self._note_topics(broker_name, own, before, changes)

    def _note_topics(self, broker_name: str, own: BrokerTopics, before: int, changes: list[TopicChange]) -> None:
        keep_unit_topics(changes, own.unit_topics, UNIT_FLAGS)
        routes = routes_of(own.names, before)
        own.routes += routes
        self.routes += routes
        if not own.routes:
            del self.broker_topics[broker_name]

    def change_topics(self, broker_name: str, change: Callable[[QueueData], QueueData]) -> list[TopicChange]:
        """Replace all queue data of a broker. Returns what differs."""
        return change_queues(
            self.topic_queue_table, broker_name, self.topics_of_broker(broker_name), change, TopicChange
        )

    def remove_topics(self, broker_name: str) -> list[str]:
        """Drop all queue data of a broker, and the topics with their last one. Returns the topics of the broker."""
        topics = self.topics_of_broker(broker_name)
        remove_queues(self.topic_queue_table, broker_name, topics)
        for topic in topics if self.topic_queue_mapping_info_table else ():
            self._remove_mapping(topic, broker_name)
        self.removals += len(topics)
        own = self.broker_topics.pop(broker_name, None)
        self.routes -= 0 if own is None else own.routes
        return topics

    def remove_queue_data(self, topic: str, broker_name: str) -> bool:
        """Drop one broker's queue data, and the topic with its last one. Whether there was any."""
        queues = self.topic_queue_table.get(topic)
        if queues is None or broker_name not in queues:
            return False
        self.removals += 1
        del queues[broker_name]
        if not queues:
            del self.topic_queue_table[topic]
        own, routes = self.broker_topics[broker_name], routes_of_name(topic)
        self.routes -= routes
        own.lose(topic, broker_name, routes, self.topic_queue_table)
        if not own.routes:
            del self.broker_topics[broker_name]
        self._remove_mapping(topic, broker_name)
        return True


def _strike(index: dict[Any, dict[BrokerAddrInfo, None]], owner: object, key: BrokerAddrInfo) -> None:
    """Remove a key of an owner, if it has one, from an index."""
    keys = index.get(owner)
    if keys is not None:
        keys.pop(key, None)
        if not keys:
            del index[owner]


def _drop(index: dict[Any, dict[str, int]], key: object, name: str, broker_id: int) -> None:
    """Remove the membership from an index, unless the address has another id of the group by now."""
    names = index.get(key, {})
    if names.get(name) == broker_id:
        del names[name]
        if not names:
            del index[key]
