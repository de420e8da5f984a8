"""Notices that the process, or control alone, did not run for a while, and moves all deadlines by that time.

The reason may be SIGSTOP, a paused virtual machine, or one long request. CLOCK_MONOTONIC, by which brokers expire, goes
on meanwhile. It stops while a machine is suspended, so a suspended machine needs no care.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rocketns.routeinfo import liveness
from rocketns.routeinfo.tables import RouteTables

log = logging.getLogger("rocketns.stall")

# If a periodic job is later than this, the process stalled.
LATE_MS_MAX = 1_000
# After a stall nothing expires until all waiting input is read. This is the interval of the checks, and their number.
SETTLE_MS = 500
SETTLE_ROUNDS_MAX = 20


@dataclass(slots=True, frozen=True)
class Stall:
    """It ended at ``ended_ms`` of the monotonic clock and lasted at most ``missed_ms``."""

    ended_ms: int
    missed_ms: int


class Transport(Protocol):
    """What carries connections."""

    def forgive(self, stall: Stall) -> int:
        """Move all idle limits by the length of the stall. Returns the number of connections."""

    def has_read_all(self) -> bool:
        """Whether all input that waited at the last `forgive` has been read."""


class StallWatch:
    """`check` is called at every run of the periodic jobs."""

    def __init__(self, now_ms: int, tables: RouteTables, transports: Sequence[Transport]) -> None:
        self._seen_ms = now_ms
        self._tables = tables
        self._transports = transports
        self._rounds_left = 0

    def check(self, now_ms: int, due_ms: int) -> Stall | None:
        """If jobs that were due at ``due_ms`` run only now, move all deadlines by the time that was missed."""
        missed_ms, self._seen_ms = now_ms - self._seen_ms, now_ms
        if now_ms - due_ms <= LATE_MS_MAX:
            return None
        stall = Stall(now_ms, missed_ms)
        self._rounds_left = SETTLE_ROUNDS_MAX
        brokers, connections = liveness.forgive(self._tables, missed_ms), self._forgive(stall)
        if brokers or connections:  # at a slow start there are none
            log.warning(
                "The name server did not run for up to %d ms. The deadlines of %d brokers and the idle limits of %d "
                "connections are moved by as much, and nothing expires until the waiting input is read",
                missed_ms, brokers, connections,
            )  # fmt: skip
        return stall

    @property
    def is_settled(self) -> bool:
        """Whether no stall is being waited out: `may_expire` said so, or there was none."""
        return not self._rounds_left

    def _forgive(self, stall: Stall) -> int:
        """The number of connections. The reactors count those that the asyncio transport carries for them, too."""
        return max((transport.forgive(stall) for transport in self._transports), default=0)

    def may_expire(self) -> bool:
        """Whether all input that waited at the end of the last stall is read, or reading it took too long.

        Called every SETTLE_MS. At the first call the event loop has not looked at its sockets yet.
        """
        if not self._rounds_left:
            return True
        is_first = self._rounds_left == SETTLE_ROUNDS_MAX
        self._rounds_left -= 1
        if all(transport.has_read_all() for transport in self._transports) and not is_first:
            self._rounds_left = 0
        return not self._rounds_left


class IdleAllowance:
    """Moves the idle limits of the reactors, which close idle connections by the time that control gives them.

    A connection that was silent since before the stall gets the missed time. One that was heard after the stall cannot
    reach its limit before the allowance ends.
    """

    def __init__(self) -> None:
        self._missed_ms = 0
        self._until_ms = 0

    def add(self, stall: Stall, idle_ms_max: int) -> None:
        self._missed_ms += stall.missed_ms
        self._until_ms = stall.ended_ms + idle_ms_max

    def reduce(self, now_ms: int) -> int:
        """The time to give to the reactors."""
        if now_ms >= self._until_ms:
            self._missed_ms = 0
        return now_ms - self._missed_ms
