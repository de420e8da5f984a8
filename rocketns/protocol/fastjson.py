"""JSON as fastjson2 2.0.59 reads and writes it, on top of orjson.

Reading: orjson first; text that it refuses gets its numeric keys quoted and a second try, then the lenient parser.
Writing: orjson's escapes are fastjson2's; the default mode's unquoted numeric keys are put in with orjson.Fragment.
The ``as_…`` functions convert values the way fastjson2 fills a bean's fields; numbers are in `jsonnumbers`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import orjson

from rocketns.errors import BodyDecodeError
from rocketns.protocol import lenient
from rocketns.protocol.jsonnumbers import as_bool as as_bool
from rocketns.protocol.jsonnumbers import as_int as as_int
from rocketns.protocol.jsonnumbers import as_long as as_long
from rocketns.protocol.jsonnumbers import number_text
from rocketns.protocol.lenient import NumberText

SAFE_LONG_MAX = (1 << 53) - 1  # standard mode quotes longs beyond it (JSONWriter.Feature.BrowserCompatible)

# Inserting quotes inside a string always makes the text invalid (a digit would follow its end), so this pass can
# turn a refused text into an accepted one only where the digits really were a key.
NUMERIC_KEYS_MAX = 200_000
_NUMERIC_KEY = re.compile(rb"([{,]\s*)(-?\d+)(\s*:)")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")

Value = TypeVar("Value")


class JsonSyntaxError(BodyDecodeError):
    """Text that fastjson2 refuses."""


class InexactNumber(BodyDecodeError):
    """A number is wanted as it was written, which orjson does not tell."""


def read(
    data: bytes,
    build: Callable[[Any], Value],
    *,
    numeric_keys: bool = True,
    lenient_bytes_max: int = lenient.LENIENT_BYTES_MAX,
) -> Value:
    """What ``build`` makes of the value of a JSON text. If it meets an InexactNumber it is called a second time."""
    how: dict[str, Any] = {"numeric_keys": numeric_keys, "lenient_bytes_max": lenient_bytes_max}
    try:
        return build(loads(data, **how))
    except InexactNumber:
        return build(loads_lenient(data, **how))


def loads(data: bytes, *, numeric_keys: bool = True, lenient_bytes_max: int = lenient.LENIENT_BYTES_MAX) -> Any:
    """The value of a JSON text as fastjson2 takes it. JsonSyntaxError where fastjson2 throws.

    ``numeric_keys`` says whether keys may be numbers without quotes: in maps of beans, but not in beans and not in
    maps of strings. Text longer than ``lenient_bytes_max`` is only taken if it is JSON but for such keys.
    """
    try:
        return orjson.loads(data)
    except ValueError:
        pass
    if numeric_keys:
        try:
            return orjson.loads(_NUMERIC_KEY.sub(rb'\1"\2"\3', data, count=NUMERIC_KEYS_MAX))
        except ValueError:
            pass
    return loads_lenient(data, numeric_keys=numeric_keys, lenient_bytes_max=lenient_bytes_max)


def loads_lenient(data: bytes, *, numeric_keys: bool = True, lenient_bytes_max: int = lenient.LENIENT_BYTES_MAX) -> Any:
    """Like `loads`, with every number as the text it was written with (NumberText)."""
    if len(data) > lenient_bytes_max:
        raise JsonSyntaxError(f"not JSON, and longer than the {lenient_bytes_max} bytes read leniently")
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
    """A map with numeric keys: quoted in standard mode, bare in default mode; sorted by number in both."""
    if standard:
        return {str(key): members[key] for key in sorted(members)}
    inner = b",".join(b"%d:%b" % (key, dumps(members[key])) for key in sorted(members))
    return orjson.Fragment(b"{" + inner + b"}")


def long_value(value: int, *, standard: bool) -> int | str:
    """A long: standard mode quotes what a browser could not hold exactly."""
    return str(value) if standard and not -SAFE_LONG_MAX <= value <= SAFE_LONG_MAX else value


def as_object(value: Any) -> dict[str, Any] | None:
    """A JSON object, or None for null and "". BodyDecodeError for anything else."""
    if value is None or value == "":
        return None
    if isinstance(value, dict):
        return value
    raise BodyDecodeError(f"expect an object, but it is {type(value).__name__}")


def as_text(value: Any) -> str | None:
    """JSONReader.readString: any value as its JSON text, null as None."""
    if value is None or type(value) is str:
        return value
    if isinstance(value, NumberText):
        return number_text(value)
    return dumps(_shown(value, 0)).decode("utf-8")


def exact_text(value: Any) -> str | None:
    """Like `as_text`; InexactNumber where a number's own text counts and only its value is there."""
    if type(value) is str:
        return value
    if _has_float(value, 0):
        raise InexactNumber("a number is wanted as text")
    return as_text(value)


def _has_float(value: Any, depth: int) -> bool:
    _check_depth(depth)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, float) or any(_has_float(item, depth + 1) for item in inner)


def _shown(value: Any, depth: int) -> Any:
    """What fastjson2 writes of a nested value: numbers as it shows them, and no null members."""
    _check_depth(depth)
    if isinstance(value, NumberText):
        return orjson.Fragment(number_text(value))
    if isinstance(value, dict):
        return {key: _shown(item, depth + 1) for key, item in value.items() if item is not None}
    return [_shown(item, depth + 1) for item in value] if isinstance(value, list) else value


def _check_depth(depth: int) -> None:
    if depth > lenient.NESTING_MAX:
        raise BodyDecodeError(f"more than {lenient.NESTING_MAX} levels")
