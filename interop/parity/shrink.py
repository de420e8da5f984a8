"""Delta debugging: finds a short part of a failing list that still fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def shrink(items: Sequence[Item], fails: Callable[[list[Item]], bool], tries_max: int) -> list[Item]:
    """Leave out ever smaller pieces as long as it fails without them (ddmin); at most so many tries.

    ``items`` itself is known to fail.
    """
    found, pieces, tries = list(items), 2, 0
    while len(found) > 1 and tries < tries_max:
        size = -(-len(found) // pieces)
        for start in range(0, len(found), size):
            shorter = found[:start] + found[start + size :]
            tries += 1
            if shorter and fails(shorter):
                found, pieces = shorter, max(pieces - 1, 2)
                break
            if tries >= tries_max:
                break
        else:
            if size == 1:
                break
            pieces = min(pieces * 2, len(found))
    return found
