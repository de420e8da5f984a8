"""Whether the tables, and the bounds of a principal, have room for what a request would add: a registration, or request
217. A request without anything new is always taken. So a broker that is in the tables stays there, however full they
are, and after a bound was lowered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from rocketns._fast.routes.queue_table import routes_of
from rocketns.config.limits import Limits
from rocketns.config.properties import PREFIX
from rocketns.errors import BeyondBounds, TablesFull
from rocketns.protocol.body.register_broker_body import TopicConfigWrapper
from rocketns.protocol.body.route import TopicTable
from rocketns.protocol.bounds import BROKER_IDS_MAX
from rocketns.protocol.codes import MASTER_ID
from rocketns.protocol.names import utf8_bytes
from rocketns.routeinfo.broker_topics import routes_of_mapping, routes_of_servers
from rocketns.routeinfo.registration import BrokerRegistration
from rocketns.routeinfo.tables import BrokerAddrInfo, RouteTables


def check_registration(tables: RouteTables, limits: Limits, asked: BrokerRegistration) -> None:
    """TablesFull if the registration would add more than there is room for. It has not been applied yet."""
    _check_broker(tables, limits.brokers_max, asked.key, asked.broker_name, asked.broker_id)
    wrapper, topics = _applied(asked), tables.broker_topics.get(asked.broker_name)
    table = None if wrapper is None else wrapper.topic_config_table
    routes = beside = 0
    if asked.filter_servers or (wrapper is not None and wrapper.topic_queue_mapping_info_map):
        beside = _routes_beside(tables, asked.key, asked.filter_servers, wrapper)
    if table is not None:  # as if all of them were new: only near a limit are they looked up
        routes = routes_of([*table.queues, *(one for one in table.renamed.values() if one is not None)], 0)
    own = routes + (0 if topics is None else topics.routes)
    if own > limits.broker_routes_max or tables.routes + routes + beside > limits.routes_max:
        lacking = () if table is None else _lacking(tables, asked.broker_name, table)
        _check_routes(tables, limits, (asked.broker_name,), routes_of([*lacking], 0), beside)


def _applied(asked: BrokerRegistration) -> TopicConfigWrapper | None:
    """The wrapper of a registration whose topics count."""
    return asked.wrapper if asked.broker_id == MASTER_ID or asked.enable_acting_master is not None else None


def check_topic(tables: RouteTables, limits: Limits, topic: str, broker_names: Iterable[str | None]) -> None:
    """Likewise for request 217."""
    _check_routes(tables, limits, _gaining(tables, topic, broker_names), routes_of([topic], 0), 0)


def _gaining(tables: RouteTables, topic: str, broker_names: Iterable[str | None]) -> set[str]:
    """The brokers that request 217 gives the topic, and that lack it."""
    here = tables.topic_queue_table.get(topic, {})
    return {name for name in broker_names if name is not None and name in tables.broker_addr_table and name not in here}


def _check_broker(tables: RouteTables, most: int, key: BrokerAddrInfo, name: str, broker_id: int) -> None:
    group = tables.broker_addr_table.get(name)
    ids = {} if group is None else group.broker_addrs
    if key not in tables.broker_live_table and len(tables.broker_live_table) >= most:
        raise _too_many_brokers("live brokers", most)
    if group is None and len(tables.broker_addr_table) >= most:
        raise _too_many_brokers("broker names", most)
    if broker_id not in ids and tables.members >= most:
        raise _too_many_brokers("broker ids", most)
    if broker_id not in ids and len(ids) >= BROKER_IDS_MAX:
        raise TablesFull("the broker name would have another id", "BROKER_IDS_MAX", BROKER_IDS_MAX)
    listed = tables.cluster_addr_table
    if name not in listed.get(key.cluster, ()) and sum(map(len, listed.values())) >= most:
        raise _too_many_brokers("broker names listed by clusters", most)


def _too_many_brokers(what: str, most: int) -> TablesFull:
    return TablesFull(f"there would be {most + 1} {what}", f"{PREFIX}brokersMax", most)


def _routes_beside(
    tables: RouteTables, key: BrokerAddrInfo, servers: list[str | None] | None, wrapper: TopicConfigWrapper | None
) -> int:
    """How many more of filter servers and of mappings there would be."""
    of_servers = of_mappings = 0
    if servers:
        of_servers = routes_of_servers(servers) - routes_of_servers(tables.filter_server_table.get(key, ()))
    mapped, mappings = tables.topic_queue_mapping_info_table, wrapper and wrapper.topic_queue_mapping_info_map
    for topic, info in (mappings or {}).items():
        former = mapped.get(topic, {}).get(info.bname)
        of_mappings += routes_of_mapping(topic, info) - (0 if former is None else routes_of_mapping(topic, former))
    return max(0, of_servers) + max(0, of_mappings)


def _lacking(tables: RouteTables, name: str, table: TopicTable) -> Iterator[str]:
    """The topics of a registration that its broker name does not have."""
    name, routes = tables.shared_name(name), tables.topic_queue_table
    for topic in {table.renamed.get(key, key) for key in table.queues}:
        if topic is not None and name not in routes.get(topic, ()):
            yield topic


def _check_routes(tables: RouteTables, limits: Limits, names: Collection[str], topics: int, beside: int) -> None:
    """TablesFull where each of these brokers would have ``topics`` routes more, and the tables ``beside`` as well."""
    for name in names if topics else ():
        own = tables.broker_topics.get(name)
        routes = topics + (0 if own is None else own.routes)
        if routes > limits.broker_routes_max:
            raise TablesFull(f"the broker would have {routes} routes", f"{PREFIX}brokerRoutesMax",
                             limits.broker_routes_max)  # fmt: skip
    more = topics * len(names) + beside
    if more and tables.routes + more > limits.routes_max:
        raise TablesFull(f"there would be {tables.routes + more} routes", f"{PREFIX}routesMax", limits.routes_max)


@dataclass(frozen=True, slots=True)
class PrincipalBounds:
    """What a principal may register. None is no bound but that of the tables.

    ``brokers_max``: broker names of each of its live brokers, at least one a broker. ``topics_max``: routes of its
    broker names, as `broker_topics` counts them: topics, so one of two names counts twice, and mappings; with the
    filter servers of its brokers. ``bytes_max``: the names of these topics as UTF-8.

    Only live entries that registered with this process count: of a restored one nobody knows by whose right it
    registered.
    """

    brokers_max: int | None = None
    topics_max: int | None = None
    bytes_max: int | None = None


@dataclass(slots=True)
class Growth:
    """What a request would add for its principal. It has not been applied yet.

    ``broker`` and ``name``: those of a registration. ``gaining``: the names whose brokers get ``topics``, which they
    lack and which are looked up when they are read, or mappings. ``beside``: routes of mappings and filter servers.
    """

    broker: BrokerAddrInfo | None = None
    name: str | None = None
    gaining: set[str] = field(default_factory=set)
    topics: Iterable[str] = ()
    beside: int = 0

    @classmethod
    def of_registration(cls, tables: RouteTables, asked: BrokerRegistration) -> Growth:
        broker, name, wrapper = asked.key, asked.broker_name, _applied(asked)
        growth = cls(broker, name, beside=_routes_beside(tables, broker, asked.filter_servers, wrapper))
        if wrapper is not None:
            mapped = (info.bname for info in (wrapper.topic_queue_mapping_info_map or {}).values())
            growth.gaining = {one for one in mapped if one in tables.broker_addr_table}
            if wrapper.topic_config_table is not None:
                growth.topics = _lacking(tables, name, wrapper.topic_config_table)
        growth.gaining.add(name)
        return growth

    @classmethod
    def of_topic(cls, tables: RouteTables, topic: str, broker_names: Iterable[str | None]) -> Growth:
        return cls(gaining=_gaining(tables, topic, broker_names), topics=[topic])

    def beyond(self, tables: RouteTables, principal: str, bounds: PrincipalBounds) -> BeyondBounds | None:
        """What would be more than the principal may have."""
        return self._beyond_brokers(tables, principal, bounds) or self._beyond_topics(tables, principal, bounds)

    def _beyond_brokers(self, tables: RouteTables, principal: str, bounds: PrincipalBounds) -> BeyondBounds | None:
        most, own = bounds.brokers_max, tables.by_principal.get(principal, {})
        if most is None or self.broker is None or self.name is None:
            return None
        names_here = tables.members_of.get(self.broker, {})
        if self.broker in own and (self.name in names_here or not names_here):
            return None
        others = (tables.members_of.get(one, ()) for one in own if one != self.broker)
        brokers = sum(len(names) or 1 for names in others) + len({self.name, *names_here})
        if brokers <= most:
            return None
        return BeyondBounds(f"it would have {brokers} live brokers", principal, "brokers_max", most)

    def _beyond_topics(self, tables: RouteTables, principal: str, bounds: PrincipalBounds) -> BeyondBounds | None:
        if bounds.topics_max is None and bounds.bytes_max is None:
            return None
        topics = [*self.topics]
        if not self.gaining or not (topics or self.beside):
            return None
        own = [*tables.by_principal.get(principal, ())]
        names = {name for one in own for name in tables.members_of.get(one, ())} | ({self.name} if self.name else set())
        if others := self.gaining - names:
            return BeyondBounds(f"it would give topics to {len(others)} brokers that are not its own", principal)
        of_names = [tables.broker_topics[name] for name in names if name in tables.broker_topics]
        if bounds.topics_max is not None:
            routes = routes_of(topics, 0) * len(self.gaining) + self.beside
            routes += sum(one.routes for one in of_names) + sum(tables.mapped.get(name, 0) for name in names)
            routes += sum(routes_of_servers(tables.filter_server_table.get(one, ())) for one in own)
            if routes > bounds.topics_max:
                return BeyondBounds(f"its brokers would have {routes} topics", principal, "topics_max",
                                    bounds.topics_max)  # fmt: skip
        if bounds.bytes_max is not None and topics:
            for name in names:
                tables.topics_of_broker(name)  # without those that are gone
            size = sum(one.name_bytes() for one in of_names) + sum(map(utf8_bytes, topics)) * len(self.gaining)
            if size > bounds.bytes_max:
                return BeyondBounds(f"the topics of its brokers would have {size} bytes of names", principal,
                                    "bytes_max", bounds.bytes_max)  # fmt: skip
        return None
