"""From the routes that a name server showed to queue data, static mappings and filter servers of the tables."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from rocketns.collect.observed.bounds import Bounds
from rocketns.protocol.body.route import QueueData, TopicQueueMappingInfo, TopicRouteData
from rocketns.protocol.bounds import FILTER_SERVERS_MAX
from rocketns.routeinfo.broker_topics import routes_of_mapping, routes_of_name, routes_of_servers
from rocketns.routeinfo.events import BrokerRegistered, Cause, Event, MappingsPut, TopicsDeleted, TopicsPut
from rocketns.routeinfo.tables import BrokerAddrInfo, RouteTables

# Queue data of brokers that no list of groups showed yet. A round within an interval shows fewer.
EARLY_MAX = 10_000

Mappings = dict[str, TopicQueueMappingInfo]  # by broker name


class Early(NamedTuple):
    """Of one topic on one broker that is not in a group yet."""

    queues: QueueData
    mapping: TopicQueueMappingInfo | None


class Routes:
    """Only brokers of known groups have topics. What a route says of others waits for the next list of groups."""

    def __init__(self, tables: RouteTables, bounds: Bounds) -> None:
        self._tables = tables
        self._bounds = bounds
        self._early: dict[str, dict[str, Early]] = {}

    def read(self, topic: str, found: TopicRouteData | None) -> list[Event]:
        """The route of a topic; None: there is none."""
        if not self._bounds.takes(fits=self._bounds.fits(topic)):
            return []
        given = {} if found is None else dict(found.queue_datas)
        mappings = self._mappings(found, given)
        shown = {name: queues for name, queues in given.items() if name in self._tables.broker_addr_table}
        if self._early or len(shown) < len(given):
            self._note_early(topic, given, mappings)
        events = self._queues(topic, shown)
        events += self._static(topic, {name: info for name, info in mappings.items() if name in shown})
        return events + ([] if found is None else self._filters(shown, found))

    def names(self, names: Collection[str]) -> list[Event]:
        """The names of all topics: others are gone."""
        here = set(names)
        gone = [topic for topic in self._tables.topic_queue_table if topic not in here]
        by_broker: dict[str, list[str]] = {}
        for topic in gone:
            for broker in list(self._tables.topic_queue_table[topic]):
                self._tables.remove_queue_data(topic, broker)
                by_broker.setdefault(broker, []).append(topic)
        for early in self._early.values():
            for topic in [topic for topic in early if topic not in here]:
                del early[topic]
        return [TopicsDeleted(broker, topics, Cause.OBSERVED) for broker, topics in by_broker.items()]

    def joined(self) -> list[Event]:
        """The groups were read: what waited for them is true of those that are there now, and the rest is not."""
        events: list[Event] = []
        early, self._early = self._early, {}
        for broker in early.keys() & self._tables.broker_addr_table.keys():
            for topic, (queues, mapping) in early[broker].items():
                events += self._put(topic, broker, queues)
                events += [] if mapping is None else self._put_mapping(topic, broker, mapping)
        return events

    def _note_early(self, topic: str, given: dict[str, QueueData], mappings: Mappings) -> None:
        for early in self._early.values():
            early.pop(topic, None)
        waiting = sum(map(len, self._early.values()))
        for name in given.keys() - self._tables.broker_addr_table.keys():
            if self._bounds.takes(fits=waiting < EARLY_MAX and self._bounds.fits(name)):
                self._early.setdefault(name, {})[topic] = Early(given[name], mappings.get(name))
                waiting += 1

    def _queues(self, topic: str, shown: dict[str, QueueData]) -> list[Event]:
        here = self._tables.topic_queue_table.get(topic, {})
        if here == shown:
            return []
        events: list[Event] = []
        for name in [name for name in here if name not in shown]:
            self._tables.remove_queue_data(topic, name)
            events.append(TopicsDeleted(name, [topic], Cause.OBSERVED))
        for name, queues in shown.items():
            if here.get(name) != queues:
                events += self._put(topic, name, queues)
        return events

    def _put(self, topic: str, broker: str, queues: QueueData) -> list[Event]:
        is_new = broker not in self._tables.topic_queue_table.get(topic, ())
        fits = self._bounds.fits_queues(queues) and (not is_new or self._has_room(topic, broker))
        if not self._bounds.takes(fits=fits):
            return []
        changes = self._tables.put_topics(self._tables.known_name(broker), {topic: queues})
        return [TopicsPut(broker, changes, Cause.OBSERVED)] if changes else []

    def _has_room(self, topic: str, broker: str) -> bool:
        limits, more = self._bounds.limits, routes_of_name(topic)
        held = self._tables.broker_topics.get(broker)
        return (
            self._tables.routes + more <= limits.routes_max
            and (0 if held is None else held.routes) + more <= limits.broker_routes_max
        )

    def _mappings(self, found: TopicRouteData | None, given: dict[str, QueueData]) -> Mappings:
        """By the broker that has the topic, as far as they are kept."""
        infos = {} if found is None else found.topic_queue_mapping_by_broker or {}
        return {info.bname: info for info in infos.values() if info.bname is not None and info.bname in given
                and self._bounds.takes(fits=self._bounds.fits_mapping(info))}  # fmt: skip

    def _static(self, topic: str, wanted: Mappings) -> list[Event]:
        here = dict(self._tables.topic_queue_mapping_info_table.get(topic, {}))
        events: list[Event] = []
        for name in [name for name in here if name is not None and name not in wanted]:
            events += self._end_mapping(topic, name)
        for name, info in wanted.items():
            if here.get(name) != info:
                events += self._put_mapping(topic, name, info)
        return events

    def _end_mapping(self, topic: str, broker: str) -> list[Event]:
        """The topic is static no more. Tables and journal let a mapping go only with the topic of the broker."""
        queues = self._tables.topic_queue_table[topic][broker]
        self._tables.remove_queue_data(topic, broker)
        return [TopicsDeleted(broker, [topic], Cause.OBSERVED), *self._put(topic, broker, queues)]

    def _put_mapping(self, topic: str, broker: str, info: TopicQueueMappingInfo) -> list[Event]:
        has_room = self._tables.routes + routes_of_mapping(topic, info) <= self._bounds.limits.routes_max
        if not self._bounds.takes(fits=has_room) or not self._tables.put_mapping(topic, info):
            return []
        return [MappingsPut(broker, [(topic, info)])]

    def _filters(self, shown: dict[str, QueueData], found: TopicRouteData) -> list[Event]:
        """Filter servers of the brokers of a route. Hardly any broker has some."""
        given = {addr: servers for addr, servers in found.filter_server_table.items() if servers}
        if not given and not self._tables.filter_server_table:
            return []
        return [event for name in shown for event in self._filters_of(name, given)]

    def _filters_of(self, name: str, given: dict[str, list[str | None]]) -> list[Event]:
        group = self._tables.broker_addr_table[name]
        events: list[Event] = []
        for broker_id, addr in group.broker_addrs.items():
            assert group.cluster is not None
            key, servers = BrokerAddrInfo(group.cluster, addr), given.get(addr, [])
            if self._tables.filter_server_table.get(key, []) != servers and self._takes_servers(servers):
                self._tables.put_filter_servers(key, servers)
                events.append(BrokerRegistered(group.cluster, name, addr, broker_id, None, None, None, None))
        self._tables.take_changed_groups()  # for a publisher, which there is not
        return events

    def _takes_servers(self, servers: list[str | None]) -> bool:
        fits = (
            len(servers) <= FILTER_SERVERS_MAX
            and self._bounds.fits(*servers)
            and self._tables.routes + routes_of_servers(servers) <= self._bounds.limits.routes_max
        )
        return self._bounds.takes(fits=fits)
