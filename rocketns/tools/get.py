"""`rocketns get`: one thing of one name server; and `rocketns health`."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass, field
from typing import Any

from rocketns.client.name_server import NameServer
from rocketns.config.properties import of_lines
from rocketns.fleet.group_view import group_view
from rocketns.protocol.body.route import BrokerData, QueueData, TopicRouteData
from rocketns.tools.management import route_as, rows_of
from rocketns.tools.output import EXIT_DIFFERENT, EXIT_FOUND, TextTable, complain, print_json, print_table, print_text


@dataclass(frozen=True, slots=True)
class Shown:
    """The same thing for programs and for people."""

    value: Any
    tables: list[TextTable] = field(default_factory=list)


async def get(options: Namespace, server: NameServer) -> int:
    """Print what was asked for. The exit status. UnusableError if the name server cannot be read."""
    answer = await READERS[options.thing](options, server)
    if answer is None:
        complain(f"{server.addr} has no route of the topic {options.topic}")
        return EXIT_DIFFERENT
    if options.json:
        print_json(answer.value)
    else:
        for table in answer.tables:
            print_table(table)
    return EXIT_FOUND


async def health(options: Namespace, server: NameServer) -> int:
    """Print whether it is ready. The exit status. UnusableError if it cannot be read."""
    why = await server.why_not_ready()
    if options.json:
        print_json({"server": server.addr, "ready": why is None, "reason": why})
    else:
        print_text(f"{server.addr} is ready\n" if why is None else f"{server.addr} is not ready: {why}\n")
    return EXIT_FOUND if why is None else EXIT_DIFFERENT


async def _brokers(_options: Namespace, server: NameServer) -> Shown:
    groups = await server.groups()
    value = {name: group_view(groups[name]).as_json() for name in sorted(groups)}
    ordered = sorted(groups.values(), key=lambda group: (group.cluster or "", group.broker_name))
    return Shown(value, [_group_table(ordered)])


def _group_table(groups: list[BrokerData]) -> TextTable:
    rows = [
        (group.cluster or "-", group.broker_name, str(broker_id), addr, group.zone_name or "-",
         "yes" if group.enable_acting_master else "no")
        for group in groups for broker_id, addr in sorted(group.broker_addrs.items())
    ]  # fmt: skip
    return TextTable(("CLUSTER", "BROKER", "ID", "ADDRESS", "ZONE", "ACTING MASTER"), rows)


async def _topics(_options: Namespace, server: NameServer) -> Shown:
    topics = sorted(await server.topics())
    return Shown(topics, [TextTable(("TOPIC",), [(topic,) for topic in topics])])


async def _route(options: Namespace, server: NameServer) -> Shown | None:
    if options.who is not None:
        row = await route_as(options.who, options, server)
        return None if row is None else _route_of_row(row)
    route = await server.route(options.topic)
    if route is None:
        return None
    groups = sorted(route.broker_datas, key=lambda group: group.broker_name)
    return Shown(route_value(route), [_queue_table(route), _group_table(groups)])


def _route_of_row(row: dict[str, Any]) -> Shown:
    """As a client gets it, of whom the management port tells."""
    queues = [
        (str(one.get("broker")), str(one.get("readQueues")), str(one.get("writeQueues"))) for one in row["queues"]
    ]
    addrs = [
        (str(one.get("cluster") or "-"), str(one.get("broker")), str(broker_id), str(addr))
        for one in row["queues"] for broker_id, addr in (one.get("addresses") or {}).items()
    ]  # fmt: skip
    return Shown(row, [
        TextTable(("VIEW",), [(str(row.get("view") or "none"),)]),
        TextTable(("BROKER", "READ QUEUES", "WRITE QUEUES"), queues),
        TextTable(("CLUSTER", "BROKER", "ID", "ADDRESS"), addrs),
    ])  # fmt: skip


def _queue_table(route: TopicRouteData) -> TextTable:
    rows = [(name, *(str(number) for number in queues)) for name, queues in sorted(route.queue_datas)]
    return TextTable(("BROKER", "READ QUEUES", "WRITE QUEUES", "PERM", "FLAGS"), rows)


async def _kv(options: Namespace, server: NameServer) -> Shown:
    return _pairs(await server.kv(options.namespace))


async def _config(_options: Namespace, server: NameServer) -> Shown:
    return _pairs(of_lines(await server.configuration()))


async def _connections(options: Namespace, server: NameServer) -> Shown:
    rows = await rows_of("connections?sort=peer", options, server)
    columns = ("peer", "language", "versionName", "since", "requests", "waiting")
    shown = [tuple("-" if row.get(name) is None else str(row[name]) for name in columns) for row in rows]
    return Shown(rows, [TextTable(("PEER", "LANGUAGE", "VERSION", "SINCE (MS)", "REQUESTS", "WAITING"), shown)])


def _pairs(items: dict[str, str]) -> Shown:
    ordered = dict(sorted(items.items()))
    return Shown(ordered, [TextTable(("KEY", "VALUE"), list(ordered.items()))])


READERS = {
    "brokers": _brokers, "topics": _topics, "route": _route, "kv": _kv, "config": _config, "connections": _connections,
}  # fmt: skip


def route_value(route: TopicRouteData) -> dict[str, Any]:
    """All that a route says, with sorted names."""
    groups = sorted(route.broker_datas, key=lambda group: group.broker_name)
    mappings = route.topic_queue_mapping_by_broker or {}
    return {
        "brokers": {group.broker_name: group_view(group).as_json() for group in groups},
        "queues": {name: _numbers(queues) for name, queues in sorted(route.queue_datas)},
        "staticQueues": {str(name): {str(one): place for one, place in (info.curr_id_map or {}).items()}
                         for name, info in mappings.items()},
        "filterServers": {addr: servers for addr, servers in sorted(route.filter_server_table.items()) if servers},
        "orderConfiguration": route.order_topic_conf,
    }  # fmt: skip


def _numbers(queues: QueueData) -> dict[str, int]:
    read, write, perm, sys_flag = queues
    return {"perm": perm, "readQueueNums": read, "topicSysFlag": sys_flag, "writeQueueNums": write}
