"""The two clocks of the server. Tests replace them to move time."""

from __future__ import annotations

import time

from rocketns.processor.context import Now

READS_MAX = 3
READ_NS_MAX = 10_000_000


class Clock:
    """Real time."""

    def now(self) -> Now:
        """One instant: monotonic milliseconds for expiry, epoch milliseconds for records and logs."""
        return Now(int(time.monotonic() * 1000), int(time.time() * 1000))

    def suspended_ms(self) -> int:
        """Milliseconds since the boot in which the machine was suspended: the monotonic clock stood still then.

        The two clocks are read again if the process did not run between them.
        """
        for _ in range(READS_MAX):
            before_ns = time.monotonic_ns()
            boot_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            if time.monotonic_ns() - before_ns < READ_NS_MAX:
                break
        return (boot_ns - before_ns) // 1_000_000

    def spent_ns(self) -> int:
        """Nanoseconds of a clock that measures work."""
        return time.monotonic_ns()
