"""JSON as fastjson2 2.0.59 reads and writes it, on top of orjson.

Reading: orjson first; text that it refuses gets its numeric keys quoted and a second try, then the lenient parser.
Writing: orjson's escapes are fastjson2's; the default mode's unquoted numeric keys are put in with orjson.Fragment.
The ``as_…`` functions convert values as fastjson2 does when it fills a bean's fields: values come from orjson (int,
float, str, …) or from the lenient parser (NumberText instead of int and float). A quoted number counts as a number.
Every fault is a BodyDecodeError.

Beyond the standard, the lenient parser takes comments, single quotes, raw control characters, escapes such as `\\x41`,
`\\v` and `\\'`, lone surrogates, a comma too few between members or one too many after the last, numbers such as `05`,
`+5`, `.5`, `5.` and `5L`, and unquoted numbers as keys. It refuses what fastjson2 refuses: unquoted words, text after
the value. fastjson2 takes some of these forms only in some places (no comment before a comma); here they are taken
anywhere. Only text that orjson refused comes there, and each frame has an allowance of bytes for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar

import orjson

from rocketns._fast.codec import json_passes
from rocketns.errors import BodyDecodeError
from rocketns.javatext import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN
from rocketns.protocol.bounds import NUMBER_CHARACTERS_MAX, Allowance
from rocketns.protocol.json.lenient import NESTING_MAX, NumberText, parse_leniently

_NUMBER = re.compile(r"([+-]?)([0-9]*)(\.[0-9]*)?(?:[eE]([+-]?[0-9]+)?[+-]?)?")
_WORDS = {"": 0, "null": 0, "true": 1, "false": 0}
_BOOLEANS = {"": False, "1": True, "0": False, "Y": True, "N": False}
_PLAIN_NUMBER = re.compile(r"(?:0|[1-9][0-9]*)(?:\.[0-9]{1,6})?")  # BigDecimal.toString changes nothing
_INT_DIGITS = 9  # so many are an int for sure
_DIGITS_MAX = 20  # one more than a long has: enough to see that it overflows
_SHOWN_MAX = 64
SAFE_LONG_MAX = (1 << 53) - 1  # standard mode quotes longs beyond it (JSONWriter.Feature.BrowserCompatible)
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


_LISTED = (int, float, str, NumberText)


def as_int(value: Any) -> int:
    """JSONReader.readInt32Value: null, "" and any object are 0, fractions are cut off, and 32 bits are the limit."""
    if type(value) is int and INT_MIN <= value <= INT_MAX:
        return value
    return 0 if isinstance(value, dict) else _integer(value, INT_MIN, INT_MAX)


def as_long(value: Any) -> int:
    """JSONReader.readInt64Value: the same with 64 bits, but an object is refused."""
    return _integer(value, LONG_MIN, LONG_MAX)


def as_bool(value: Any) -> bool:
    """JSONReader.readBoolValue: of all numbers only 1 and -1 are true; text counts by its words."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, int | float):
        return type(value) is int and abs(value) == 1
    if isinstance(value, NumberText):
        return value.lstrip("-0") == "1"
    if isinstance(value, str) and (value in _BOOLEANS or value.lower() in ("true", "false")):
        return _BOOLEANS.get(value, value.lower() == "true")
    raise BodyDecodeError(f"not a boolean but {type(value).__name__}")


def _integer(value: Any, low: int, high: int) -> int:
    if type(value) is int:
        return _within(value, low, high)
    if isinstance(value, float):
        # orjson also makes floats of integers beyond 64 bits. Java refuses those, so 1e30 is refused as well.
        return _within(int(value), low, high)
    if value is None or isinstance(value, bool):
        return int(value or 0)
    if isinstance(value, str):
        return _of_text(value, low, high)
    if isinstance(value, list) and len(value) == 1 and type(value[0]) in _LISTED and value[0] != "":
        return _integer(value[0], low, high)
    raise BodyDecodeError(f"not a number but {type(value).__name__}")


def _within(number: int, low: int, high: int) -> int:
    if not low <= number <= high:
        raise BodyDecodeError("integer overflow")
    return number


def _of_text(text: str, low: int, high: int) -> int:
    """JSONReader.readNumber0, which reads the same in quotes and without."""
    if len(text) <= _INT_DIGITS and text.isdecimal() and text.isascii():
        return int(text)
    if text in _WORDS:
        return _WORDS[text]
    match = _NUMBER.fullmatch(text) if len(text) <= NUMBER_CHARACTERS_MAX else None
    if match is None or text == ".":
        raise BodyDecodeError(f"not a number: {text[:_SHOWN_MAX]}")
    sign, digits, fraction, exponent = match.groups()
    if exponent:
        return _of_double(float(f"{sign}{digits or 0}{fraction or ''}e{exponent}"), low, high)
    return _within(int(sign + (digits.lstrip("0")[:_DIGITS_MAX] or "0")), low, high)


