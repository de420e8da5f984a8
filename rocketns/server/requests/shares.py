"""Shares the time of a thread: next is the key that will have used the least time after its turn.

Self-clocked fair queueing (Golestani 1994). Costs are nanoseconds that the caller measured.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

# Beyond this number all debts are forgotten.
DEBTS_MAX = 10_000
DEBTS_SWEPT_MIN = 64
STEP_NS = 20_000


class Shares(Generic[Key]):
    """Keys that want a turn. A new key starts at the present: it does not wait behind all others, and has no credit.

    ``_now`` is virtual time: the tag of the key served last, but at most STEP_NS after the beginning of its turn. So a
    new key with a small request passes keys that wait with a large one. A key's debt is the virtual time until which it
    has had its share. Debts are forgotten when ``_now`` reaches them, or when no key wants a turn.

    ``wanting``: the keys that want a turn. Others only read it.
    """

    def __init__(self) -> None:
        self._now = 0
        self._debts: dict[Key, int] = {}
        self.wanting: dict[Key, tuple[int, int]] = {}  # tag, estimate
        self._heap: list[tuple[int, int, Key]] = []
        self._entries = 0
        self._sweep_at = DEBTS_SWEPT_MIN

    def __len__(self) -> int:
        return len(self.wanting)

    def want(self, key: Key, estimate_ns: int) -> None:
        """The key wants a turn of about this length. A lower estimate than before moves it forward."""
        tag = max(self._debts.get(key, 0), self._now) + estimate_ns
        wanted = self.wanting.get(key)
        if wanted is None or tag < wanted[0]:
            self.wanting[key] = (tag, estimate_ns)
            self._entries += 1
            heapq.heappush(self._heap, (tag, self._entries, key))

    def next(self) -> Key:
        """The key whose turn it is. Call `charge` when the turn is over. IndexError if no key wants one."""
        key = self._first()
        tag, estimate_ns = self.wanting.pop(key)
        self._debts[key] = tag - estimate_ns
        self._now = max(self._now, tag - max(0, estimate_ns - STEP_NS))
        heapq.heappop(self._heap)
        return key

    @property
    def next_estimate_ns(self) -> int:
        return self.wanting[self._first()][1]

    def charge(self, key: Key, cost_ns: int) -> None:
        """Charge the cost of the key's turn."""
        debt = self._debts.pop(key, self._now) + cost_ns
        if not self.wanting:
            self._debts.clear()
            self._heap.clear()
        if debt > self._now:
            self._debts[key] = debt
        if len(self._debts) > self._sweep_at:
            self._forget_paid()

    def withdraw(self, key: Key) -> None:
        """The key no longer wants a turn. Its debt stays."""
        self.wanting.pop(key, None)

    def _first(self) -> Key:
        """The key with the smallest tag. Outdated entries of served or moved keys are removed."""
        while True:
            tag, _, key = self._heap[0]
            wanted = self.wanting.get(key)
            if wanted is not None and wanted[0] == tag:
                return key
            heapq.heappop(self._heap)

    def _forget_paid(self) -> None:
        self._debts = {key: debt for key, debt in self._debts.items() if debt > self._now}
        if len(self._debts) > DEBTS_MAX:
            self._debts.clear()
        self._sweep_at = max(DEBTS_SWEPT_MIN, 2 * len(self._debts))
