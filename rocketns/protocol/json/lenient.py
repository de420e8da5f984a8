"""The JSON that fastjson2 2.0.59 takes and orjson refuses.

Beyond the standard it is: comments, single quotes, raw control characters, escapes such as `\\x41`, `\\v` and `\\'`,
lone surrogates, a comma too few between members or one too many after the last, numbers such as `05`, `+5`, `.5`,
`5.` and `5L`, and unquoted numbers as keys. What fastjson2 refuses (unquoted words, text after the value) is refused
here too. Unlike fastjson2, which refuses some of it in some places (a comment before a comma), it takes it anywhere.
It is only reached by text that orjson refused, and a frame has an allowance of bytes for it.
"""

from __future__ import annotations

from typing import Any

from rocketns._fast.codec import lenient_json

NESTING_MAX = 128


class NumberText(str):
    """A number as it was written, so that text made of it shows ``1.50`` and not ``1.5``."""

    __slots__ = ()


def loads(text: str, *, numeric_keys: bool = True) -> Any:
    """The value of a whole text; numbers come back as NumberText. ValueError says where it stopped."""
    return lenient_json.loads(text, numeric_keys, NumberText)
