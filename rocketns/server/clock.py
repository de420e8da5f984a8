"""The two clocks of the server, which tests replace to move time; and periodic jobs at a fixed rate, driven from
outside with the current time (ScheduledExecutorService).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from rocketns.processor.context import Now

READS_MAX = 3
READ_NS_MAX = 10_000_000


class Clock:
    """Real time. ``spent_ns``: nanoseconds of a clock that measures work."""

    spent_ns = staticmethod(time.monotonic_ns)

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


log = logging.getLogger("rocketns.jobs")

SLOW_S = 0.1


@dataclass(slots=True)
class PeriodicJob:
    """``run`` is called with no arguments when ``due_ms`` has come, then every ``every_ms``."""

    name: str
    run: Callable[[], None]
    every_ms: int
    due_ms: int


class Jobs:
    """All periodic jobs of a server."""

    def __init__(self) -> None:
        self._jobs: dict[str, PeriodicJob] = {}

    def add(self, name: str, run: Callable[[], None], *, first_ms: int, every_ms: int) -> None:
        """``first_ms`` is the time of the first run. An interval below 1 ms counts as 1 ms."""
        self._jobs[name] = PeriodicJob(name, run, max(1, every_ms), first_ms)

    def run_due(self, now_ms: int) -> None:
        """Run each due job once, however many intervals were missed. A job that fails is logged and kept."""
        for job in self._jobs.values():
            if job.due_ms <= now_ms:
                job.due_ms += job.every_ms * ((now_ms - job.due_ms) // job.every_ms + 1)
                self._run(job)

    def postpone(self, name: str, due_ms: int) -> None:
        """Run the job at this time next, and from then on at its rate."""
        self._jobs[name].due_ms = due_ms

    def next_due_ms(self) -> int:
        """The time of the next `run_due`. There is always a job."""
        return min(job.due_ms for job in self._jobs.values())

    def _run(self, job: PeriodicJob) -> None:
        began_s = time.monotonic()
        try:
            job.run()
        except Exception:
            log.exception("job %s failed", job.name)
        took_s = time.monotonic() - began_s
        if took_s > SLOW_S:
            log.warning("the job %s kept control busy for %d ms", job.name, took_s * 1000,
                        extra={"job": job.name, "cost_ms": round(took_s * 1000, 3)})  # fmt: skip
