"""PROXY headers of others than the trusted proxies: counted, and logged once a second at the most."""

from __future__ import annotations

import logging

log = logging.getLogger("rocketns.transport")

LOG_INTERVAL_MS = 1_000


class RefusedProxies:
    """Control only. ``refused`` counts since the start."""

    def __init__(self) -> None:
        self.refused = 0
        self._logged = 0
        self._next_line_ms: int | None = None

    def note(self, address: str, now_ms: int) -> None:
        """A header of the peer at ``address`` was refused."""
        self.refused += 1
        if self._next_line_ms is not None and now_ms < self._next_line_ms:
            return
        log.warning("closed the connection of %s: it began with a PROXY header, and its address is not in "
                    "rocketns.trustedProxies. Closed for that since the last such line: %d. If it is a load balancer, "
                    "add its address", address, self.refused - self._logged)  # fmt: skip
        self._logged, self._next_line_ms = self.refused, now_ms + LOG_INTERVAL_MS
