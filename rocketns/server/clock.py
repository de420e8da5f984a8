"""The two clocks of the server, in one place so that tests can put another there and move time."""

from __future__ import annotations

import time

from rocketns.processor.context import Now


class Clock:
    """Real time."""

    def now(self) -> Now:
        """One instant: monotonic milliseconds for expiry, epoch milliseconds for what is written down."""
        return Now(int(time.monotonic() * 1000), int(time.time() * 1000))

    def spent_ns(self) -> int:
        """What work is measured by: its differences are nanoseconds."""
        return time.monotonic_ns()
