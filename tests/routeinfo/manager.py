"""RouteInfoManager's methods over the real route tables, with a clock that a test moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from rocketns.config import NamesrvConfig
from rocketns.protocol.body import bodies
from rocketns.protocol.body.register_broker_body import TopicConfigWrapper
from rocketns.protocol.body.route import (
    DataVersion,
    QueueData,
    TopicConfig,
    TopicQueueMappingInfo,
    TopicRouteData,
    TopicTable,
    queue_data,
)
from rocketns.routeinfo import liveness, topics, view
from rocketns.routeinfo.broker_topics import UNIT_FLAGS, routes_of_mapping, routes_of_name, routes_of_servers
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import BrokerDown, BrokerRegistered, Cause, Event, TopicsDeleted, TopicsPut
from rocketns.routeinfo.registration import BrokerRegistration, RegisterBrokerResult, register_broker
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo, RouteTables
from rocketns.routeinfo.unregistration import UnregisterRequest, unregister_brokers

CLUSTER, BROKER, ADDR, SLAVE_ADDR = "Default_Cluster", "Default_Broker", "127.0.0.1:10911", "127.0.0.1:30911"
NORMAL = queue_data(8, 8, 6, 0)
READ_ONLY = queue_data(8, 8, 4, 0)
WRITE = 2
VERSION = DataVersion(state_version=0, timestamp=1_700_000_000_000, counter=1)


@dataclass(frozen=True)
class Broker:
    """What a broker registers with; by default a master."""

    cluster: str = CLUSTER
    name: str = BROKER
    addr: str = ADDR
    id: int = 0
    ha_addr: str | None = "127.0.0.1:20911"
    acting: bool | None = True
    version: DataVersion | None = VERSION
    zone: str | None = None
    timeout_ms: int | None = None
    channel: Connection | None = field(default_factory=object)
    announced_by: str | None = None

    def but(self, **changes: object) -> Broker:
        return replace(self, **changes)  # type: ignore[arg-type]

    def next_version(self) -> Broker:
        assert self.version is not None
        return self.but(version=self.version._replace(counter=(self.version.counter or 0) + 1))

    def leaving(self, cause: Cause = Cause.UNREGISTER) -> UnregisterRequest:
        return UnregisterRequest(self.cluster, self.addr, self.name, self.id, cause)


MASTER = Broker()
SLAVE = Broker(addr=SLAVE_ADDR, id=1, ha_addr="127.0.0.1:40911")


def table_of(*names: str, **queues: QueueData) -> dict[str, TopicConfig]:
    """Topics with 8 queues and full permission, and those given with their queue data."""
    return {name: TopicConfig(name, data) for name, data in (dict.fromkeys(names, NORMAL) | queues).items()}


@dataclass
class Manager:
    """The tables and their configuration. Every event since the start is in ``events``."""

    tables: RouteTables = field(default_factory=RouteTables)
    config: NamesrvConfig = field(default_factory=lambda: NamesrvConfig(support_acting_master=True))
    now_ms: int = 1_000_000
    events: list[Event] = field(default_factory=list)

    def note(self, events: Iterable[Event]) -> list[Event]:
        noted = list(events)
        self.events += noted
        return noted

    def register(
        self,
        broker: Broker,
        table: dict[str, TopicConfig] | None,
        mappings: dict[str, TopicQueueMappingInfo] | None = None,
        filters: list[str | None] | None = None,
    ) -> RegisterBrokerResult:
        topics = None if table is None else TopicTable.of(table.items())
        return self.register_wrapper(broker, TopicConfigWrapper(broker.version, topics, mappings or {}), filters)

    def register_wrapper(
        self, broker: Broker, wrapper: TopicConfigWrapper | None, filters: list[str | None] | None = None
    ) -> RegisterBrokerResult:
        asked = BrokerRegistration(
            BrokerAddrInfo(broker.cluster, broker.addr), broker.name, broker.id, broker.ha_addr, broker.zone,
            broker.timeout_ms, broker.acting, wrapper, filters, broker.channel, announced_by=broker.announced_by,
        )  # fmt: skip
        result = register_broker(self.tables, self.config, asked, self.now_ms)
        self.note(result.events)
        return result

    def unregister(self, *leaving: Broker | UnregisterRequest) -> list[Event]:
        batch = [one.leaving() if isinstance(one, Broker) else one for one in leaving]
        events = self.note(unregister_brokers(self.tables, batch, self.now_ms))
        while orphaned := liveness.orphaned(self.tables, 2):
            events += self.note(unregister_brokers(self.tables, orphaned, self.now_ms))
        return events

    def close(self, channel: Connection, cause: Cause = Cause.CHANNEL_CLOSE) -> list[Event]:
        return self.unregister(*liveness.closed_connection(self.tables, channel, cause))

    def scan(self) -> list[Connection | None]:
        """Expire what is overdue; the connections that are to be closed."""
        expired = liveness.expired_brokers(self.tables, self.now_ms)
        self.unregister(*(one.request for one in expired))
        return [one.entry.channel for one in expired]

    def register_topic(self, topic: str | None, *queue_datas: tuple[str | None, QueueData]) -> list[Event]:
        return self.note(topics.register_topic(self.tables, topic, list(queue_datas)))

    def delete_topic(self, topic: str | None, cluster: str | None = None) -> list[Event]:
        return self.note(topics.delete_topic(self.tables, topic, cluster))

    def wipe_write_perm(self, broker_name: str | None) -> int:
        count, events = topics.wipe_write_perm(self.tables, broker_name)
        self.note(events)
        return count

    def add_write_perm(self, broker_name: str | None) -> int:
        count, events = topics.add_write_perm(self.tables, broker_name)
        self.note(events)
        return count

    def pick_up(self, topic: str | None) -> TopicRouteData | None:
        return view.pick_up_route(self.tables, self.config, topic)

    def route(self, topic: str) -> TopicRouteData:
        route = self.pick_up(topic)
        assert route is not None, f"no route of {topic}"
        return route

    def addrs(self, topic: str, broker_name: str = BROKER) -> dict[int, str]:
        """The addresses that the route of a topic shows for one broker."""
        return next(group.broker_addrs for group in self.route(topic).broker_datas if group.broker_name == broker_name)

    def perm(self, topic: str, broker_name: str = BROKER) -> int:
        return dict(self.route(topic).queue_datas)[broker_name].perm

    def live(self, broker: Broker) -> BrokerLiveInfo | None:
        return self.tables.live(broker.cluster, broker.addr)

    def key(self, broker: Broker) -> BrokerAddrInfo:
        return BrokerAddrInfo(broker.cluster, broker.addr)


# Rules that the tables keep after every mutation, and a replay of the events to compare with them.

OUTGOING_BYTES_MAX = 1 << 26


def check_tables(tables: RouteTables, now_ms: int) -> None:
    """AssertionError with the violated rule."""
    _check_nothing_is_empty(tables)
    _check_groups(tables)
    for topic, queues in tables.topic_queue_table.items():
        assert queues.keys() <= tables.broker_addr_table.keys(), f"{topic} has queue data of a broker without a group"
    _check_indexes(tables)
    for key, entry in tables.broker_live_table.items():
        assert key.cluster, "a live broker without a cluster"
        assert key.addr, "a live broker without an address"
        assert entry.last_update_ms <= now_ms, f"{key} was refreshed in the future"


def _check_indexes(tables: RouteTables) -> None:
    """The index has what a scan of all entries would find, except for closed connections."""
    for connection, keys in tables.owned.items():
        own = {key for key, entry in tables.broker_live_table.items() if entry.channel is connection}
        assert keys, "a connection that owns nothing is kept"
        assert keys.keys() <= own, f"{set(keys) - own} belong to another connection"
    by_principal: dict[str, set[BrokerAddrInfo]] = {}
    for key, entry in tables.broker_live_table.items():
        if entry.principal is not None:
            by_principal.setdefault(entry.principal, set()).add(key)
    assert {principal: keys.keys() for principal, keys in tables.by_principal.items()} == by_principal
    members: dict[tuple[str | None, str], dict[str, int]] = {}
    for group in tables.broker_addr_table.values():
        for broker_id, addr in group.broker_addrs.items():
            members.setdefault((group.cluster, addr), {})[group.broker_name] = broker_id
    assert tables.memberships == members
    held: dict[BrokerAddrInfo, dict[str, int]] = {}
    listed: dict[str, set[str]] = {}
    for name, group in tables.broker_addr_table.items():
        assert tables.registrants[name].keys() == group.broker_addrs.keys()
        for cluster in (group.cluster, *tables.registrants[name].values()):
            assert cluster is not None
            listed.setdefault(cluster, set()).add(name)
        for broker_id, cluster in tables.registrants[name].items():
            held.setdefault(BrokerAddrInfo(cluster, group.broker_addrs[broker_id]), {})[name] = broker_id
    assert tables.registrants.keys() == tables.broker_addr_table.keys()
    assert tables.members_of == held
    assert tables.cluster_addr_table == listed
    assert tables.orphans.keys() == held.keys() - tables.broker_live_table.keys(), "a member without a live entry stays"
    assert tables.filter_server_table.keys() <= tables.broker_live_table.keys()
    doubted = {key: entry for key, entry in tables.broker_live_table.items() if entry.doubt is not None}
    assert tables.unconfirmed == doubted
    assert tables.unheard.keys() <= tables.broker_addr_table.keys()
    assert tables.former._of.keys() <= tables.broker_addr_table.keys(), (
        "a group is gone, and its former members are not"
    )
    _check_counts(tables)


def _check_counts(tables: RouteTables) -> None:
    """What the limits are compared with, counted again."""
    topics: dict[str, set[str]] = {}
    for topic, queues in tables.topic_queue_table.items():
        for name in queues:
            topics.setdefault(name, set()).add(topic)
    held = tables.broker_topics
    assert held.keys() == topics.keys()
    for name, of_broker in topics.items():
        assert held[name].routes == sum(map(routes_of_name, of_broker))
        assert len(held[name].names) == len(of_broker) + held[name].gone
        assert set(held[name].names) >= of_broker
        with_flag = {topic for topic in of_broker if tables.topic_queue_table[topic][name].topic_sys_flag & UNIT_FLAGS}
        assert held[name].unit_topics.keys() == with_flag
    mapped: Counter[str | None] = Counter()
    for topic, infos in tables.topic_queue_mapping_info_table.items():
        mapped.update({name: routes_of_mapping(topic, info) for name, info in infos.items()})
    assert tables.mapped == mapped
    routes = sum(one.routes for one in held.values()) + mapped.total()
    routes += sum(map(routes_of_servers, tables.filter_server_table.values()))
    assert tables.routes == routes
    assert tables.members == sum(len(group.broker_addrs) for group in tables.broker_addr_table.values())


def _check_nothing_is_empty(tables: RouteTables) -> None:
    for name, table in {
        "topicQueueTable": tables.topic_queue_table,
        "clusterAddrTable": tables.cluster_addr_table,
        "filterServerTable": tables.filter_server_table,
        "topicQueueMappingInfoTable": tables.topic_queue_mapping_info_table,
    }.items():
        empty = [key for key, value in table.items() if not value]
        assert not empty, f"{name} has empty entries: {empty}"


def _check_groups(tables: RouteTables) -> None:
    for name, group in tables.broker_addr_table.items():
        assert group.broker_name == name, f"the group {group.broker_name} is stored as {name}"
        assert group.cluster is not None
        listed = tables.cluster_addr_table.get(group.cluster, set())
        assert name in listed, f"{name} is not listed by its own cluster {group.cluster}"
        addrs = list(group.broker_addrs.values())
        assert len(addrs) == len(set(addrs)), f"{name} has one address under two ids: {group.broker_addrs}"
        assert all(addrs), f"{name} has an id without an address: {group.broker_addrs}"
        assert addrs, f"{name} has no member"


def check_views(tables: RouteTables, config: NamesrvConfig) -> None:
    """Check that every topic has a route, every answer can be encoded, and reading changes nothing."""
    before = repr(tables)
    for topic, queues in tables.topic_queue_table.items():
        route = view.pick_up_route(tables, config, topic)
        assert route is not None, f"{topic} has queue data and no route"
        assert [name for name, _ in route.queue_datas] == sorted(queues)
        assert [group.broker_name for group in route.broker_datas] == sorted(queues)
        for standard in (False, True):
            assert bodies.topic_route_data(route, standard=standard)
        view.filter_by_zone(route, "z1")
        assert {name for name, _ in route.queue_datas} == {group.broker_name for group in route.broker_datas}
    bodies.cluster_info(tables.broker_addr_table, tables.cluster_addr_table, OUTGOING_BYTES_MAX)
    names, broker_addr = view.system_topics(tables, tables.broker_addr_table)
    bodies.topic_list(names, OUTGOING_BYTES_MAX, broker_addr)
    assert repr(tables) == before, "reading changed the tables"


@dataclass
class Replay:
    """The topics and the live brokers, made from the events alone."""

    topics: dict[str, dict[str, QueueData]] = field(default_factory=dict)
    live: set[BrokerAddrInfo] = field(default_factory=set)

    def apply(self, events: Iterable[Event]) -> None:
        for event in events:
            match event:
                case TopicsPut():
                    self._put(event)
                case TopicsDeleted():
                    self._delete(event)
                case BrokerRegistered():
                    key = BrokerAddrInfo(event.cluster, event.addr)
                    is_first = event.gap_ms is None and event.doubt is None
                    assert is_first == (key not in self.live), f"not the first or not the next: {event}"
                    self.live.add(key)
                case BrokerDown():
                    key = BrokerAddrInfo(event.cluster, event.addr)
                    assert event.live <= (key in self.live), f"live or not: {event}"
                    assert event.live or event.gap_ms is None, f"a gap of nobody: {event}"
                    if event.live:  # otherwise it may stay, as a member of another group
                        self.live.remove(key)

    def _put(self, event: TopicsPut) -> None:
        assert event.changes, f"no change at all: {event}"
        for change in event.changes:
            queues = self.topics.setdefault(change.topic, {})
            assert queues.get(event.broker_name) == change.old != change.new, f"no change from before: {change}"
            queues[event.broker_name] = change.new

    def _delete(self, event: TopicsDeleted) -> None:
        assert event.topics, f"nothing deleted: {event}"
        for topic in event.topics:
            del self.topics[topic][event.broker_name]
            if not self.topics[topic]:
                del self.topics[topic]

    def check(self, tables: RouteTables) -> None:
        """Check that the events alone give the topics and the live brokers."""
        assert self.topics == tables.topic_queue_table, "the events give other topics than the tables"
        assert self.live == tables.broker_live_table.keys(), "the events give other live brokers than the tables"
