"""A turn of control that took long is logged, with the request that took the most of it."""

from __future__ import annotations

import logging

from rocketns.routeinfo.connection import Connection
from rocketns.server.requests.inbox import Waiting
from rocketns.server.requests.peek import request_code

log = logging.getLogger("rocketns.control")

# A registration of 10,000 topics takes 10 ms. While control is busy, requests of other peers wait.
SLOW_NS = 100_000_000
# A peer that makes control slow must not fill the log.
LOG_INTERVAL_NS = 1_000_000_000


class SlowTurns:
    """Control only. `note` the requests of a turn, then `end` it."""

    def __init__(self) -> None:
        self.count = 0
        self.longest_ns = 0
        self._slowest = ""
        self._columns: dict[str, object] = {}
        self._requests = 0
        self._logged_ns = -LOG_INTERVAL_NS
        self._unlogged = 0

    def note(self, connection: Connection, waiting: Waiting, took_ns: int) -> None:
        """A request was served. Only one that took the most so far, and longer than a whole slow turn may, is kept."""
        self._requests += 1
        if took_ns > self.longest_ns and took_ns * 4 >= SLOW_NS:
            self.longest_ns = took_ns
            code = request_code(waiting.frame)
            took_ms = took_ns / 1e6
            self._columns = {"code": code, "peer": connection.address, "cost_ms": round(took_ms, 3)}
            self._slowest = (f"the longest took {took_ms:.0f} ms: code {code} of {connection.address}, "
                             f"{waiting.size} bytes")  # fmt: skip

    def end(self, took_ns: int, after_ns: int, now_ns: int) -> None:
        """The turn is over. ``after_ns`` of ``took_ns`` were spent after the requests, on unregistrations."""
        requests, slowest, columns = self._requests, self._slowest, self._columns
        self._requests, self._slowest, self._columns, self.longest_ns = 0, "", {}, 0
        if took_ns < SLOW_NS:
            return
        self.count += 1
        if now_ns - self._logged_ns < LOG_INTERVAL_NS:
            self._unlogged += 1
            return
        others = f" ({self._unlogged} more since the last such line)" if self._unlogged else ""
        self._logged_ns, self._unlogged = now_ns, 0
        log.warning(
            "control was busy for %d ms in one turn: %d requests, %s; %d ms for unregistrations%s",
            took_ns // 1_000_000, requests, slowest or "none of them long", after_ns // 1_000_000, others,
            extra=columns | {"turn_ms": round(took_ns / 1e6, 3)},
        )  # fmt: skip
