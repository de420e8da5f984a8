"""What control counts for the management port. Without one nothing is counted.

Control writes, and any thread reads: numbers only, so a reader sees each of them at some moment. A histogram's parts
may differ by the observation that is being made.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

# Seconds. The reactors measure lookups in buckets with the same bounds.
BOUNDS_S = (
    0.000005, 0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001,
    0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0,
)  # fmt: skip


class Histogram:
    """Observations by bucket: ``counts[i]`` of those up to ``bounds[i]``, the last of all others; and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float] = BOUNDS_S) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Measures:
    """Requests that control answered, by request code and response code; and its turns."""

    def __init__(self) -> None:
        self.requests: dict[tuple[int, int], Histogram] = {}
        self.turns = Histogram()

    def answered(self, code: int, result: int, took_ns: int) -> None:
        """Control only. ``code`` is a code with a processor, or -1: peers can send any number."""
        histogram = self.requests.get((code, result))
        if histogram is None:
            histogram = self.requests[code, result] = Histogram()
        histogram.observe(took_ns / 1e9)
