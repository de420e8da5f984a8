"""Recorded pairs in the order in which the upstream answered them: what was answered before, it had done before.

A judge writes a pair when it has compared it, and one that it asked for again comes later than those that followed it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from rocketns.shadow.pairs import Pair
from rocketns.shadow.recording.lines import Recorded

LATE_MS_MAX = 30_000
"""So much later than another one a pair may have been written."""

HELD_MAX = 100_000
HELD_BYTES_MAX = 64 * 1024 * 1024
"""Pairs that are held back, and the bytes of their frames. Beyond it the earliest one goes on."""


def in_time(pairs: Iterable[tuple[int, Recorded]]) -> Iterator[tuple[int, Recorded]]:
    """By the time of the upstream's answer, or of the request without one; equal ones stay as they are in the file."""
    held: list[tuple[float, int, int, Recorded]] = []
    held_bytes, latest_ms = 0, 0.0
    for number, (end, recorded) in enumerate(pairs):
        at_ms = recorded.pair.at_ms + (recorded.pair.upstream_ms or 0.0)
        heapq.heappush(held, (at_ms, number, end, recorded))
        held_bytes += _size(recorded.pair)
        latest_ms = max(latest_ms, at_ms)
        while held[0][0] < latest_ms - LATE_MS_MAX or len(held) > HELD_MAX or held_bytes > HELD_BYTES_MAX:
            _, _, one_end, one = heapq.heappop(held)
            held_bytes -= _size(one.pair)
            yield one_end, one
            if not held:
                break
    while held:
        _, _, one_end, one = heapq.heappop(held)
        yield one_end, one


def _size(pair: Pair) -> int:
    return len(pair.request) + len(pair.upstream or b"") + len(pair.own or b"")
