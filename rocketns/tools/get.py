"""`rocketns get`: one thing of one name server; and `rocketns health`."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from rocketns.client.name_server import NameServer
from rocketns.config.properties import of_lines
from rocketns.fleet.group_view import group_view
from rocketns.protocol.body.route import BrokerData, TopicRouteData
from rocketns.tools.management import route_as, rows_of
from rocketns.tools.output import EXIT_DIFFERENT, EXIT_FOUND, Report, TextTable, complain, print_answer

CONNECTION = ("peer", "language", "versionName", "since", "requests", "waiting")
# The same thing for programs and for people.
Shown = tuple[Any, Report]


async def get(options: Namespace, server: NameServer) -> int:
    """Print what was asked for. The exit status. UnusableError if the name server cannot be read."""
    shown = await _read(options, server)
    if shown is None:
        complain(f"{server.addr} has no route of the topic {options.topic}")
        return EXIT_DIFFERENT
    print_answer(options, *shown)
    return EXIT_FOUND


async def health(options: Namespace, server: NameServer) -> int:
    """Print whether it is ready. The exit status. UnusableError if it cannot be read."""
    why = await server.why_not_ready()
    text = f"{server.addr} is ready" if why is None else f"{server.addr} is not ready: {why}"
    print_answer(options, {"server": server.addr, "ready": why is None, "reason": why}, [text])
    return EXIT_FOUND if why is None else EXIT_DIFFERENT


async def _read(options: Namespace, server: NameServer) -> Shown | None:
    match options.thing:
        case "brokers":
            groups = await server.groups()
            ordered = sorted(groups.values(), key=lambda group: (group.cluster or "", group.broker_name))
            return {name: group_view(groups[name]).as_json() for name in sorted(groups)}, [_group_table(ordered)]
        case "topics":
            topics = sorted(await server.topics())
            return topics, [TextTable(("TOPIC",), [(topic,) for topic in topics])]
        case "kv":
            return _pairs(await server.kv(options.namespace))
        case "config":
            return _pairs(of_lines(await server.configuration()))
        case "connections":
            rows = await rows_of("connections?sort=peer", options, server)
            shown = [tuple("-" if row.get(name) is None else str(row[name]) for name in CONNECTION) for row in rows]
            return rows, [TextTable(("PEER", "LANGUAGE", "VERSION", "SINCE (MS)", "REQUESTS", "WAITING"), shown)]
        case _:
            return await _route(options, server)


async def _route(options: Namespace, server: NameServer) -> Shown | None:
    if options.who is not None:
        row = await route_as(options, server)
        return None if row is None else _route_of_row(row)
    route = await server.route(options.topic)
    if route is None:
        return None
    queues = [(name, *map(str, numbers)) for name, numbers in sorted(route.queue_datas)]
    return route_value(route), [
        TextTable(("BROKER", "READ QUEUES", "WRITE QUEUES", "PERM", "FLAGS"), queues),
        _group_table(sorted(route.broker_datas, key=lambda group: group.broker_name)),
    ]


def _group_table(groups: list[BrokerData]) -> TextTable:
    rows = [
        (group.cluster or "-", group.broker_name, str(broker_id), addr, group.zone_name or "-",
         "yes" if group.enable_acting_master else "no")
        for group in groups for broker_id, addr in sorted(group.broker_addrs.items())
    ]  # fmt: skip
    return TextTable(("CLUSTER", "BROKER", "ID", "ADDRESS", "ZONE", "ACTING MASTER"), rows)


def _pairs(items: dict[str, str]) -> Shown:
    ordered = dict(sorted(items.items()))
    return ordered, [TextTable(("KEY", "VALUE"), list(ordered.items()))]


def _route_of_row(row: dict[str, Any]) -> Shown:
    """As a client gets it, of whom the management port tells."""
    names = ("cluster", "broker", "readQueues", "writeQueues")
    rows = [
        (*(str(one.get(name) or "-") for name in names), broker_id, str(addr))
        for one in row["queues"] for broker_id, addr in (one.get("addresses") or {}).items()
    ]  # fmt: skip
    head = ("CLUSTER", "BROKER", "READ QUEUES", "WRITE QUEUES", "ID", "ADDRESS")
    return row, [f"view: {row.get('view') or 'none'}", TextTable(head, rows)]


def route_value(route: TopicRouteData) -> dict[str, Any]:
    """All that a route says, with sorted names."""
    groups = sorted(route.broker_datas, key=lambda group: group.broker_name)
    mappings = route.topic_queue_mapping_by_broker or {}
    return {
        "brokers": {group.broker_name: group_view(group).as_json() for group in groups},
        "queues": {name: {"perm": perm, "readQueueNums": read, "topicSysFlag": flag, "writeQueueNums": write}
                   for name, (read, write, perm, flag) in sorted(route.queue_datas)},
        "staticQueues": {str(name): {str(one): place for one, place in (info.curr_id_map or {}).items()}
                         for name, info in mappings.items()},
        "filterServers": {addr: servers for addr, servers in sorted(route.filter_server_table.items()) if servers},
        "orderConfiguration": route.order_topic_conf,
    }  # fmt: skip
