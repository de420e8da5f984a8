"""Whether the tables have room for what a request would add. A request without anything new is always taken.

So a broker that is in the tables stays there, however full they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from rocketns._fast.routes.queue_table import routes_of
from rocketns.config.limits import Limits
from rocketns.config.properties import PREFIX
from rocketns.errors import TablesFull
from rocketns.protocol.body.registration.topic_config_wrapper import TopicConfigWrapper
from rocketns.protocol.body.route import TopicTable
from rocketns.protocol.bounds import BROKER_IDS_MAX
from rocketns.protocol.codes import MASTER_ID
from rocketns.routeinfo.held.sizes import routes_of_mapping, routes_of_servers
from rocketns.routeinfo.registration import BrokerRegistration
from rocketns.routeinfo.tables import BrokerAddrInfo, RouteTables


def check_registration(tables: RouteTables, limits: Limits, asked: BrokerRegistration) -> None:
    """TablesFull if the registration would add more than there is room for. It has not been applied yet."""
    if asked.cluster is None or asked.broker_name is None or not asked.addr:
        return
    key = BrokerAddrInfo(asked.cluster, asked.addr)
    _check_broker(tables, limits.brokers_max, key, asked.broker_name, asked.broker_id)
    name = tables.known_name(asked.broker_name)
    beside = _routes_of_filter_servers(tables, key, asked.filter_servers)
    topics = 0
    if asked.wrapper is not None and (asked.broker_id == MASTER_ID or asked.enable_acting_master is not None):
        beside += _routes_of_mappings(tables, asked.wrapper)
        topics = _routes_of_topics(tables, limits, name, beside, asked.wrapper.topic_config_table)
    _check_routes(tables, limits, name, topics, beside)


def check_topic(tables: RouteTables, limits: Limits, topic: str, broker_names: Iterable[str | None]) -> None:
    """Likewise for request 217."""
    here = tables.topic_queue_table.get(topic, {})
    names = {name for name in broker_names if name in tables.broker_addr_table and name not in here}
    routes = routes_of([topic], 0)
    _check_total(tables, limits, routes * len(names))
    for name in names:
        if name is not None:
            _check_of_broker(tables, limits, name, routes)


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


def _routes_of_filter_servers(tables: RouteTables, key: BrokerAddrInfo, servers: list[str | None] | None) -> int:
    """How many more there would be."""
    if servers is None:
        return 0
    return max(0, routes_of_servers(servers) - routes_of_servers(tables.filter_server_table.get(key, ())))


def _routes_of_mappings(tables: RouteTables, wrapper: TopicConfigWrapper) -> int:
    """How many more there would be."""
    known, more = tables.topic_queue_mapping_info_table, 0
    for topic, info in (wrapper.topic_queue_mapping_info_map or {}).items():
        former = known.get(topic, {}).get(info.bname)
        more += routes_of_mapping(topic, info) - (0 if former is None else routes_of_mapping(topic, former))
    return max(0, more)


def _routes_of_topics(tables: RouteTables, limits: Limits, name: str, beside: int, table: TopicTable | None) -> int:
    """How many more there would be at the most: only near a limit are topics looked up."""
    if table is None:
        return 0
    topics = [*table.queues]
    topics += [topic for topic in table.renamed.values() if topic is not None]
    most = routes_of(topics, 0)
    room = limits.routes_max - tables.routes - beside, limits.broker_routes_max - _held(tables, name)
    if most <= min(room):
        return most
    known = tables.topic_queue_table
    named = {table.renamed.get(key, key) for key in table.queues}
    return routes_of([topic for topic in named if topic is not None and name not in known.get(topic, ())], 0)


def _held(tables: RouteTables, name: str) -> int:
    held = tables.broker_topics.get(name)
    return 0 if held is None else held.routes


def _check_routes(tables: RouteTables, limits: Limits, name: str, topics: int, beside: int) -> None:
    if topics:
        _check_of_broker(tables, limits, name, topics)
    _check_total(tables, limits, topics + beside)


def _check_of_broker(tables: RouteTables, limits: Limits, name: str, more: int) -> None:
    routes = _held(tables, name) + more
    if routes > limits.broker_routes_max:
        raise TablesFull(f"the broker would have {routes} routes", f"{PREFIX}brokerRoutesMax", limits.broker_routes_max)


def _check_total(tables: RouteTables, limits: Limits, more: int) -> None:
    routes = tables.routes + more
    if more and routes > limits.routes_max:
        raise TablesFull(f"there would be {routes} routes", f"{PREFIX}routesMax", limits.routes_max)
