"""``/api/v1``: what the name server knows, as JSON. `tables` declares its lists; `openapi` describes it."""

from __future__ import annotations

from functools import partial

import orjson
from aiohttp import web

from rocketns.admin.api.history import LastHour
from rocketns.admin.api.openapi import ROOT, document
from rocketns.admin.api.paging import json_answer, page_answer, page_of, read_parameters
from rocketns.admin.api.route import ROUTE_PARAMETERS, copy_route, route_row
from rocketns.admin.api.rows import ErrorRow
from rocketns.admin.api.status import read_status
from rocketns.admin.api.tables import TABLES, ApiSource, ApiTable
from rocketns.admin.recent import Recent
from rocketns.admin.view import ControlView

SOURCE = web.AppKey("source", ApiSource)


def add(app: web.Application, view: ControlView) -> None:
    """Control only, before the server starts."""
    recent, history = Recent(), LastHour(view)
    view.facts.watch(recent.watch)
    view.facts.reactors.report_clients()
    app.cleanup_ctx.append(history.follow)
    app[SOURCE] = source = ApiSource(view, recent, history)
    described = orjson.dumps(document(), option=orjson.OPT_INDENT_2)
    app.router.add_get(f"{ROOT}/status", partial(_status, source))
    app.router.add_get(f"{ROOT}/route", partial(_route, source))
    app.router.add_get(f"{ROOT}/openapi.json", partial(_document, described))
    for table in TABLES:
        app.router.add_get(f"{ROOT}/{table.name}", partial(_list, source, table))


async def _status(source: ApiSource, request: web.Request) -> web.Response:
    read_parameters(request, ())
    return json_answer(await read_status(source))


async def _document(described: bytes, _: web.Request) -> web.Response:
    return web.Response(body=described, content_type="application/json")


async def _route(source: ApiSource, request: web.Request) -> web.Response:
    given = read_parameters(request, ROUTE_PARAMETERS)
    topic = given["topic"]
    route = await source.view.look(lambda facts: copy_route(facts, topic, given.get("as")))
    if isinstance(route, str):
        return json_answer(ErrorRow(route), 404)
    return json_answer(route_row(topic, route))


async def _list(source: ApiSource, table: ApiTable, request: web.Request) -> web.Response:
    given = read_parameters(request, table.parameters)
    items, total = await page_of(await table.read(source, given), given, table.columns, table.filters)
    shown = items if table.finish is None else await table.finish(source, items)
    return page_answer(shown, given["offset"], given["limit"], total)
