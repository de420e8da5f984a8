"""What Python callers see of json_passes.pyx."""

from collections.abc import Callable
from typing import Any

def count_values(text: bytes | memoryview, most: int) -> int:
    """How many commas, colons and opening brackets JSON text has: about one for each list item, two for each member.

    That is what the objects made of the text cost. Those in strings do not count. The count ends beyond ``most``.
    """

def compact(text: bytes | bytearray | memoryview) -> bytes | None:
    """The text without the blanks between its tokens, and with quotes around member names that are whole numbers. None
    where it is so already.

    If the result is JSON, the text is fastjson2's JSON with the same value.
    """

def shown(value: Any, levels: int, leaf: Callable[[Any], Any]) -> Any:
    """The value without null members; ``leaf`` replaces what is neither text, int, list nor object. RecursionError for
    more than ``levels`` levels.
    """

def longest(texts: dict[str, Any]) -> int:
    """The characters of the longest key."""
