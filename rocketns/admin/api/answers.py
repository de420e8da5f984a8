"""Answers as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

import orjson
from aiohttp import web

from rocketns.admin.api.paging import TEXT_MAX, Page
from rocketns.config.properties import java_name

# A page ends before it is larger, but has one row at least. 500 rows of real brokers fit. Each connection whose peer
# reads slowly holds two of them.
PAGE_BYTES_MAX = 256 * 1024
# Longer names are cut: nobody can ask for them either.
NAME_CHARACTERS_MAX = TEXT_MAX
VALUE_CHARACTERS_MAX = 40_000
PLAIN = {int, bool, type(None)}
# Columns that are no names.
VALUES = {"text", "value", "says", "order_configuration", "meaning", "at_limit", "error"}


def as_json(value: Any, characters_max: int = NAME_CHARACTERS_MAX) -> Any:
    """Rows as objects with the names of the API. Longer texts are cut."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is str:
        return value if len(value) <= characters_max else f"{value[:characters_max]}… (cut, {len(value)} characters)"
    if is_dataclass(value) and not isinstance(value, type):
        return {name: as_json(getattr(value, column), most) for column, name, most in _columns(type(value))}
    if isinstance(value, list | tuple):
        return [as_json(one, characters_max) for one in value]
    if isinstance(value, dict):
        return {as_json(key): as_json(one, characters_max) for key, one in value.items()}
    return value


@lru_cache
def _columns(row: type) -> tuple[tuple[str, str, int], ...]:
    most = dict.fromkeys(VALUES, VALUE_CHARACTERS_MAX)
    return tuple((one.name, java_name(one.name), most.get(one.name, NAME_CHARACTERS_MAX)) for one in fields(row))


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


def page_answer(page: Page) -> web.Response:
    """The rows of the page, as many as fit PAGE_BYTES_MAX."""
    rows = list(_fitting(page.items))
    after = page.offset + len(rows)
    ends = dumps({"total": page.total, "offset": page.offset, "limit": page.limit,
                  "next": after if rows and after < page.total else None})  # fmt: skip
    body = b'{"items":[%b],%b' % (b",".join(rows), ends[1:])
    return web.Response(body=body, content_type="application/json")


def _fitting(rows: Sequence[Any]) -> Iterator[bytes]:
    size = 0
    for row in rows:
        made = dumps(row)
        size += len(made) + 1
        if size > PAGE_BYTES_MAX and size > len(made) + 1:
            return
        yield made


def json_answer(value: Any, status: int = 200) -> web.Response:
    """An answer with this value."""
    return web.Response(status=status, body=dumps(value), content_type="application/json")
