"""The handlers of ``/api/v1``."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TypeVar

import orjson
from aiohttp import web

from rocketns.admin.answers import Handler
from rocketns.admin.api.copies import RouteCopy, copy_route
from rocketns.admin.api.openapi import ROOT, document
from rocketns.admin.api.paging import (
    TEXT_MAX,
    BadQuery,
    dumps,
    json_answer,
    page_answer,
    page_of,
    read_parameters,
)
from rocketns.admin.api.rows import ErrorRow, QueueRow, RouteRow
from rocketns.admin.api.status import read_status
from rocketns.admin.api.tables import ROUTE_PARAMETERS, TABLES, ApiSource, ApiTable
from rocketns.protocol.body.route import BrokerData, QueueData
from rocketns.protocol.codes import PERM_READ, PERM_WRITE

# Of the queues and the filter servers of an answer.
ROUTE_BYTES_MAX = 256 * 1024

Row = TypeVar("Row")


def add_handlers(app: web.Application, source: ApiSource) -> None:
    """Before the server starts."""
    described = orjson.dumps(document(), option=orjson.OPT_INDENT_2)
    handlers: dict[str, Handler] = {
        "status": partial(_status, source),
        "route": partial(_route, source),
        "openapi.json": partial(_document, described),
        **{table.name: partial(_list, source, table) for table in TABLES},
    }
    for name, handler in handlers.items():
        app.router.add_get(f"{ROOT}/{name}", partial(_checked, handler))


async def _checked(handler: Handler, request: web.Request) -> web.StreamResponse:
    try:
        return await handler(request)
    except BadQuery as error:
        return json_answer(ErrorRow(str(error)), 400)


async def _status(source: ApiSource, request: web.Request) -> web.Response:
    read_parameters(request, ())
    return json_answer(await read_status(source))


async def _document(described: bytes, _: web.Request) -> web.Response:
    return web.Response(body=described, content_type="application/json")


async def _route(source: ApiSource, request: web.Request) -> web.Response:
    given = read_parameters(request, ROUTE_PARAMETERS)
    topic = given["topic"]
    try:
        route = await source.view.look(lambda facts: copy_route(facts, topic, given.get("as")))
    except LookupError as error:
        return json_answer(ErrorRow(str(error.args[0])[:TEXT_MAX]), 404)
    if route is None:
        return json_answer(ErrorRow(f"there is no topic {topic!r}"), 404)
    return json_answer(route_row(topic, route))


async def _list(source: ApiSource, table: ApiTable, request: web.Request) -> web.Response:
    given = read_parameters(request, table.parameters)
    items, total = await page_of(await table.read(source, given), given, table.columns, table.filters)
    shown = items if table.finish is None else await table.finish(source, items)
    return page_answer(shown, given["offset"], given["limit"], total)


def route_row(topic: str, route: RouteCopy) -> RouteRow:
    """The row of a topic."""
    groups = {group.broker_name: group for group in route.data.broker_datas}
    filters = {addr: [server for server in servers if server is not None]
               for addr, servers in route.data.filter_server_table.items() if servers}  # fmt: skip
    rows = (_queue_row(name, queues, groups.get(name)) for name, queues in route.data.queue_datas)
    shown, room = _fitting(rows, ROUTE_BYTES_MAX)
    return RouteRow(
        topic=topic,
        view=route.view,
        queues=tuple(shown),
        left_out=len(route.data.queue_datas) - len(shown),
        filter_servers=dict(_fitting(filters.items(), room)[0]),
        static_mappings=route.mappings,
        order_configuration=route.order,
    )


def _fitting(rows: Iterable[Row], room: int) -> tuple[list[Row], int]:
    """The rows that fit so many bytes of JSON, and how much room they leave."""
    fitting = []
    for row in rows:
        size = len(dumps(row)) + 1
        if size <= room:
            room -= size
            fitting.append(row)
    return fitting, room


def _queue_row(name: str, queues: QueueData, group: BrokerData | None) -> QueueRow:
    addrs = {} if group is None else group.broker_addrs
    return QueueRow(
        broker=name,
        cluster=None if group is None else group.cluster,
        zone=None if group is None else group.zone_name,
        addresses={str(broker_id): addrs[broker_id] for broker_id in sorted(addrs)},
        read_queues=queues.read_queue_nums,
        write_queues=queues.write_queue_nums,
        readable=bool(queues.perm & PERM_READ),
        writable=bool(queues.perm & PERM_WRITE),
        sys_flag=queues.topic_sys_flag,
    )
