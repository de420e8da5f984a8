"""The periodic job that spreads the connections over the reactors, or gathers them, see `balance`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from rocketns._fast.reactor.reactors import Reactors
from rocketns.server.reactors.usage import Usage

log = logging.getLogger("rocketns.reactors")

# A window is a second, the interval of the periodic job in `rocketns.namesrv_controller`.
# Use one more reactor if a reactor is so busy in a window, and so much of a core is idle.
BUSY_SHARE, ROOM_CORES = 0.9, 0.3
# Use one less if the others could do all the work, in so many windows in a row. The number of windows doubles, up to
# GATHER_AFTER_MAX, each time that a reduction was undone within AGAIN windows.
GATHER_AFTER, GATHER_AFTER_MAX, AGAIN = 4, 64, 30
# Connections move from the busiest reactor in use to the least busy one if their busy shares differ by so much.
UNEVEN_SHARE = 0.2
RECENT_MS = 1000  # a connection without a byte in this time causes no work
ALL = 1000  # thousandths


class Balancer:
    """``read_usage`` gives the load since its last call; None if it is not known."""

    def __init__(self, reactors: Reactors, read_usage: Callable[[], Usage | None]) -> None:
        self.balance = Balance(reactors.count)
        self.read_usage = read_usage
        self._reactors = reactors

    def run(self) -> None:
        """Move connections if the load since the last run asks for it."""
        usage = self.read_usage()
        if usage is None:
            return
        before = self.balance.active
        gives = self.balance.decide(usage, self._reactors.carried())
        if self.balance.active != before:
            log.info("%d reactors carry connections, %d before: busy %s, idle cores %.2f", self.balance.active, before,
                     " ".join(f"{share:.2f}" for share in usage.shares), usage.idle)  # fmt: skip
            self._reactors.deal_to(self.balance.active)
        for give in gives:
            self._reactors.give(give.source, give.target, give.thousandths, give.recent_ms)


@dataclass(frozen=True)
class Give:
    """The arguments for `rocketns._fast.reactor.reactors.Reactors.give`."""

    source: int
    target: int
    thousandths: int
    recent_ms: int


class Balance:
    """``active`` reactors carry the connections: the first ones, of ``count``."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.active = 1
        self._loose = 0
        self._patience = GATHER_AFTER
        self._since_gathered = AGAIN
        self._just_moved = False

    def decide(self, usage: Usage, carried: list[int]) -> list[Give]:
        """The connections to move. ``carried``: the number of connections of each reactor."""
        self._count_windows(usage)
        if self._is_pressed(usage):
            self._spread()
        elif self._loose >= self._patience:
            self._use(self.active - 1)
            self._since_gathered = 0
        return self._gather(usage, carried) or self._even(usage)

    def _count_windows(self, usage: Usage) -> None:
        """Count the latest windows in a row with too many reactors."""
        self._loose = self._loose + 1 if self.active > 1 and sum(usage.shares) <= self.active - 1 else 0
        self._since_gathered += 1

    def _is_pressed(self, usage: Usage) -> bool:
        """Whether one more reactor would have work, and a core to run on."""
        has_room = sum(usage.shares) + usage.idle >= self.active + ROOM_CORES
        return self.active < self.count and max(usage.shares[: self.active]) >= BUSY_SHARE and has_room

    def _spread(self) -> None:
        too_soon = self._since_gathered < AGAIN
        self._patience = min(self._patience * 2, GATHER_AFTER_MAX) if too_soon else GATHER_AFTER
        self._use(self.active + 1)

    def _use(self, reactors: int) -> None:
        self.active, self._loose = reactors, 0

    def _gather(self, usage: Usage, carried: list[int]) -> list[Give]:
        """Moves the remaining connections of unused reactors to the least busy reactor in use."""
        target = min(range(self.active), key=lambda number: usage.shares[number])
        return [Give(source, target, ALL, 0) for source in range(self.active, self.count) if carried[source]]

    def _even(self, usage: Usage) -> list[Give]:
        """Move half of the difference from the busiest to the least busy. The next window is a mixture, and ignored."""
        in_use = usage.shares[: self.active]
        most, least = max(in_use), min(in_use)
        if self._just_moved or most < BUSY_SHARE or most - least < UNEVEN_SHARE:
            self._just_moved = False
            return []
        self._just_moved = True
        thousandths = int(ALL * (most - least) / (2 * most))
        return [Give(in_use.index(most), in_use.index(least), thousandths, RECENT_MS)]
