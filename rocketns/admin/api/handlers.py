"""``/api/v1``: what the name server knows, as JSON. `tables` declares its lists; `openapi` describes it."""

from __future__ import annotations

from functools import partial

import orjson
from aiohttp import web

from rocketns.admin.answers import Handler
from rocketns.admin.api.history import LastHour
from rocketns.admin.api.openapi import ROOT, document
from rocketns.admin.api.paging import TEXT_MAX, BadQuery, json_answer, page_answer, page_of, read_parameters
from rocketns.admin.api.route import copy_route, route_row
from rocketns.admin.api.rows import ErrorRow
from rocketns.admin.api.status import read_status
from rocketns.admin.api.tables import ROUTE_PARAMETERS, TABLES, ApiSource, ApiTable
from rocketns.admin.recent import Recent, Wiped
from rocketns.admin.view import ControlView

SOURCE = web.AppKey("source", ApiSource)


def add(app: web.Application, view: ControlView) -> None:
    """Control only, before the server starts."""
    recent, history = Recent(), LastHour(view)
    view.facts.watch(recent.watch)
    view.facts.reactors.tell_clients()
    app.cleanup_ctx.append(history.follow)
    app[SOURCE] = source = ApiSource(view, recent, Wiped(view, recent), history)
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
