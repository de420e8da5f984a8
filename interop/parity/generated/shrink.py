"""Delta debugging: finds a short part of a failing list that still fails."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def shrink(
    items: Sequence[Item], fails: Callable[[list[Item]], bool], tries_max: int, within_s: float = math.inf
) -> list[Item]:
    """Leave out ever smaller pieces as long as it fails without them (ddmin); at most so many tries, none of which
    begins after so many seconds.

    ``items`` itself is known to fail.
    """
    ends, found, pieces, tries = time.monotonic() + within_s, list(items), 2, 0

    def is_over() -> bool:
        return tries >= tries_max or time.monotonic() >= ends

    while len(found) > 1 and not is_over():
        size = -(-len(found) // pieces)
        for start in range(0, len(found), size):
            shorter = found[:start] + found[start + size :]
            tries += 1
            if shorter and fails(shorter):
                found, pieces = shorter, max(pieces - 1, 2)
                break
            if is_over():
                break
        else:
            if size == 1:
                break
            pieces = min(pieces * 2, len(found))
    return found
