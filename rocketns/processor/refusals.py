"""Requests that are refused because of a bound: counted, and logged once a second at the most."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from rocketns.errors import RequestError

log = logging.getLogger("rocketns.broker")

LOG_INTERVAL_MS = 1_000
FULL = "the route tables are full, refused a request of", "Raise the limit, or remove brokers and topics"
BOUND = "a bound of the access policy refused a request of", "If it is wanted, raise the bound in the policy"
OBSERVED = "a bound of the access policy would refuse a request of", BOUND[1]


@dataclass(slots=True)
class Refusals:
    """``count`` is of all since the start. ``words``: what happened, and what to do."""

    words: tuple[str, str] = FULL
    count: int = 0
    _logged: int = 0
    _next_line_ms: int | None = None

    def note(self, error: RequestError, address: str, now_ms: int) -> None:
        """A request of the peer at ``address`` was refused."""
        self.count += 1
        if self._next_line_ms is not None and now_ms < self._next_line_ms:
            return
        what, advice = self.words
        log.warning("%s %s: %s. Since the last such line: %d. %s", what, address, error.remark,
                    self.count - self._logged, advice)  # fmt: skip
        self._logged, self._next_line_ms = self.count, now_ms + LOG_INTERVAL_MS
