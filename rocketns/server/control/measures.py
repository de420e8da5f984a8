"""What control counts for the management port, where there is one, and its slow turns, which are logged.

Control writes, and any thread reads: numbers only, so a reader sees each of them at some moment. A histogram's parts
may differ by the observation that is being made.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Sequence

from rocketns.logs import LogLimiter
from rocketns.routeinfo.connection import Connection
from rocketns.server.control.inbox import WaitingFrame, request_code

log = logging.getLogger("rocketns.control")

# Seconds. The reactors measure lookups in buckets with the same bounds.
BOUNDS_S = (
    0.000005, 0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001,
    0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0,
)  # fmt: skip
# A registration of 10,000 topics takes 10 ms. While control is busy, requests of other peers wait.
SLOW_NS = 100_000_000
# A peer that makes control slow must not fill the log.
LOG_EVERY_NS = 1_000_000_000


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


# Its cost in nanoseconds, and whose it was.
LongestRequest = tuple[int, Connection, WaitingFrame]


class SlowTurns:
    """Control only. Turns of SLOW_NS and more are counted and logged, with what took most of their time."""

    def __init__(self) -> None:
        self.count = 0
        self._lines = LogLimiter(LOG_EVERY_NS)

    def note(self, took_ns: int, after_ns: int, requests: int, longest: LongestRequest | None, now_ns: int) -> None:
        """A turn was slow. ``after_ns`` of ``took_ns`` were spent after the requests, on unregistrations."""
        self.count += 1
        turns = self._lines.due(now_ns)
        if turns is None:
            return
        columns: dict[str, object] = {"turn_ms": round(took_ns / 1e6, 3)}
        shown = "none of them long"
        if longest is not None and longest[0] * 4 >= SLOW_NS:
            longest_ns, connection, waiting = longest
            code, peer = request_code(waiting.frame), connection.address
            columns |= {"code": code, "peer": peer, "cost_ms": round(longest_ns / 1e6, 3)}
            shown = f"the longest took {longest_ns / 1e6:.0f} ms: code {code} of {peer}, {waiting.size} bytes"
        others = f" ({turns - 1} more since the last such line)" if turns > 1 else ""
        log.warning(
            "control was busy for %d ms in one turn: %d requests, %s; %d ms for unregistrations%s",
            took_ns // 1_000_000, requests, shown, after_ns // 1_000_000, others, extra=columns,
        )  # fmt: skip
