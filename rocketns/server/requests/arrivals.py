"""How far the frames that arrived have taken effect, and the lookups that wait for it.

Hosts take turns, so frames take effect in another order than they arrived in. They are counted in batches, one for each
turn of control: when all frames of the oldest batch are done, whatever arrived with it or earlier is applied.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass

# So long a lookup waits for registrations that came before it, at a reactor or here.
DEFERRED_S_MAX = 0.02
# The reactors' own bounds are in _fast/reactor/deferred.pyx.
DEFERRED_MAX = 64
DEFERRED_OF_HOST_MAX = 16


@dataclass(slots=True)
class Batch:
    """``last``: how many frames had arrived with its last one. ``waiting``: how many of its own are not done."""

    last: int = 0
    waiting: int = 0


@dataclass(slots=True)
class _DeferredLookup:
    behind: Batch
    host: str
    until_s: float
    answer: Callable[[], object]


class Arrivals:
    """Control only. ``applied``: of the first frames that arrived, so many are done."""

    def __init__(self) -> None:
        self.applied = 0
        self._arrived = 0
        self._batches = deque([Batch()])
        self._deferred: deque[_DeferredLookup] = deque()
        self._deferred_of: Counter[str] = Counter()

    def add(self) -> Batch:
        """A frame arrived. Lower the batch's ``waiting`` when it is done."""
        self._arrived += 1
        batch = self._batches[-1]
        batch.last = self._arrived
        batch.waiting += 1
        return batch

    def advance(self) -> None:
        """A turn is over: begin a new batch, and answer the lookups that waited for those that are done."""
        batches = self._batches
        if batches[-1].waiting:
            batches.append(Batch(self._arrived))
        while len(batches) > 1 and not batches[0].waiting:
            self.applied = batches.popleft().last
        if not batches[0].waiting:
            self.applied = self._arrived
        self._answer_due(0.0)

    def defer(self, behind: Batch, host: str, answer: Callable[[], object]) -> bool:
        """Call ``answer`` when the frames that came with ``behind`` or earlier are done, or after DEFERRED_S_MAX.

        False: nothing of it is to be waited for, or too many lookups wait already, in all or of this host.
        """
        is_first = not self._deferred
        if self.is_applied(behind) or len(self._deferred) == DEFERRED_MAX:
            return False
        if self._deferred_of[host] == DEFERRED_OF_HOST_MAX:
            return False
        self._deferred_of[host] += 1
        loop = asyncio.get_running_loop()
        self._deferred.append(_DeferredLookup(behind, host, loop.time() + DEFERRED_S_MAX, answer))
        if is_first:
            loop.call_later(DEFERRED_S_MAX, self._answer_late)
        return True

    def is_applied(self, batch: Batch) -> bool:
        """Whether all frames that came with the batch or earlier are done."""
        return batch.last <= self.applied or (batch is self._batches[0] and not batch.waiting)

    def _answer_late(self) -> None:
        loop = asyncio.get_running_loop()
        self._answer_due(loop.time())
        if self._deferred:
            loop.call_at(self._deferred[0].until_s, self._answer_late)

    def _answer_due(self, now_s: float) -> None:
        while self._deferred and (self.is_applied(self._deferred[0].behind) or self._deferred[0].until_s <= now_s):
            deferred = self._deferred.popleft()
            self._deferred_of[deferred.host] -= 1
            if not self._deferred_of[deferred.host]:
                del self._deferred_of[deferred.host]
            deferred.answer()
