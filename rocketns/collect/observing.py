"""From the answers of a watched name server to route tables, and to events that say what changed.

Pure: no socket, no clock, no file. Answers are hostile: what is beyond a limit is left out and counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from rocketns.config.limits import Limits
from rocketns.config.properties import of_lines
from rocketns.protocol.body.route import BrokerData, QueueData, TopicQueueMappingInfo, TopicRouteData
from rocketns.protocol.bounds import BROKER_IDS_MAX, CONVERTED_VALUES_MAX, FILTER_SERVERS_MAX
from rocketns.protocol.names import is_too_long, utf8_bytes
from rocketns.routeinfo.broker_topics import routes_of_mapping, routes_of_name, routes_of_servers
from rocketns.routeinfo.events import (
    BrokerDown,
    BrokerRegistered,
    Cause,
    ConfigChanged,
    Event,
    GroupChanged,
    KvChanged,
    MappingsPut,
    TopicsDeleted,
    TopicsPut,
)
from rocketns.routeinfo.prior_routes import PriorRoutes
from rocketns.routeinfo.tables import BrokerAddrInfo, RouteTables

# A Java name server has about 70, and each has some characters.
PROPERTIES_MAX = 1_000
PROPERTY_BYTES_MAX = 64 * 1024
# Numbers are those of the journal's columns.
INT_MIN, INT_MAX = -(2**31), 2**31 - 1
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1
# Queue ids of one static-topic mapping.
MAPPING_IDS_MAX = CONVERTED_VALUES_MAX


class Bounds:
    """What of an answer is kept: names, numbers and amounts within the limits of a name server of its own.

    Each method says whether something is kept. ``left_out`` counts what is not, again with each answer."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.left_out = 0

    def leave_out(self, count: int = 1) -> None:
        self.left_out += count

    def takes(self, *, fits: bool) -> bool:
        """``fits``, and counted if not."""
        self.left_out += not fits
        return fits

    def fits(self, *texts: str | None) -> bool:
        """No text is longer than a name may be."""
        most = self.limits.name_bytes_max
        return not any(text is not None and is_too_long(text, most) for text in texts)

    def fits_queues(self, queues: QueueData) -> bool:
        return all(INT_MIN <= number <= INT_MAX for number in queues)

    def fits_mapping(self, info: TopicQueueMappingInfo) -> bool:
        ids = info.curr_id_map or {}
        return (
            len(ids) <= MAPPING_IDS_MAX
            and all(INT_MIN <= number <= INT_MAX for pair in ids.items() for number in pair)
            and INT_MIN <= info.total_queues <= INT_MAX
            and LONG_MIN <= info.epoch <= LONG_MAX
            and self.fits(info.topic, info.bname, info.scope)
        )


Member = tuple[int, str]  # id and address


