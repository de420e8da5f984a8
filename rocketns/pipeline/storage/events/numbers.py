"""What the sequence numbers of a boot in a file say without looking at each of them."""

from __future__ import annotations

from typing import Any


def is_plain(row: Any) -> bool:
    """Whether no number is missing or repeated, of a boot in a file (boot; low, high and sum of seq; lines). If as many
    are repeated as are missing, the sum tells. Copying and cutting of files does not bring about equal sums."""
    if row["boot"] is None:
        return True
    low, high, count = row["low"], row["high"], row["lines"]
    return bool(count == high - low + 1 and row["sum"] * 2 == (low + high) * count)
