"""Notices that the process, or control alone, did not run for a while, and forgives others for it.

The reason may be SIGSTOP, a paused virtual machine, or one long request. CLOCK_MONOTONIC, which expiry is judged by,
goes on meanwhile. It stands still while a machine is suspended, so a suspended machine needs no care.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from rocketns.routeinfo import liveness
from rocketns.routeinfo.tables import RouteTables

log = logging.getLogger("rocketns.stall")

# A periodic job that is later than this means that the process stalled.
LATE_MS_MAX = 1_000
# Nothing expires after a stall until all waiting input is read: looked at so often, and so many times at most.
SETTLE_MS = 500
SETTLE_ROUNDS_MAX = 20


@dataclass(slots=True, frozen=True)
class Stall:
    """It ended at ``ended_ms`` of the monotonic clock and lasted at most ``missed_ms``."""

    ended_ms: int
    missed_ms: int


class StallWatch:
    """Asked at every run of the periodic jobs.

    ``forgive`` moves idle limits and returns how many; ``has_read_all`` is whether input is read that waited then.
    """

    def __init__(self, now_ms: int, tables: RouteTables) -> None:
        self._seen_ms = now_ms
        self._tables = tables
        self._rounds_left = 0
        self.forgive: Callable[[Stall], int] = lambda _stall: 0
        self.has_read_all: Callable[[], bool] = lambda: True

    def check(self, now_ms: int, due_ms: int) -> Stall | None:
        """Where jobs that were due at ``due_ms`` run only now: move all deadlines by the time that was missed."""
        missed_ms, self._seen_ms = now_ms - self._seen_ms, now_ms
        if now_ms - due_ms <= LATE_MS_MAX:
            return None
        stall = Stall(now_ms, missed_ms)
        self._rounds_left = SETTLE_ROUNDS_MAX
        brokers, connections = liveness.forgive(self._tables, missed_ms), self.forgive(stall)
        if brokers or connections:  # a slow start is nobody's loss
            log.warning(
                "The name server did not run for up to %d ms. The deadlines of %d brokers and the idle limits of %d "
                "connections are moved by as much, and nothing expires until the waiting input is read",
                missed_ms, brokers, connections,
            )  # fmt: skip
        return stall

    def may_expire(self) -> bool:
        """Whether everything that waited at the end of the last stall is read, or that took too long.

        Asked every SETTLE_MS; at first the event loop has not looked at its sockets yet.
        """
        if not self._rounds_left:
            return True
        is_first = self._rounds_left == SETTLE_ROUNDS_MAX
        self._rounds_left -= 1
        if self.has_read_all() and not is_first:
            self._rounds_left = 0
        return not self._rounds_left


class IdleAllowance:
    """By how much the reactors' idle limits are moved, which they judge by the time that they are told.

    A connection that was silent since before the stall has the missed time more. One that was heard since then cannot
    reach its limit before a whole limit has passed, and by then the allowance is over.
    """

    def __init__(self) -> None:
        self._missed_ms = 0
        self._until_ms = 0

    def add(self, stall: Stall, idle_ms_max: int) -> None:
        self._missed_ms += stall.missed_ms
        self._until_ms = stall.ended_ms + idle_ms_max

    def reduce(self, now_ms: int) -> int:
        """The time to judge idle connections by."""
        if now_ms >= self._until_ms:
            self._missed_ms = 0
        return now_ms - self._missed_ms
