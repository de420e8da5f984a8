"""The two clocks of the server. Tests replace them to move time."""

from __future__ import annotations

import time

from rocketns.processor.context import Now


class Clock:
    """Real time."""

    def now(self) -> Now:
        """One instant: monotonic milliseconds for expiry, epoch milliseconds for records and logs."""
        return Now(int(time.monotonic() * 1000), int(time.time() * 1000))

    def spent_ns(self) -> int:
        """Nanoseconds of a clock that measures work."""
        return time.monotonic_ns()
