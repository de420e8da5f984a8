"""JSON as fastjson2 2.0.59 reads and writes it, on top of orjson.

Reading: orjson first; text that it refuses gets its numeric keys quoted and a second try, then the lenient parser.
Writing: orjson's escapes are fastjson2's; the default mode's unquoted numeric keys are put in with orjson.Fragment.
The ``as_…`` functions convert values as fastjson2 does when it fills a bean's fields; numbers are in `numbers`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import orjson

from rocketns._fast.codec import json_beans, json_shape
from rocketns.errors import BodyDecodeError
from rocketns.protocol.bounds import Allowance
from rocketns.protocol.json import lenient
from rocketns.protocol.json.lenient import NumberText
from rocketns.protocol.json.numbers import as_bool as as_bool
from rocketns.protocol.json.numbers import as_int as as_int
from rocketns.protocol.json.numbers import as_long as as_long
from rocketns.protocol.json.numbers import number_text

SAFE_LONG_MAX = (1 << 53) - 1  # standard mode quotes longs beyond it (JSONWriter.Feature.BrowserCompatible)

_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")

Value = TypeVar("Value")


class JsonSyntaxError(BodyDecodeError):
    """Text that fastjson2 refuses."""


class InexactNumber(BodyDecodeError):
    """The text of a number is needed as it was written, and orjson does not keep it."""


def read(
    data: bytes,
    build: Callable[[Any], Value],
    *,
    numeric_keys: bool = True,
    allowance: Allowance | None = None,
) -> Value:
    """Calls ``build`` with the value of a JSON text; after an InexactNumber a second time, with numbers as texts."""
    allowance = allowance or Allowance()
    try:
        return build(loads(data, numeric_keys=numeric_keys, allowance=allowance))
    except InexactNumber:
        return build(loads_lenient(data, numeric_keys=numeric_keys, allowance=allowance))


def loads(data: bytes, *, numeric_keys: bool = True, allowance: Allowance | None = None) -> Any:
    """The value of a JSON text as fastjson2 takes it. JsonSyntaxError where fastjson2 throws.

    ``numeric_keys``: keys may be numbers without quotes. fastjson2 takes those in maps of beans, but not in beans nor
    in maps of strings. ``allowance`` limits the number of values, and the bytes that are read leniently; what is used
    is deducted.
    """
    allowance = allowance or Allowance()
    _take_values(data, allowance)
    try:
        return _standard(data, numeric_keys)
    except ValueError:
        pass
    return loads_lenient(data, numeric_keys=numeric_keys, allowance=allowance)


def loads_standard(data: bytes, *, numeric_keys: bool = True, allowance: Allowance | None = None) -> Any:
    """Like `loads`, but refuses text that only the lenient parser takes."""
    _take_values(data, allowance or Allowance())
    try:
        return _standard(data, numeric_keys)
    except ValueError as error:
        raise JsonSyntaxError(str(error)) from error


def _standard(data: bytes, numeric_keys: bool) -> Any:
    try:
        return orjson.loads(data)
    except ValueError:
        quoted = json_shape.quote_numeric_keys(data) if numeric_keys else None
        if quoted is None:
            raise
    return orjson.loads(quoted)


def _take_values(data: bytes, allowance: Allowance) -> None:
    """Counts values before they become objects: an object takes time, and about 20 times the bytes of its text."""
    values = json_shape.count_values(data, allowance.values)
    if values > allowance.values:
        raise JsonSyntaxError(f"more than {allowance.values} JSON values")
    allowance.values -= values


def loads_lenient(data: bytes, *, numeric_keys: bool = True, allowance: Allowance | None = None) -> Any:
    """Like `loads`, with every number as its text (NumberText)."""
    allowance = allowance or Allowance()
    if len(data) > allowance.lenient_bytes:
        raise JsonSyntaxError(f"not JSON, and longer than the {allowance.lenient_bytes} bytes read leniently")
    allowance.lenient_bytes -= len(data)
    try:
        return lenient.loads(data.decode("utf-8"), numeric_keys=numeric_keys)
    except ValueError as error:  # UnicodeDecodeError is one
        raise JsonSyntaxError(str(error)) from error


def dumps(value: Any) -> bytes:
    """Compact JSON with fastjson2's escapes. Lone surrogates become '?', as in Java's UTF-8 encoder."""
    try:
        return orjson.dumps(value)
    except (orjson.JSONEncodeError, TypeError):
        return orjson.dumps(_without_surrogates(value))


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("?", value)
    if isinstance(value, dict):
        return {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value


def numeric_map(members: dict[int, Any], *, standard: bool) -> Any:
    """A map with numeric keys, sorted by number. Standard mode quotes the keys, default mode does not."""
    if standard:
        return {str(key): members[key] for key in sorted(members)}
    inner = b",".join(b"%d:%b" % (key, dumps(members[key])) for key in sorted(members))
    return orjson.Fragment(b"{" + inner + b"}")


def long_value(value: int, *, standard: bool) -> int | str:
    """A long. Standard mode quotes numbers that a browser cannot hold exactly."""
    return str(value) if standard and not -SAFE_LONG_MAX <= value <= SAFE_LONG_MAX else value


def as_object(value: Any) -> dict[str, Any] | None:
    """A JSON object, or None for null and "". BodyDecodeError for anything else."""
    if value is None or value == "":
        return None
    if isinstance(value, dict):
        return value
    raise BodyDecodeError(f"expect an object, but it is {type(value).__name__}")


def as_text(value: Any) -> str | None:
    """JSONReader.readString: the JSON text of a value. Null is None; a list of one text or null counts as its item."""
    if value is None or type(value) is str:
        return value
    if isinstance(value, NumberText):
        return number_text(value)
    if type(value) is int:
        return str(value)
    if type(value) is list and len(value) == 1 and (value[0] is None or type(value[0]) is str):
        only: str | None = value[0]
        return only
    try:
        return dumps(json_beans.shown(value, lenient.NESTING_MAX, _leaf)).decode("utf-8")
    except RecursionError as error:
        raise BodyDecodeError(f"more than {lenient.NESTING_MAX} levels") from error


def _leaf(value: Any) -> Any:
    """A number as fastjson2 shows it, anything else as it is."""
    return orjson.Fragment(number_text(value)) if isinstance(value, NumberText) else value


def exact_text(value: Any) -> str | None:
    """Like `as_text`; InexactNumber where only a number's value is known, and its text matters."""
    if type(value) is str:
        return value
    try:
        inexact = json_beans.has_float(value, lenient.NESTING_MAX)
    except RecursionError as error:
        raise BodyDecodeError(f"more than {lenient.NESTING_MAX} levels") from error
    if inexact:
        raise InexactNumber("a number is wanted as text")
    return as_text(value)
