"""The OpenAPI document, made from the rows and the tables, so that it always describes the real answers."""

from __future__ import annotations

import types
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import EnumType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from rocketns import __version__
from rocketns.admin.api.paging import PagePosition, Parameter
from rocketns.admin.api.route import ROUTE_PARAMETERS
from rocketns.admin.api.rows import ErrorRow, RouteRow, StatusRow
from rocketns.admin.api.tables import TABLES, ApiTable
from rocketns.config.properties import java_name

ROOT = "/api/v1"
PLAIN: dict[type, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
}


def document() -> dict[str, Any]:
    """The whole document, OpenAPI 3.1."""
    paths = {
        f"{ROOT}/status": _get("status", "The name server in numbers", _ref(StatusRow), ()),
        f"{ROOT}/route": _get("route", "The route of a topic", _ref(RouteRow), ROUTE_PARAMETERS),
        **{f"{ROOT}/{table.name}": _list(table) for table in TABLES},
    }
    rows: list[type] = [StatusRow, RouteRow, ErrorRow, *(table.row for table in TABLES)]
    schemas: dict[str, Any] = {}
    for row in rows:
        _describe(row, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "rocketns", "version": __version__,
                 "description": "What one name server knows. Nothing here changes anything."},
        "paths": paths,
        "components": {"schemas": schemas},
    }  # fmt: skip


def _list(table: ApiTable) -> dict[str, Any]:
    page = _object(PagePosition, {})
    page["required"].append("items")
    page["properties"]["items"] = {"type": "array", "items": _ref(table.row)}
    return _get(table.name, table.meaning, page, table.parameters)


def _get(name: str, meaning: str, schema: dict[str, Any], parameters: Iterable[Parameter]) -> dict[str, Any]:
    """A path whose parameter is required may lack what it names."""
    described = [{"name": one.name, "in": "query", "required": one.is_required, "description": one.meaning,
                  "schema": one.schema} for one in parameters]  # fmt: skip
    error = {"application/json": {"schema": _ref(ErrorRow)}}
    plain = {"text/plain": {"schema": {"type": "string"}}}
    answers: dict[str, Any] = {
        "200": {"description": meaning, "content": {"application/json": {"schema": schema}}},
        "400": {"description": "a parameter is wrong, or the request is too long", "content": error | plain},
        "503": {"description": "control is busy", "content": plain},
    }
    if any(one["required"] for one in described):
        answers["404"] = {"description": "there is no such topic", "content": error}
    return {"get": {"operationId": name, "summary": meaning, "parameters": described, "responses": answers}}


def _ref(row: type) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{row.__name__}"}


def _describe(row: type, schemas: dict[str, Any]) -> None:
    """Add the schema of a row, and of the rows in it."""
    if row.__name__ not in schemas:
        schemas[row.__name__] = {}  # a row may have rows of its own kind
        schemas[row.__name__] = _object(row, schemas)


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
        _describe(hint, schemas)  # type: ignore[arg-type]
        return _ref(hint)  # type: ignore[arg-type]
    return dict(PLAIN[hint])