class Groups:
    """Each member has the cluster of its group: another one is not visible."""

    def __init__(self, tables: RouteTables, bounds: Bounds) -> None:
        self._tables = tables
        self._bounds = bounds

    def read(self, found: Mapping[str, BrokerData]) -> list[Event]:
        """All groups by name. Known brokers are kept where there are too many."""
        gone = [name for name in self._tables.broker_addr_table if name not in found]
        events = [event for name in gone for event in self._remove(name)]
        known_first = sorted(found, key=lambda name: name not in self._tables.broker_addr_table)
        return events + [event for name in known_first for event in self._group(name, found[name])]

    def _group(self, name: str, data: BrokerData) -> list[Event]:
        group, addrs = self._tables.broker_addr_table.get(name), self._addrs(name, data)
        if data.cluster is None or not addrs:
            return [] if group is None else self._remove(name)
        if group is None:
            return self._add(data.cluster, name, data, addrs)
        if group.cluster != data.cluster:
            return self._move(group, data.cluster, data, addrs)
        return self._change(group, data, addrs)

    def _addrs(self, name: str, data: BrokerData) -> dict[int, str]:
        """The addresses by id that are kept; none of a group that is not."""
        if not self._bounds.takes(
            fits=data.cluster is not None and self._bounds.fits(name, data.cluster, data.zone_name)
        ):
            return {}
        group = self._tables.broker_addr_table.get(name)
        held = {} if group is None else group.broker_addrs
        addrs: dict[int, str] = {}
        seen = set()
        for broker_id, addr in sorted(data.broker_addrs.items(), key=lambda one: held.get(one[0]) != one[1]):
            fits = bool(addr) and INT_MIN <= broker_id <= INT_MAX and self._bounds.fits(addr)
            if self._bounds.takes(fits=fits and addr not in seen and len(addrs) < BROKER_IDS_MAX):
                addrs[broker_id] = addr
                seen.add(addr)
        return addrs

    def _add(self, cluster: str, name: str, data: BrokerData, addrs: dict[int, str]) -> list[Event]:
        """A new group, as far as there is room."""
        most = self._bounds.limits.brokers_max
        joined = list(addrs.items())[: max(0, most - self._tables.members)]
        if len(self._tables.broker_addr_table) >= most:
            joined = []
        self._bounds.leave_out(len(addrs) - len(joined))
        if not joined:
            return []
        group = self._tables.add_group(cluster, name)
        group.zone_name, group.enable_acting_master = data.zone_name, data.enable_acting_master
        return self._join(group, joined)

    def _join(self, group: BrokerData, joined: Iterable[Member]) -> list[Event]:
        cluster = group.cluster
        assert cluster is not None
        for broker_id, addr in joined:
            self._tables.put_member(group, broker_id, addr, cluster)
        return [BrokerRegistered(cluster, group.broker_name, addr, broker_id, None, None, None, None)
                for broker_id, addr in joined]  # fmt: skip

    def _leave(self, group: BrokerData, left: Iterable[Member], addrs: dict[int, str]) -> list[Event]:
        """An address that has another id now registered again; of the others nobody sees why they are gone."""
        cluster, here = group.cluster, set(addrs.values())
        assert cluster is not None
        for broker_id, _ in left:
            self._tables.remove_member(group, broker_id)
        return [BrokerDown(cluster, group.broker_name, addr, broker_id, live=False, gap_ms=None,
                           cause=Cause.REGISTER if addr in here else Cause.OBSERVED)
                for broker_id, addr in left]  # fmt: skip

    def _change(self, group: BrokerData, data: BrokerData, addrs: dict[int, str]) -> list[Event]:
        """Other members or switches of a known group."""
        left = [(one, addr) for one, addr in group.broker_addrs.items() if addrs.get(one) != addr]
        joined = [(one, addr) for one, addr in addrs.items() if group.broker_addrs.get(one) != addr]
        switches = data.zone_name, data.enable_acting_master
        events: list[Event] = []
        if (group.zone_name, group.enable_acting_master) != switches:
            group.zone_name, group.enable_acting_master = switches
            events.append(GroupChanged(group.broker_name))
        if left or joined:
            downs = self._leave(group, left, addrs)
            room = max(0, self._bounds.limits.brokers_max - self._tables.members)
            self._bounds.leave_out(len(joined[room:]))
            events = [*downs, *self._join(group, joined[:room]), *events]
            self._forget_filters(group, left)
        return events

    def _move(self, group: BrokerData, cluster: str, data: BrokerData, addrs: dict[int, str]) -> list[Event]:
        """The group belongs to another cluster now, so it is replaced. Its routes will show whether topics changed."""
        left = list(group.broker_addrs.items())
        downs = self._leave(group, left, addrs)
        self._tables.remove_group(group)
        self._forget_filters(group, left)
        return [*downs, *self._add(cluster, group.broker_name, data, addrs)]

    def _remove(self, name: str) -> list[Event]:
        """All members are gone, and with them all topics, as in RouteInfoManager.unRegisterBroker."""
        group = self._tables.broker_addr_table[name]
        left = list(group.broker_addrs.items())
        events = self._leave(group, left, {})
        self._tables.remove_group(group)
        self._forget_filters(group, left)
        topics = self._tables.remove_topics(name)
        return [*events, TopicsDeleted(name, topics, Cause.OBSERVED)] if topics else events

    def _forget_filters(self, group: BrokerData, left: Iterable[Member]) -> None:
        """Of addresses that are in no group any more."""
        assert group.cluster is not None
        for _, addr in left:
            key = BrokerAddrInfo(group.cluster, addr)
            if key not in self._tables.members_of:
                self._tables.put_filter_servers(key, [])


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


