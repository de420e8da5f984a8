"""What Python callers see of json_beans.pyx."""

from collections.abc import Callable
from typing import Any, TypeVar

Queues = TypeVar("Queues")

def topic_tables(
    table: dict[str, Any],
    queue_data: Callable[[int, int, int, int], Queues],
    odd_topic: Callable[[Any], tuple[str | None, Queues]],
    default_queue_nums: int,
    default_perm: int,
) -> tuple[dict[str, Queues], dict[str, str | None]]:
    """The queues by key, and the names of topics that differ from their key.

    ``odd_topic`` makes name and queues of a topic that is no object of plain numbers. ValueError where there are more
    of those than bounds.CONVERTED_VALUES_MAX.
    """

def id_map(ids: dict[str, Any], odd_int: Callable[[Any], int]) -> dict[int, int]:
    """A map of 32-bit integers. ``odd_int`` reads keys and values that are not plain numbers; ValueError likewise."""

def has_float(value: Any, levels: int) -> bool:
    """Whether a float is somewhere in a value of at most ``levels`` levels, else RecursionError."""

def shown(value: Any, levels: int, leaf: Callable[[Any], Any]) -> Any:
    """The value without null members; ``leaf`` replaces what is neither text, int, list nor object."""

def longest(texts: dict[str, Any]) -> int:
    """The characters of the longest key."""
