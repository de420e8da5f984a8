"""A page of a table as JSON: which rows, in which order, which part of them. Nothing here holds the GIL for long."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from heapq import merge
from itertools import accumulate, islice
from typing import Any

import orjson
from aiohttp import web

from rocketns.config.properties import java_name

LIMIT_MAX = 500
LIMIT_DEFAULT = 50
OFFSET_MAX = 10_000_000
NUMBER = re.compile("[0-9]{1,8}")
TEXT_MAX = 512
CHUNK_ROWS = 1000
# A page ends before it is larger, but has one row at least. 500 rows of real brokers fit. Each connection whose peer
# reads slowly holds two of them.
PAGE_BYTES_MAX = 256 * 1024
# Longer names are cut: nobody can ask for them either.
NAME_CHARACTERS_MAX = TEXT_MAX
VALUE_CHARACTERS_MAX = 40_000
PLAIN = {int, bool, type(None)}
# Columns that are no names.
VALUES = {"text", "value", "says", "order_configuration", "meaning", "at_limit", "error"}


class BadQuery(Exception):
    """A parameter that the API does not take."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A parameter that chooses rows. ``choices`` are its only values, if there are any."""

    name: str
    meaning: str
    test: Callable[[Any, str], bool]
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """What was asked for."""

    limit: int
    offset: int
    column: str
    is_descending: bool
    filters: tuple[tuple[Filter, str], ...]

    def takes(self, row: Any) -> bool:
        """Whether a row passes all filters."""
        return all(one.test(row, text) for one, text in self.filters)

    def key(self, row: Any) -> tuple[bool, Any]:
        """Rows without a value are last, or first in descending order."""
        value = getattr(row, self.column)
        return value is None, 0 if value is None else value


def check_names(request: web.Request, *known: str) -> None:
    """BadQuery for a parameter that is not known, or given more than once."""
    for name in request.query:
        if name not in known:
            raise BadQuery(f"there is no parameter {name[:TEXT_MAX]!r}")
        if len(request.query.getall(name)) > 1:
            raise BadQuery(f"{name} is given more than once")


def read_query(request: web.Request, sorts: Mapping[str, str], first: str, filters: Sequence[Filter]) -> Query:
    """From the parameters. BadQuery for any that is not known, or wrong.

    ``sorts`` has the columns by their names in JSON, ``first`` is the order without the parameter.
    """
    given, known = request.query, {one.name: one for one in filters}
    check_names(request, "limit", "offset", "sort", *known)
    order = given.get("sort", first)
    column = sorts.get(order.removeprefix("-"))
    if column is None:
        raise BadQuery(f"sort must be one of {', '.join(sorts)}, or one of them after a -")
    chosen = tuple((known[name], text) for name, text in given.items() if name in known)
    for one, text in chosen:
        if len(text) > TEXT_MAX:
            raise BadQuery(f"{one.name} has more than {TEXT_MAX} characters")
        if one.choices and text not in one.choices:
            raise BadQuery(f"{one.name} must be one of {', '.join(one.choices)}")
    limit = _number(given, "limit", LIMIT_DEFAULT, 1, LIMIT_MAX)
    return Query(limit, _number(given, "offset", 0, 0, OFFSET_MAX), column, order.startswith("-"), chosen)


def _number(given: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = given.get(name, str(default))
    if not (NUMBER.fullmatch(text) and low <= int(text) <= high):
        raise BadQuery(f"{name} must be a number from {low} to {high}")
    return int(text)


async def page_of(rows: Sequence[Any], query: Query) -> tuple[list[Any], int]:
    """The rows of the page, and how many the filters left.

    Sorted pieces are merged: one large sort would hold the GIL, and control would wait for it.
    """
    pieces, total = [], 0
    for at in range(0, len(rows), CHUNK_ROWS):
        piece = [row for row in rows[at : at + CHUNK_ROWS] if query.takes(row)]
        piece.sort(key=query.key, reverse=query.is_descending)
        pieces.append(piece)
        total += len(piece)
        await asyncio.sleep(0)
    ordered = merge(*pieces, key=query.key, reverse=query.is_descending)
    for at in range(0, min(query.offset, total), CHUNK_ROWS):
        deque(islice(ordered, min(CHUNK_ROWS, query.offset - at)), maxlen=0)
        await asyncio.sleep(0)
    return list(islice(ordered, query.limit)), total


def as_json(value: Any, characters_max: int = NAME_CHARACTERS_MAX) -> Any:
    """Rows as objects with the names of the API. Longer texts are cut. A text that is no valid Unicode, which peers may
    send, has the characters of the escape in its place.
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is str:
        shown = value if len(value) <= characters_max else f"{value[:characters_max]}… (cut, {len(value)} characters)"
        return shown if shown.isascii() else shown.encode("utf-8", "backslashreplace").decode()
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
    """JSON: see `as_json`."""
    return orjson.dumps(as_json(value))


def page_answer(query: Query, items: Sequence[Any], total: int) -> web.Response:
    """The rows of the page, as many as fit PAGE_BYTES_MAX, but one at least."""
    rows = [dumps(row) for row in items]
    sizes = accumulate(len(row) + 1 for row in rows)
    rows = rows[: max(1, sum(size <= PAGE_BYTES_MAX for size in sizes))]
    after = query.offset + len(rows)
    ends = dumps({"total": total, "offset": query.offset, "limit": query.limit,
                  "next": after if rows and after < total else None})  # fmt: skip
    body = b'{"items":[%b],%b' % (b",".join(rows), ends[1:])
    return web.Response(body=body, content_type="application/json")


def json_answer(value: Any, status: int = 200) -> web.Response:
    """An answer with this value."""
    return web.Response(status=status, body=dumps(value), content_type="application/json")