def _of_double(number: float, low: int, high: int) -> int:
    """Java's cast: the fraction is cut off, and numbers beyond the range become its nearest end."""
    if math.isinf(number):
        return high if number > 0 else low
    return max(low, min(high, int(number)))


def number_text(number: NumberText) -> str:
    """A number as Java writes it: BigDecimal.toString, or Double.toString if it was read with an exponent."""
    if _PLAIN_NUMBER.fullmatch(number):
        return str(number)
    mantissa, _, exponent = number.lower().partition("e")
    if exponent.strip("+-0"):
        return _double_text(float(number))
    decimal = Decimal(mantissa)
    return str(decimal if decimal else abs(decimal))


def _double_text(number: float) -> str:
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number or 0.0)
    decimal = Decimal(repr(number))
    digits = "".join(map(str, decimal.as_tuple().digits)).rstrip("0")
    return f"{'-' if number < 0 else ''}{digits[0]}.{digits[1:] or '0'}E{decimal.adjusted()}"


Value = TypeVar("Value")


class JsonSyntaxError(BodyDecodeError):
    """Text that fastjson2 refuses."""


class TooManyValues(BodyDecodeError):
    """JSON of more values than one body may have."""


class InexactNumber(BodyDecodeError):
    """The text of a number is needed as it was written, and orjson does not keep it."""


def read(
    data: bytes, build: Callable[[Any], Value], *, numeric_keys: bool = True, allowance: Allowance | None = None
) -> Value:
    """Calls ``build`` with the value of a JSON text, as `loads` gives it; after an InexactNumber a second time, with
    numbers as texts.
    """
    allowance = allowance or Allowance()
    try:
        return build(loads_standard(data, numeric_keys=numeric_keys, allowance=allowance))
    except (JsonSyntaxError, InexactNumber):
        return build(loads_lenient(data, numeric_keys=numeric_keys, allowance=allowance))


def loads(data: bytes, *, numeric_keys: bool = True, allowance: Allowance | None = None) -> Any:
    """The value of a JSON text as fastjson2 takes it. JsonSyntaxError where fastjson2 throws.

    ``numeric_keys``: keys may be numbers without quotes. fastjson2 takes those in maps of beans, but not in beans nor
    in maps of strings. ``allowance`` limits the number of values, and the bytes that are read leniently; what is used
    is deducted.
    """
    allowance = allowance or Allowance()
    try:
        return loads_standard(data, numeric_keys=numeric_keys, allowance=allowance)
    except JsonSyntaxError:
        return loads_lenient(data, numeric_keys=numeric_keys, allowance=allowance)


def loads_standard(data: bytes, *, numeric_keys: bool = True, allowance: Allowance | None = None) -> Any:
    """Like `loads`, but refuses text that only the lenient parser takes."""
    allowance = allowance or Allowance()
    # Values are counted before they become objects: an object takes time, and about 20 times the bytes of its text.
    values = json_passes.count_values(data, allowance.values)
    if values > allowance.values:
        raise TooManyValues(f"more than {allowance.values} JSON values")
    allowance.values -= values
    try:
        return orjson.loads(data)
    except ValueError as error:
        quoted = json_passes.compact(data) if numeric_keys else None
        if quoted is None:
            raise JsonSyntaxError(str(error)) from error
    try:
        return orjson.loads(quoted)
    except ValueError as error:
        raise JsonSyntaxError(str(error)) from error


def loads_lenient(data: bytes, *, numeric_keys: bool = True, allowance: Allowance | None = None) -> Any:
    """Like `loads`, with every number as its text (NumberText)."""
    allowance = allowance or Allowance()
    if len(data) > allowance.lenient_bytes:
        raise JsonSyntaxError(f"not JSON, and longer than the {allowance.lenient_bytes} bytes read leniently")
    allowance.lenient_bytes -= len(data)
    try:
        return parse_leniently(data.decode("utf-8"), numeric_keys=numeric_keys)
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


def _leaf(value: Any) -> Any:
    """A number as fastjson2 shows it, anything else as it is."""
    return orjson.Fragment(number_text(value)) if isinstance(value, NumberText) else value


def as_text(value: Any, leaf: Callable[[Any], Any] = _leaf) -> str | None:
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
        return dumps(json_passes.shown(value, NESTING_MAX, leaf)).decode("utf-8")
    except RecursionError as error:
        raise BodyDecodeError(f"more than {NESTING_MAX} levels") from error


def exact_text(value: Any) -> str | None:
    """Like `as_text`; InexactNumber where only a number's value is known, and its text matters."""
    return value if type(value) is str else as_text(value, _exact_leaf)


def _exact_leaf(value: Any) -> Any:
    if isinstance(value, float):
        raise InexactNumber("a number is wanted as text")
    return _leaf(value)
