"""The paths of ``/api/v1``, and the OpenAPI document of them. It is made from their rows, so that it always describes
the real answers. `tables` declares the lists.
"""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import EnumType
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import orjson
from aiohttp import web

from rocketns import __version__
from rocketns.admin.api.history import LastHour
from rocketns.admin.api.paging import PagePosition, Parameter, dumps, page_json, page_of, read_parameters
from rocketns.admin.api.route import ROUTE_PARAMETERS, read_route
from rocketns.admin.api.rows import ErrorRow, RouteRow, StatusRow
from rocketns.admin.api.status import read_status
from rocketns.admin.api.tables import TABLES, ApiSource, ApiTable
from rocketns.admin.recent import Recent
from rocketns.admin.view import ControlView
from rocketns.config.properties import java_name

ROOT = "/api/v1"
SOURCE = web.AppKey("source", ApiSource)


class ApiValue(NamedTuple):
    """A path with one value. ``read`` gets those of the parameters; HTTPNotFound if it has none for them."""

    name: str
    meaning: str
    row: type
    read: Callable[[ApiSource, Mapping[str, Any]], Awaitable[Any]]
    parameters: tuple[Parameter, ...] = ()


API_VALUES = (
    ApiValue("status", "The name server in numbers", StatusRow, read_status),
    ApiValue("route", "The route of a topic", RouteRow, read_route, ROUTE_PARAMETERS),
)


def add(app: web.Application, view: ControlView) -> None:
    """Control only, before the server starts."""
    recent, history = Recent(), LastHour(view)
    view.facts.watch(recent.watch)
    app.cleanup_ctx.append(history.follow)
    app[SOURCE] = source = ApiSource(view, recent, history)
    described = orjson.dumps(document(), option=orjson.OPT_INDENT_2)
    app.router.add_get(f"{ROOT}/openapi.json", partial(_document, described))
    for value in API_VALUES:
        app.router.add_get(f"{ROOT}/{value.name}", partial(_value, source, value))
    for table in TABLES:
        app.router.add_get(f"{ROOT}/{table.name}", partial(_list, source, table))


async def _document(described: bytes, _: web.Request) -> web.Response:
    return web.Response(body=described, content_type="application/json")


async def _value(source: ApiSource, value: ApiValue, request: web.Request) -> web.Response:
    row = await value.read(source, read_parameters(request, value.parameters))
    return web.Response(body=dumps(row), content_type="application/json")


async def _list(source: ApiSource, table: ApiTable, request: web.Request) -> web.Response:
    wanted = read_parameters(request, table.parameters)
    items, total = await page_of(await table.read(source, wanted), wanted, table.columns, table.filters)
    shown = items if table.finish is None else await table.finish(source, items)
    body = page_json(shown, wanted["offset"], wanted["limit"], total)
    return web.Response(body=body, content_type="application/json")


PLAIN: dict[type, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
}


def document() -> dict[str, Any]:
    """The whole document, OpenAPI 3.1."""
    schemas: dict[str, Any] = {}
    paths = {f"{ROOT}/{one.name}": _get(one, schemas) for one in (*API_VALUES, *TABLES)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "rocketns", "version": __version__,
                 "description": "What one name server knows. Nothing here changes anything."},
        "paths": paths,
        "components": {"schemas": schemas},
    }  # fmt: skip


def _get(path: ApiValue | ApiTable, schemas: dict[str, Any]) -> dict[str, Any]:
    """A path whose parameter is required may lack what it names."""
    schema = _ref(path.row, schemas)
    if isinstance(path, ApiTable):
        rows, schema = schema, _object(PagePosition, schemas)
        schema["required"].append("items")
        schema["properties"]["items"] = {"type": "array", "items": rows}
    described = [{"name": one.name, "in": "query", "required": one.is_required, "description": one.meaning,
                  "schema": one.schema} for one in path.parameters]  # fmt: skip
    error = {"application/json": {"schema": _ref(ErrorRow, schemas)}}
    plain = {"text/plain": {"schema": {"type": "string"}}}
    answers: dict[str, Any] = {
        "200": {"description": path.meaning, "content": {"application/json": {"schema": schema}}},
        "400": {"description": "a parameter is wrong, or the request is too long", "content": error | plain},
        "503": {"description": "control is busy", "content": plain},
    }
    if any(one["required"] for one in described):
        answers["404"] = {"description": "there is no such topic", "content": error}
    return {"get": {"operationId": path.name, "summary": path.meaning, "parameters": described, "responses": answers}}


def _ref(row: type, schemas: dict[str, Any]) -> dict[str, Any]:
    """Where its schema is, which is added with those of the rows in it."""
    if row.__name__ not in schemas:
        schemas[row.__name__] = {}  # a row may have rows of its own kind
        schemas[row.__name__] = _object(row, schemas)
    return {"$ref": f"#/components/schemas/{row.__name__}"}


def _object(row: type, schemas: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(row, include_extras=True)
    columns = {java_name(one.name): _schema(hints[one.name], schemas) for one in fields(row)}
    return {"type": "object", "description": row.__doc__, "properties": columns, "additionalProperties": False,
            "required": [*columns]}  # fmt: skip


def _schema(hint: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _schema(parts[0], schemas) | {"description": parts[1]}
    if origin is Literal:
        return {"enum": list(parts)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(one, schemas) for one in parts]}
    if origin in (list, tuple):
        return {"type": "array", "items": _schema(parts[0], schemas)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(parts[1], schemas)}
    if isinstance(hint, EnumType):
        return {"enum": [str(one.value) for one in hint]}  # type: ignore[var-annotated]
    if is_dataclass(hint):
        return _ref(hint, schemas)  # type: ignore[arg-type]
    return dict(PLAIN[hint])
