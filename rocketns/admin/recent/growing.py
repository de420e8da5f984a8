"""Whether a counter has grown lately, as far as those who look at it can tell."""

from __future__ import annotations

WITHIN_MS = 10 * 60_000


class Growing:
    """For one thread. What a counter had before the first look counts as new."""

    def __init__(self) -> None:
        self._count = 0
        self._grew_ms: int | None = None

    def is_recent(self, count: int, now_ms: int) -> bool:
        """Whether it grew within WITHIN_MS."""
        if count > self._count:
            self._count, self._grew_ms = count, now_ms
        return self._grew_ms is not None and now_ms - self._grew_ms < WITHIN_MS
