"""Answers as JSON."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

import orjson
from aiohttp import web

from rocketns.config.properties import java_name


def as_json(value: Any) -> Any:
    """Rows as objects with the names of the API."""
    if is_dataclass(value) and not isinstance(value, type):
        return {name: as_json(getattr(value, attribute)) for attribute, name in _names(type(value))}
    if isinstance(value, list | tuple):
        return [as_json(one) for one in value]
    return value


@lru_cache
def _names(row: type) -> tuple[tuple[str, str], ...]:
    return tuple((one.name, java_name(one.name)) for one in fields(row))


def dumps(value: Any) -> bytes:
    """JSON. Text that is no valid Unicode, which peers may send, has the characters of the escape in its place."""
    plain = as_json(value)
    try:
        return orjson.dumps(plain)
    except TypeError:
        return orjson.dumps(_valid(plain))


def _valid(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_valid(key): _valid(one) for key, one in value.items()}
    return [_valid(one) for one in value] if isinstance(value, list) else value


def json_answer(value: Any, status: int = 200) -> web.Response:
    """An answer with this value."""
    return web.Response(status=status, body=dumps(value), content_type="application/json")
