"""Reads JSON that fastjson2 2.0.59 takes and orjson refuses.

Beyond the standard, it takes comments, single quotes, raw control characters, escapes such as `\\x41`, `\\v` and `\\'`,
lone surrogates, a comma too few between members or one too many after the last, numbers such as `05`, `+5`, `.5`,
`5.` and `5L`, and unquoted numbers as keys. It refuses what fastjson2 refuses: unquoted words, text after the value.
fastjson2 takes some of these forms only in some places (no comment before a comma); here they are taken anywhere.
Only text that orjson refused comes here, and each frame has an allowance of bytes for it.
"""

from __future__ import annotations

from typing import Any

from rocketns._fast.codec import lenient_json

NESTING_MAX = 128


class NumberText(str):
    """A number as it was written, so that text made of it shows ``1.50`` and not ``1.5``."""

    __slots__ = ()


def loads(text: str, *, numeric_keys: bool = True) -> Any:
    """The value of a whole text, with numbers as NumberText. ValueError names the place where reading stopped."""
    return lenient_json.loads(text, numeric_keys, NumberText)
