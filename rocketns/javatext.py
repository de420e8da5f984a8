"""Numbers and booleans as Java's Long.parseLong, Integer.parseInt and Boolean.parseBoolean read them from text."""

from __future__ import annotations

import re

INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1
LONG_MIN, LONG_MAX = -(1 << 63), (1 << 63) - 1

_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})")  # the longest long has 19 digits


def parse_long(text: str, low: int = LONG_MIN, high: int = LONG_MAX) -> int | None:
    """Long.parseLong: an optional sign and digits, nothing around them; None where Java throws."""
    match = _INTEGER.fullmatch(text)
    number = int(match[1] + match[2]) if match else None
    return number if number is not None and low <= number <= high else None


def parse_int(text: str) -> int | None:
    """Integer.parseInt, likewise."""
    return parse_long(text, INT_MIN, INT_MAX)


def parse_boolean(text: str | None) -> bool:
    """Boolean.parseBoolean: ``true`` in any letter case, everything else is false."""
    return text is not None and text.lower() == "true"
