"""Java's String.trim, Long.parseLong, Integer.parseInt and Boolean.parseBoolean: texts as Java reads them."""

from __future__ import annotations

import re
import unicodedata

INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1
LONG_MIN, LONG_MAX = -(1 << 63), (1 << 63) - 1

_BLANKS = "".join(map(chr, range(0x21)))
_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})")  # the longest long has 19 digits


def parse_long(text: str, low: int = LONG_MIN, high: int = LONG_MAX) -> int | None:
    """Long.parseLong: an optional sign and digits of any script, nothing around them; None where Java throws."""
    match = _INTEGER.fullmatch(text if text.isascii() else _with_ascii_digits(text))
    number = int(match[1] + match[2]) if match else None
    return number if number is not None and low <= number <= high else None


def _with_ascii_digits(text: str) -> str:
    """Character.digit, by which Java reads a digit, knows every decimal digit that is one UTF-16 code unit."""
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() and c <= "\uffff" else c for c in text)


def parse_int(text: str) -> int | None:
    """Integer.parseInt, likewise."""
    return parse_long(text, INT_MIN, INT_MAX)


def parse_boolean(text: str | None) -> bool:
    """Boolean.parseBoolean: ``true`` in any letter case, everything else is false."""
    return text is not None and text.lower() == "true"


def trim(text: str) -> str:
    """String.trim: without what is U+0020 or below at both ends."""
    return text.strip(_BLANKS)
