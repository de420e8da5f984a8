"""Periodic jobs at a fixed rate, driven from outside with the current time (ScheduledExecutorService)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

log = logging.getLogger("rocketns.jobs")

# The job with the shortest interval. One with the same interval runs beside it, so that both cost one wake-up.
IDLE_CHECK, IDLE_CHECK_INTERVAL_MS = "closeIdle", 1_000


@dataclass(slots=True)
class Job:
    """``run`` is called with no arguments when ``due_ms`` has come, then every ``every_ms``."""

    name: str
    run: Callable[[], None]
    every_ms: int
    due_ms: int


class Jobs:
    """All periodic jobs of a server."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []

    def add(self, name: str, run: Callable[[], None], *, first_ms: int, every_ms: int) -> None:
        """``first_ms`` is the instant of the first run; an interval below 1 ms counts as 1 ms."""
        self._jobs.append(Job(name, run, max(1, every_ms), first_ms))

    def run_due(self, now_ms: int) -> None:
        """Run what is due, once each, however many intervals were missed. A job that fails is logged and kept."""
        for job in self._jobs:
            if job.due_ms <= now_ms:
                job.due_ms += job.every_ms * ((now_ms - job.due_ms) // job.every_ms + 1)
                self._run(job)

    def due_ms(self, name: str) -> int:
        """The instant of a job's next run."""
        return next(job.due_ms for job in self._jobs if job.name == name)

    def postpone(self, name: str, due_ms: int) -> None:
        """The job's next run is at this instant, and its rate goes on from there."""
        for job in self._jobs:
            if job.name == name:
                job.due_ms = due_ms

    def next_due_ms(self) -> int:
        """The instant at which `run_due` is wanted next. There is always a job."""
        return min(job.due_ms for job in self._jobs)

    def _run(self, job: Job) -> None:
        try:
            job.run()
        except Exception:
            log.exception("job %s failed", job.name)
