"""Rules that the tables keep after every mutation, and a replay of the events to compare with them.

This is not a rule: that a live broker has an address in a group. A replaced one keeps its entry until its end, and a
request with a wrong cluster leaves it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rocketns.config import NamesrvConfig
from rocketns.protocol.body import bodies
from rocketns.protocol.body.route import QueueData
from rocketns.routeinfo import view
from rocketns.routeinfo.events import BrokerDown, BrokerRegistered, Event, TopicsDeleted, TopicsPut
from rocketns.routeinfo.held.broker_topics import UNIT_FLAGS
from rocketns.routeinfo.held.sizes import routes_of_mapping, routes_of_name, routes_of_servers
from rocketns.routeinfo.tables import BrokerAddrInfo, RouteTables

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
    assert tables.held == held
    assert tables.cluster_addr_table == listed
    assert tables.orphans.keys() == held.keys() - tables.broker_live_table.keys(), "a member without a live entry stays"
    assert tables.filter_server_table.keys() <= tables.broker_live_table.keys()
    doubted = {key: entry for key, entry in tables.broker_live_table.items() if entry.doubt is not None}
    assert tables.unconfirmed == doubted
    assert tables.unheard.keys() <= tables.broker_addr_table.keys()
    assert tables.former.names() <= tables.broker_addr_table.keys(), "a group is gone, and its former members are not"
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
    routes = sum(one.routes for one in held.values())
    routes += sum(map(routes_of_servers, tables.filter_server_table.values()))
    routes += sum(routes_of_mapping(topic, info) for topic, infos in tables.topic_queue_mapping_info_table.items()
                  for info in infos.values())  # fmt: skip
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
    names, broker_addr = view.system_topics(tables)
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
