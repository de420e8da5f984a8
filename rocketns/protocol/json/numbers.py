"""Numbers and booleans: how fastjson2 2.0.59 converts JSON values into them, and how it writes them as text.

Values come from orjson (int, float, str, …) or from the lenient parser (NumberText instead of int and float). A quoted
number counts as a number. Every fault is a BodyDecodeError.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from rocketns.errors import BodyDecodeError
from rocketns.javatext import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN
from rocketns.protocol.bounds import NUMBER_CHARACTERS_MAX
from rocketns.protocol.json.lenient import NumberText

_NUMBER = re.compile(r"([+-]?)([0-9]*)(\.[0-9]*)?(?:[eE]([+-]?[0-9]+)?[+-]?)?")
_WORDS = {"": 0, "null": 0, "true": 1, "false": 0}
_BOOLEANS = {"": False, "1": True, "0": False, "Y": True, "N": False}
_LISTED = (int, float, str, NumberText)
_PLAIN_NUMBER = re.compile(r"(?:0|[1-9][0-9]*)(?:\.[0-9]{1,6})?")  # BigDecimal.toString changes nothing
_DIGITS_MAX = 20  # one more than a long has: enough to see that it overflows
_SHOWN_MAX = 64


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
