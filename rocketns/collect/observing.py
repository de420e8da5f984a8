"""From the answers of a watched name server to route tables, and to events that say what changed.

Pure: no socket, no clock, no file. Answers are hostile: what is beyond a limit is left out and counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from rocketns.config.limits import Limits
from rocketns.config.properties import of_lines
from rocketns.protocol.body.route import BrokerData, QueueData, TopicRouteData
from rocketns.protocol.bounds import BROKER_IDS_MAX
from rocketns.protocol.names import is_too_long, utf8_bytes
from rocketns.routeinfo.broker_topics import routes_of_name
from rocketns.routeinfo.events import (
    BrokerDown,
    BrokerRegistered,
    Cause,
    ConfigChanged,
    Event,
    GroupChanged,
    KvChanged,
    TopicsDeleted,
    TopicsPut,
)
from rocketns.routeinfo.prior_routes import PriorRoutes
from rocketns.routeinfo.tables import RouteTables

PROPERTY_BYTES_MAX = 64 * 1024
# Numbers are those of the journal's columns.
INT_MIN, INT_MAX = -(2**31), 2**31 - 1

Member = tuple[int, str]  # id and address


class Observed:
    """What one name server showed. Each method takes a whole answer and returns what it changed.

    ``tables`` have groups, topics and queues; nothing else that the audit compares is visible. ``kv``: items by
    namespace. ``properties``: the configuration. ``left_out``: entries of answers that were beyond a limit, since the
    start; again with each answer that has them.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        """``limits``: those of a name server of its own."""
        self.tables = RouteTables()
        self.kv: dict[str, dict[str, str]] = {}
        self.properties: dict[str, str] = {}
        self.left_out = 0
        self._limits = limits or Limits()

    def _accepts(self, fits: bool) -> bool:
        """``fits``, and counted if not."""
        self.left_out += not fits
        return fits

    def _fits(self, *texts: str | None) -> bool:
        """No text is longer than a name may be."""
        return not any(text is not None and is_too_long(text, self._limits.name_bytes_max) for text in texts)

    # Request 106

    def groups(self, found: Mapping[str, BrokerData]) -> list[Event]:
        """All broker groups. One that is gone loses all its topics at once, as in RouteInfoManager.

        Known brokers are kept where there are too many.
        """
        gone = [name for name in self.tables.broker_addr_table if name not in found]
        events = [event for name in gone for event in self._remove(name)]
        registered_first = sorted(found, key=lambda name: name not in self.tables.broker_addr_table)
        return events + [event for name in registered_first for event in self._group(name, found[name])]

    def _group(self, name: str, data: BrokerData) -> list[Event]:
        group, addrs = self.tables.broker_addr_table.get(name), self._addrs(name, data)
        if group is not None and addrs and group.cluster == data.cluster:
            return self._change(group, data, addrs)
        events = [] if group is None else self._remove(name)
        return events + self._add(data, addrs) if addrs else events

    def _addrs(self, name: str, data: BrokerData) -> dict[int, str]:
        """The addresses by id that are kept; none of a group that is not."""
        if not self._accepts(data.cluster is not None and self._fits(name, data.cluster, data.zone_name)):
            return {}
        group = self.tables.broker_addr_table.get(name)
        registered = {} if group is None else group.broker_addrs
        addrs, seen = dict[int, str](), set[str]()
        for broker_id, addr in sorted(data.broker_addrs.items(), key=lambda one: registered.get(one[0]) != one[1]):
            fits = bool(addr) and INT_MIN <= broker_id <= INT_MAX and self._fits(addr)
            if self._accepts(fits and addr not in seen and len(addrs) < BROKER_IDS_MAX):
                addrs[broker_id] = addr
                seen.add(addr)
        return addrs

    def _add(self, data: BrokerData, addrs: dict[int, str]) -> list[Event]:
        """A new group, as far as there is room."""
        joined = self._with_room(list(addrs.items()))
        if not joined:
            return []
        assert data.cluster is not None
        group = self.tables.add_group(data.cluster, data.broker_name)
        group.zone_name, group.enable_acting_master = data.zone_name, data.enable_acting_master
        return self._join(group, joined)

    def _with_room(self, joined: list[Member]) -> list[Member]:
        room = max(0, self._limits.brokers_max - self.tables.members)
        self.left_out += len(joined[room:])
        return joined[:room]

    def _join(self, group: BrokerData, joined: Iterable[Member]) -> list[Event]:
        cluster = group.cluster
        assert cluster is not None
        for broker_id, addr in joined:
            self.tables.put_member(group, broker_id, addr, cluster)
        return [BrokerRegistered(cluster, group.broker_name, addr, broker_id, None, None, None, None)
                for broker_id, addr in joined]  # fmt: skip

    def _leave(self, group: BrokerData, left: Iterable[Member], addrs: Collection[str] = ()) -> list[Event]:
        """An address that has another id now registered again; of the others nobody sees why they are gone."""
        cluster = group.cluster
        assert cluster is not None
        for broker_id, _ in left:
            self.tables.remove_member(group, broker_id)
        return [BrokerDown(cluster, group.broker_name, addr, broker_id, live=False, gap_ms=None,
                           cause=Cause.REGISTER if addr in addrs else Cause.OBSERVED)
                for broker_id, addr in left]  # fmt: skip

    def _change(self, group: BrokerData, data: BrokerData, addrs: dict[int, str]) -> list[Event]:
        """Other members or switches of a known group."""
        left = [(one, addr) for one, addr in group.broker_addrs.items() if addrs.get(one) != addr]
        joined = [(one, addr) for one, addr in addrs.items() if group.broker_addrs.get(one) != addr]
        events = self._leave(group, left, addrs.values())
        events += self._join(group, self._with_room(joined))
        switches = data.zone_name, data.enable_acting_master
        if (group.zone_name, group.enable_acting_master) != switches:
            group.zone_name, group.enable_acting_master = switches
            events.append(GroupChanged(group.broker_name))
        return events

    def _remove(self, name: str) -> list[Event]:
        """All members are gone, and with them all topics, as in RouteInfoManager.unRegisterBroker."""
        group = self.tables.broker_addr_table[name]
        events = self._leave(group, list(group.broker_addrs.items()))
        self.tables.remove_group(group)
        topics = self.tables.remove_topics(name)
        return [*events, TopicsDeleted(name, topics, Cause.OBSERVED)] if topics else events

    # Requests 105 and 206

    def route(self, topic: str, found: TopicRouteData | None) -> list[Event]:
        """The route of one topic; None: there is none. Brokers that are in no group have no topics."""
        if not self._accepts(self._fits(topic)):
            return []
        given = [] if found is None else found.queue_datas
        shown = {name: queues for name, queues in given if name in self.tables.broker_addr_table}
        here = dict(self.tables.topic_queue_table.get(topic, {}))
        events: list[Event] = []
        for name in [name for name in here if name not in shown]:
            self.tables.remove_queue_data(topic, name)
            events.append(TopicsDeleted(name, [topic], Cause.OBSERVED))
        for name, queues in shown.items():
            has_room = name in here or self.tables.routes + routes_of_name(topic) <= self._limits.routes_max
            fits = has_room and all(INT_MIN <= number <= INT_MAX for number in queues)
            if here.get(name) != queues and self._accepts(fits):
                events += self._put(topic, name, queues)
        return events

    def _put(self, topic: str, broker: str, queues: QueueData) -> list[Event]:
        changes = self.tables.put_topics(self.tables.shared_name(broker), {topic: queues})
        return [TopicsPut(broker, changes, Cause.OBSERVED)] if changes else []

    def topic_names(self, names: Collection[str]) -> list[Event]:
        """The names of all topics: others are gone."""
        here, by_broker = set(names), dict[str, list[str]]()
        for topic in [topic for topic in self.tables.topic_queue_table if topic not in here]:
            for broker in list(self.tables.topic_queue_table[topic]):
                self.tables.remove_queue_data(topic, broker)
                by_broker.setdefault(broker, []).append(topic)
        return [TopicsDeleted(broker, topics, Cause.OBSERVED) for broker, topics in by_broker.items()]

    # Requests 219 and 319

    def kv_items(self, namespace: str, items: Mapping[str, str]) -> list[Event]:
        """All items of a namespace, none if there is no such namespace."""
        former, bounded = self.kv.pop(namespace, {}), self._bounded(items, self._limits.kv_value_bytes_max)
        if bounded:
            self.kv[namespace] = bounded
        return [KvChanged(namespace, key, text) for key, text in _changed(former, bounded)]

    def configuration(self, text: str) -> list[Event]:
        """All properties, as lines ``key=value``. One that is gone has no value."""
        former, self.properties = self.properties, self._bounded(of_lines(text), PROPERTY_BYTES_MAX)
        return [ConfigChanged(key, value or "") for key, value in _changed(former, self.properties)]

    def _bounded(self, found: Mapping[str, str], bytes_max: int) -> dict[str, str]:
        return {key: text for key, text in found.items()
                if self._accepts(self._fits(key) and utf8_bytes(text) <= bytes_max)}  # fmt: skip

    def fill(self, known: PriorRoutes) -> None:
        """Put what the journal knows into the empty tables."""
        self.groups({name: BrokerData(group.cluster, name, {one: broker.addr for one, broker in group.brokers.items()},
                                      group.zone_name, group.enable_acting_master)
                     for name, group in known.groups.items()})  # fmt: skip
        for name in self.tables.broker_addr_table:
            topics = {topic: brokers[name] for topic, brokers in known.topics.items() if name in brokers}
            self.tables.put_topics(self.tables.shared_name(name), topics)


def _changed(former: Mapping[str, str], found: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """Keys with their new text, None where they are gone."""
    yield from ((key, None) for key in former if key not in found)
    yield from ((key, text) for key, text in found.items() if former.get(key) != text)
