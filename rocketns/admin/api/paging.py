"""A page of a table as JSON: which rows, in which order, which part of them. Nothing here holds the GIL for long."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from heapq import merge
from itertools import accumulate, islice
from typing import Annotated, Any, NamedTuple

import orjson
from aiohttp import web

from rocketns.admin.api.rows import ErrorRow
from rocketns.config.properties import java_name

NUMBER = re.compile("[0-9]{1,8}")
TEXT_MAX = 512
TEXT = {"type": "string", "maxLength": TEXT_MAX}
NAME = TEXT | {"minLength": 1}
CHUNK_ROWS = 1000
# A page ends before it is larger, but has one row at least. 500 rows of real brokers fit. Each connection whose peer
# reads slowly holds two of them.
PAGE_BYTES_MAX = 256 * 1024
# Longer names are cut: nobody can ask for them either.
NAME_CHARACTERS_MAX = TEXT_MAX
VALUE_CHARACTERS_MAX = 40_000
PLAIN = {int, bool, type(None)}
# Columns that are no names.
VALUES = {"text", "value", "says", "order_configuration", "error"}


def api_error(why: str, kind: type[web.HTTPError] = web.HTTPBadRequest) -> web.HTTPError:
    """The error that says why: by default of a parameter that the API does not take."""
    return kind(text=dumps(ErrorRow(why)).decode(), content_type="application/json")


class Parameter(NamedTuple):
    """A parameter of a request. ``schema``: which texts it takes, as JSON Schema: an enum, an integer with its bounds,
    or a string with its lengths. One of a list may choose rows: ``test`` gets a row and the text.
    """

    name: str
    meaning: str
    schema: Mapping[str, Any] = TEXT
    test: Callable[[Any, str], bool] = lambda *_: True
    is_required: bool = False

    def read(self, text: str) -> Any:
        """The value. HTTPBadRequest if it does not take this text."""
        schema = self.schema
        if "enum" in schema:
            if text not in schema["enum"]:
                raise api_error(f"{self.name} must be one of {', '.join(schema['enum'])}")
        elif schema["type"] == "integer":
            low, high = schema["minimum"], schema["maximum"]
            if not (NUMBER.fullmatch(text) and low <= int(text) <= high):
                raise api_error(f"{self.name} must be a number from {low} to {high}")
            return int(text)
        else:
            low, high = schema.get("minLength", 0), schema["maxLength"]
            if not low <= len(text) <= high:
                raise api_error(f"{self.name} must have {low} to {high} characters")
        return text


LIMIT = Parameter("limit", "rows at most", {"type": "integer", "minimum": 1, "maximum": 500, "default": 50})
OFFSET = Parameter(
    "offset", "rows to leave out", {"type": "integer", "minimum": 0, "maximum": 10_000_000, "default": 0}
)


def read_parameters(request: web.Request, allowed: Iterable[Parameter]) -> dict[str, Any]:
    """The values of the parameters that the query has, or that have a default. HTTPBadRequest for any other one, one
    that comes more than once, and a value that it does not take.
    """
    query, parameters = request.query, {one.name: one for one in allowed}
    for name in query:
        if name not in parameters:
            raise api_error(f"there is no parameter {name[:TEXT_MAX]!r}")
        if len(query.getall(name)) > 1:
            raise api_error(f"{name} is given more than once")
    texts = {name: query.get(name, "" if one.is_required else one.schema.get("default"))
             for name, one in parameters.items()}  # fmt: skip
    return {name: parameters[name].read(str(text)) for name, text in texts.items() if text is not None}


async def page_of(
    rows: Sequence[Any], wanted: Mapping[str, Any], columns: Mapping[str, str], filters: Iterable[Parameter]
) -> tuple[list[Any], int]:
    """The rows of the page, and how many the filters left. ``wanted``: the values of the parameters. ``columns``: those
    that order rows, by their names in JSON.

    Sorted pieces are merged: one large sort would hold the GIL, and control would wait for it.
    """
    tests = [(one.test, wanted[one.name]) for one in filters if one.name in wanted]
    column, is_descending = columns[wanted["sort"].removeprefix("-")], wanted["sort"].startswith("-")

    def key(row: Any) -> tuple[bool, Any]:
        """Rows without a value are last, or first in descending order."""
        value = getattr(row, column)
        return value is None, 0 if value is None else value

    pieces, total = [], 0
    for at in range(0, len(rows), CHUNK_ROWS):
        piece = [row for row in rows[at : at + CHUNK_ROWS] if all(test(row, text) for test, text in tests)]
        piece.sort(key=key, reverse=is_descending)
        pieces.append(piece)
        total += len(piece)
        await asyncio.sleep(0)
    ordered = merge(*pieces, key=key, reverse=is_descending)
    for at in range(0, min(wanted["offset"], total), CHUNK_ROWS):
        deque(islice(ordered, min(CHUNK_ROWS, wanted["offset"] - at)), maxlen=0)
        await asyncio.sleep(0)
    return list(islice(ordered, wanted["limit"])), total


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


@dataclass(frozen=True, slots=True)
class PagePosition:
    """A part of a list."""

    total: Annotated[int, "rows that the filters left"]
    offset: int
    limit: int
    next: Annotated[int | None, "the offset of the page after this one, which may have fewer rows than its limit "
                    "because of its bytes; null at the end"]  # fmt: skip


def page_json(items: Sequence[Any], offset: int, limit: int, total: int) -> bytes:
    """The rows of a page, as many as fit PAGE_BYTES_MAX, but one at least."""
    rows = [dumps(row) for row in items]
    sizes = accumulate(len(row) + 1 for row in rows)
    rows = rows[: max(1, sum(size <= PAGE_BYTES_MAX for size in sizes))]
    after = offset + len(rows)
    position = PagePosition(total, offset, limit, after if rows and after < total else None)
    return b'{"items":[%b],%b' % (b",".join(rows), dumps(position)[1:])