class Observed:
    """What one name server showed. Each method takes a whole answer and returns what it changed.

    ``tables``: groups, their members, topics, static mappings and filter servers; nothing else is visible, so there is
    no live entry. ``kv``: items by namespace. ``properties``: the configuration.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        """``limits``: those of a name server of its own."""
        self.tables = RouteTables()
        self._bounds = Bounds(Limits() if limits is None else limits)
        self._groups = Groups(self.tables, self._bounds)
        self._routes = Routes(self.tables, self._bounds)
        self.kv: dict[str, dict[str, str]] = {}
        self.properties: dict[str, str] = {}
        self._kv_bytes: dict[str, int] = {}

    @property
    def left_out(self) -> int:
        """Entries of answers that were beyond a limit, since the start; again with each answer that has them."""
        return self._bounds.left_out

    def groups(self, found: Mapping[str, BrokerData]) -> list[Event]:
        """All broker groups (request 106). A group that is gone loses all its topics at once, as in RouteInfoManager.

        Topics that routes showed of a broker before this list had it come with it.
        """
        return self._groups.read(found) + self._routes.joined()

    def route(self, topic: str, found: TopicRouteData | None) -> list[Event]:
        """The route of one topic (request 105); None: there is none."""
        return self._routes.read(topic, found)

    def topic_names(self, names: Collection[str]) -> list[Event]:
        """The names of all topics (request 206): others are gone."""
        return self._routes.names(names)

    def kv_items(self, namespace: str, items: Mapping[str, str]) -> list[Event]:
        """All items of a namespace (request 219), none if there is no such namespace.

        Those that are known are kept where there are too many."""
        former, kept = self.kv.get(namespace, {}), self._kept(namespace, items)
        if kept:
            self.kv[namespace] = kept
        else:
            self.kv.pop(namespace, None)
        gone = [KvChanged(namespace, key, None) for key in former if key not in kept]
        return [*gone, *(KvChanged(namespace, key, text) for key, text in kept.items() if former.get(key) != text)]

    def _kept(self, namespace: str, items: Mapping[str, str]) -> dict[str, str]:
        limits, former = self._bounds.limits, self.kv.get(namespace, {})
        size = 0
        room = limits.kv_bytes_max - sum(more for name, more in self._kv_bytes.items() if name != namespace)
        kept = {}
        for key, text in sorted(items.items(), key=lambda one: one[0] not in former):
            more = utf8_bytes(key) + utf8_bytes(text)
            fits = self._bounds.fits(key) and utf8_bytes(text) <= limits.kv_value_bytes_max
            if self._bounds.takes(fits=fits and size + more <= room):
                kept[key] = text
                size += more
        self._kv_bytes[namespace] = size
        return kept

    def configuration(self, text: str) -> list[Event]:
        """All properties (request 319), as lines ``key=value``. One that is gone has no value."""
        former, found = self.properties, of_lines(text)
        self.properties = {}
        for key, value in found.items():
            fits = self._bounds.fits(key) and utf8_bytes(value) <= PROPERTY_BYTES_MAX
            if self._bounds.takes(fits=fits and len(self.properties) < PROPERTIES_MAX):
                self.properties[key] = value
        gone = [ConfigChanged(key, "") for key in former if key not in self.properties]
        return [*gone, *(ConfigChanged(key, value) for key, value in self.properties.items()
                         if former.get(key) != value)]  # fmt: skip

    def fill(self, known: PriorRoutes) -> bool:
        """Put what the journal knows into the empty tables. Whether all of it is within the limits."""
        before = self.left_out
        self.groups({name: BrokerData(group.cluster, name, {one: broker.addr for one, broker in group.brokers.items()},
                                      group.zone_name, group.enable_acting_master)
                     for name, group in known.groups.items()})  # fmt: skip
        by_broker: dict[str, dict[str, QueueData]] = {}
        for topic, brokers in known.topics.items():
            for name, queues in brokers.items():
                by_broker.setdefault(name, {})[topic] = queues
        for name in by_broker.keys() & self.tables.broker_addr_table.keys():
            self.tables.put_topics(self.tables.known_name(name), by_broker[name])
        for topic, infos in known.mappings.items():
            for info in infos.values():
                self.tables.put_mapping(topic, info)
        for (cluster, addr), live in known.lives.items():
            if (key := BrokerAddrInfo(cluster, addr)) in self.tables.members_of:
                self.tables.put_filter_servers(key, live.filter_servers)
        self.tables.take_changed_groups()
        return self.left_out == before
