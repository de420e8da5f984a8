"""Java's text functions: String.trim, parseLong, parseInt and parseBoolean."""

from __future__ import annotations

import unicodedata
from functools import cache, partial

INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1
LONG_MIN, LONG_MAX = -(1 << 63), (1 << 63) - 1

_BLANKS = "".join(map(chr, range(0x21)))
LONG_DIGITS_MAX = 19


def parse_long(text: str, low: int = LONG_MIN, high: int = LONG_MAX) -> int | None:
    """Long.parseLong: an optional sign and digits of any script, without blanks. None where Java throws. A text with
    millions of zeros costs no Python step for each.
    """
    sign = text[:1] if text.startswith(("+", "-")) else ""
    all_digits = text[len(sign) :]
    digits = all_digits.lstrip("0" if text.isascii() else _zeros()) or all_digits[-1:]
    if len(digits) > LONG_DIGITS_MAX:
        return None
    digits = digits if digits.isascii() else _with_ascii_digits(digits)
    number = int(sign + digits) if digits.isascii() and digits.isdigit() else None
    return number if number is not None and low <= number <= high else None


@cache
def _zeros() -> str:
    """The zero of every script, as Character.digit knows them: those that are one UTF-16 code unit."""
    units = map(chr, range(1 << 16))
    return "".join(unit for unit in units if unit.isdecimal() and unicodedata.decimal(unit) == 0)


def _with_ascii_digits(text: str) -> str:
    """The text with ASCII digits instead of the decimal digits of other scripts that Java knows."""
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() and c <= "\uffff" else c for c in text)


# Integer.parseInt, likewise.
parse_int = partial(parse_long, low=INT_MIN, high=INT_MAX)


def parse_boolean(text: str | None) -> bool:
    """Boolean.parseBoolean: ``true`` in any letter case is true, any other text is false."""
    return text is not None and text.lower() == "true"


def trim(text: str) -> str:
    """String.trim: without characters up to U+0020 at both ends."""
    return text.strip(_BLANKS)
