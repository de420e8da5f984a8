"""How many bytes the relay keeps for comparing, of all connections together. What passes through is not counted."""

from __future__ import annotations

TOTAL_BYTES_MAX = 256 * 1024 * 1024
CONNECTION_BYTES_MAX = 40 * 1024 * 1024  # the largest request with its two answers
LITTLE_BYTES = 64 * 1024  # of one connection: usual requests with their answers


class Budget:
    """Bytes of all connections. `Account` has those of one."""

    def __init__(self, most: int = TOTAL_BYTES_MAX) -> None:
        self.most = most
        self.used = 0


class Account:
    """Bytes of one connection: unfinished frames, open requests with their answers, and what a server has not taken."""

    __slots__ = ("_budget", "most", "used")

    def __init__(self, budget: Budget, most: int = CONNECTION_BYTES_MAX) -> None:
        self._budget, self.most = budget, most
        self.used = 0

    def take(self, size: int, *, by_force: bool = False) -> bool:
        """Whether there is room, which is then used. ``by_force``: for what must be kept, and is bounded otherwise."""
        if not by_force and not self.fits(size):
            return False
        budget = self._budget
        self.used += size
        budget.used += size
        return True

    def fits(self, size: int) -> bool:
        """Whether there is room. The last quarter of all is left to connections that keep little."""
        budget, used = self._budget, self.used + size
        most = budget.most if used <= LITTLE_BYTES else budget.most * 3 // 4
        return used <= self.most and budget.used + size <= most

    def give(self, size: int) -> None:
        """They are not kept any more."""
        self.used -= size
        self._budget.used -= size

    def close(self) -> None:
        """Nothing of this connection is kept any more."""
        self.give(self.used)
