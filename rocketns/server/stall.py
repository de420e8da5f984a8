"""Notices that the process, or control alone, did not run for a while, and moves all deadlines by that time.

The reason may be SIGSTOP, a paused virtual machine, or one long request. CLOCK_MONOTONIC, by which brokers expire,
continues in that time. It stops while a machine is suspended, so no deadline needs to move then. CLOCK_BOOTTIME
continues, which shows the suspension. The wall clock is not used: it may be set at any time.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Protocol

from rocketns.routeinfo import liveness
from rocketns.routeinfo.events import Stalled
from rocketns.routeinfo.tables import RouteTables
from rocketns.server.clock import Clock, Jobs
from rocketns.server.publishing.delivery import EventDelivery

log = logging.getLogger("rocketns.stall")

# If a periodic job is later than this, the process stalled. A machine that was suspended for less does not matter.
LATE_MS_MAX = 1_000
# After a stall nothing expires until all waiting input is read. This is the interval of the checks, and their number.
SETTLE_MS = 500
SETTLE_ROUNDS_MAX = 20


@dataclass(slots=True, frozen=True)
class Stall:
    """It ended at ``ended_ms`` of the monotonic clock, which went on for at most ``missed_ms`` of it.

    ``suspended_ms``: the time in which the machine was suspended.
    """

    ended_ms: int
    missed_ms: int
    suspended_ms: int = 0

    @property
    def length_ms(self) -> int:
        """Its real length, at most."""
        return self.missed_ms + self.suspended_ms


class Transport(Protocol):
    """What carries connections."""

    def forgive(self, stall: Stall) -> int:
        """Move all idle limits by the length of the stall. Returns the number of connections."""

    def has_read_all(self) -> bool:
        """Whether all input that waited at the last `forgive` has been read."""


class StallWatch:
    """`check` is called before periodic jobs run, and before anything that a stall may have caused is believed.

    ``has_begun``: whether the server serves. ``start_s``: how long the start took, in seconds; 0 until its end.
    """

    def __init__(self, clock: Clock, jobs: Jobs, tables: RouteTables, delivery: EventDelivery) -> None:
        self._clock = clock
        self._jobs = jobs
        self._tables = tables
        self._delivery = delivery
        self._transport: Transport | None = None
        self.start_s, self.has_begun = 0.0, False
        self._began_ms = self._seen_ms = clock.now().ms
        self._suspended_ms = clock.suspended_ms()
        self._rounds_left = 0
        self._settled_by_ms = 0

    def begin(self, transport: Transport) -> None:
        """The server is built, and runs from now on."""
        self._transport = transport
        self._seen_ms = self._clock.now().ms
        self.start_s = (self._seen_ms - self._began_ms) / 1000
        self.has_begun = True

    def check(self) -> None:
        """If jobs that are due have not run, or the machine was suspended, move all deadlines by the missed time."""
        now_ms, seen_ms = self._clock.now().ms, self._seen_ms
        self._seen_ms = now_ms
        suspended_ms = self._newly_suspended_ms()
        is_late = now_ms - max(seen_ms, self._jobs.next_due_ms()) > LATE_MS_MAX
        if self._transport is not None and (is_late or suspended_ms):
            self._forgive(self._transport, Stall(now_ms, now_ms - seen_ms if is_late else 0, suspended_ms))

    def _newly_suspended_ms(self) -> int:
        before_ms, self._suspended_ms = self._suspended_ms, self._clock.suspended_ms()
        newly_ms = self._suspended_ms - before_ms
        return newly_ms if newly_ms > LATE_MS_MAX else 0

    def _forgive(self, transport: Transport, stall: Stall) -> None:
        self._rounds_left = SETTLE_ROUNDS_MAX
        self._settled_by_ms = stall.ended_ms + SETTLE_MS * SETTLE_ROUNDS_MAX
        brokers = liveness.forgive(self._tables, stall.missed_ms)
        connections = transport.forgive(stall)
        if not brokers and not connections:  # nobody waited for it
            return
        log.warning(
            "The name server did not run for up to %d ms. The deadlines of %d brokers and the idle limits of %d "
            "connections are moved by as much, and nothing expires until the waiting input is read%s",
            stall.length_ms, brokers, connections,
            f". The machine was suspended for {stall.suspended_ms} ms of it" if stall.suspended_ms else "",
        )  # fmt: skip
        self._delivery.deliver([Stalled(stall.length_ms)], self._clock.now())

    @property
    def is_settled(self) -> bool:
        """Whether nothing that is read now can have come in a stall."""
        return not self._rounds_left or self._clock.now().ms > self._settled_by_ms

    def may_expire(self) -> bool:
        """Whether all input that waited at the end of the last stall is read, or reading it took too long.

        Called every SETTLE_MS. At the first call the event loop has not looked at its sockets yet.
        """
        if not self._rounds_left:
            return True
        is_first = self._rounds_left == SETTLE_ROUNDS_MAX
        self._rounds_left -= 1
        if (self._transport is None or self._transport.has_read_all()) and not is_first:
            self._rounds_left = 0
        return not self._rounds_left
