"""`rocketns get`: one thing of one name server."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass, field
from typing import Any

from rocketns.fleet.group_view import group_view
from rocketns.protocol.body.route import BrokerData, TopicRouteData
from rocketns.server.outgoing.name_server import NameServer, UnusableError
from rocketns.tools.exits import EXIT_DIFFERENT, EXIT_FOUND
from rocketns.tools.output import Table, complain, print_json, print_table
from rocketns.tools.values import route_value


@dataclass(frozen=True, slots=True)
class Found:
    """The same thing for programs and for people."""

    value: Any
    tables: list[Table] = field(default_factory=list)


async def get(options: Namespace, server: NameServer) -> int:
    """Print what was asked for. The exit status. UnusableError if the name server cannot be read."""
    found = await READERS[options.thing](options, server)
    if found is None:
        complain(f"{server.addr} has no route of the topic {options.topic}")
        return EXIT_DIFFERENT
    if options.json:
        print_json(found.value)
    else:
        for table in found.tables:
            print_table(table)
    return EXIT_FOUND


async def _brokers(_options: Namespace, server: NameServer) -> Found:
    groups = await server.groups()
    value = {name: group_view(groups[name]).as_json() for name in sorted(groups)}
    ordered = sorted(groups.values(), key=lambda group: (group.cluster or "", group.broker_name))
    return Found(value, [_group_table(ordered)])


def _group_table(groups: list[BrokerData]) -> Table:
    rows = [
        (group.cluster or "-", group.broker_name, str(broker_id), addr, group.zone_name or "-",
         "yes" if group.enable_acting_master else "no")
        for group in groups for broker_id, addr in sorted(group.broker_addrs.items())
    ]  # fmt: skip
    return Table(("CLUSTER", "BROKER", "ID", "ADDRESS", "ZONE", "ACTING MASTER"), rows)


async def _topics(_options: Namespace, server: NameServer) -> Found:
    topics = sorted(await server.topics())
    return Found(topics, [Table(("TOPIC",), [(topic,) for topic in topics])])


async def _route(options: Namespace, server: NameServer) -> Found | None:
    route = await server.route(options.topic)
    if route is None:
        return None
    groups = sorted(route.broker_datas, key=lambda group: group.broker_name)
    return Found(route_value(route), [_queue_table(route), _group_table(groups)])


def _queue_table(route: TopicRouteData) -> Table:
    rows = [(name, *(str(number) for number in queues)) for name, queues in sorted(route.queue_datas)]
    return Table(("BROKER", "READ QUEUES", "WRITE QUEUES", "PERM", "FLAGS"), rows)


async def _kv(options: Namespace, server: NameServer) -> Found:
    return _pairs(await server.kv(options.namespace))


async def _config(_options: Namespace, server: NameServer) -> Found:
    lines = (await server.configuration()).splitlines()
    return _pairs({key: value for key, _, value in (line.partition("=") for line in lines) if key})


async def _connections(_options: Namespace, _server: NameServer) -> Found:
    raise UnusableError("no request of the name server protocol lists connections, of Java's neither")


def _pairs(items: dict[str, str]) -> Found:
    ordered = dict(sorted(items.items()))
    return Found(ordered, [Table(("KEY", "VALUE"), list(ordered.items()))])


READERS = {
    "brokers": _brokers, "topics": _topics, "route": _route, "kv": _kv, "config": _config, "connections": _connections,
}  # fmt: skip
