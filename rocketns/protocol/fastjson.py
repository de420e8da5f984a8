"""JSON as fastjson2 2.0.59 reads and writes it, on top of orjson.

Reading: orjson first; text that it refuses gets its numeric keys quoted and a second try, then the lenient parser.
Writing: orjson's escapes are fastjson2's; the default mode's unquoted numeric keys are put in with orjson.Fragment.
The ``as_…`` functions convert values the way fastjson2 fills a bean's fields.
"""

from __future__ import annotations

import math
import re
from typing import Any

import orjson

from rocketns.errors import BodyDecodeError
from rocketns.javatext import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN
from rocketns.protocol import lenient
from rocketns.protocol.lenient import NumberText

SAFE_LONG_MAX = (1 << 53) - 1  # standard mode quotes longs beyond it (JSONWriter.Feature.BrowserCompatible)

# Inserting quotes inside a string always makes the text invalid (a digit would follow its end), so this pass can
# turn a refused text into an accepted one only where the digits really were a key.
_NUMERIC_KEY = re.compile(rb"([{,]\s*)(-?\d+)(\s*:)")
_DECIMAL = re.compile(r"[+-]?\d+(?:\.\d*)?")


class JsonSyntaxError(BodyDecodeError):
    """Text that fastjson2 refuses."""


def loads(data: bytes) -> Any:
    """The value of a JSON text as fastjson2 takes it. JsonSyntaxError where fastjson2 throws."""
    try:
        return orjson.loads(data)
    except ValueError:
        pass
    try:
        return orjson.loads(_NUMERIC_KEY.sub(rb'\1"\2"\3', data))
    except ValueError:
        return loads_lenient(data)


def loads_lenient(data: bytes) -> Any:
    """Like `loads`, with every number as the text it was written with (NumberText)."""
    if len(data) > lenient.LENIENT_BYTES_MAX:
        raise JsonSyntaxError(f"not JSON, and longer than the {lenient.LENIENT_BYTES_MAX} bytes read leniently")
    try:
        return lenient.loads(data.decode("utf-8"))
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
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\ufffd", "?")
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


def _integer(value: Any, low: int, high: int) -> int:
    if type(value) is int:
        number = value
    elif isinstance(value, float):
        number = int(value) if math.isfinite(value) else high + 1
    else:
        number = _integer_of_other(value, low, high)
    if not low <= number <= high:
        raise BodyDecodeError(f"integer overflow {number}")
    return number


def _integer_of_other(value: Any, low: int, high: int) -> int:
    if value is None or value == "" or value == {}:
        return 0
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, NumberText) and not _DECIMAL.fullmatch(value):
        return _integer(float(value), low, high)
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        return int(value.split(".")[0] or "0")
    if isinstance(value, list) and len(value) == 1:
        return _integer(value[0], low, high)
    raise BodyDecodeError(f"not a number: {str(value)[:64]}")


def as_int(value: Any) -> int:
    """JSONReader.readInt32Value: null, "" and {} are 0, fractions are cut off. BodyDecodeError outside 32 bits."""
    if type(value) is int and INT_MIN <= value <= INT_MAX:
        return value
    return _integer(value, INT_MIN, INT_MAX)


def as_long(value: Any) -> int:
    """JSONReader.readInt64Value, likewise for 64 bits."""
    return _integer(value, LONG_MIN, LONG_MAX)


def as_bool(value: Any) -> bool:
    """JSONReader.readBoolValue: numbers by zero, text only by its words."""
    if isinstance(value, bool):
        return value
    if value is None or value == "":
        return False
    if isinstance(value, str) and not isinstance(value, NumberText):
        if value.lower() in ("true", "1", "y", "t"):
            return True
        if value.lower() in ("false", "0", "n", "f"):
            return False
        raise BodyDecodeError(f"not a boolean: {value[:64]}")
    return as_long(value) != 0


def as_text(value: Any) -> str | None:
    """JSONReader.readString: any value as its JSON text, null as None."""
    if value is None or type(value) is str:
        return value
    if isinstance(value, NumberText):
        return number_text(value)
    if isinstance(value, str):
        return str(value)
    return orjson.dumps(value).decode("utf-8")


def number_text(number: str) -> str:
    """How Java shows a number that was read from text: as written, without a plus, exponents as Double.toString."""
    if "e" not in number and "E" not in number:
        plain = number.lstrip("+")
        return "0" if plain == "-0" else plain
    mantissa, _, exponent = repr(float(number)).partition("e")
    if not exponent:
        return mantissa
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def as_object(value: Any) -> dict[str, Any] | None:
    """A JSON object, or None for null and "". BodyDecodeError for anything else."""
    if value is None or value == "":
        return None
    if isinstance(value, dict):
        return value
    raise BodyDecodeError(f"expect {{, but {str(value)[:16]}")
