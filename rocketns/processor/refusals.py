"""Requests that are refused because the tables are full: counted, and logged once a second at the most."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from rocketns.errors import TablesFull

log = logging.getLogger("rocketns.broker")

LOG_INTERVAL_MS = 1_000


@dataclass(slots=True)
class Refusals:
    """``count`` is of all since the start."""

    count: int = 0
    _logged: int = 0
    _next_line_ms: int | None = None

    def note(self, error: TablesFull, address: str, now_ms: int) -> None:
        """A request of the peer at ``address`` was refused."""
        self.count += 1
        if self._next_line_ms is not None and now_ms < self._next_line_ms:
            return
        log.warning("the route tables are full, refused a request of %s: %s. Refused since the last such line: %d. "
                    "Raise the limit, or remove brokers and topics", address, error.remark,
                    self.count - self._logged)  # fmt: skip
        self._logged, self._next_line_ms = self.count, now_ms + LOG_INTERVAL_MS
