"""Lookups without a route that control answers, and that wait for the registrations that came before them.

Hosts take turns, so frames take effect in another order than they came in. The reactors note in which epoch each frame
came, and control ends an epoch with each of its turns. See _fast/reactor/answers.pyx, where most such lookups wait.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass

from rocketns._fast.reactor.reactors import Reactors

# So long a lookup waits, at a reactor or here.
DEFERRED_S_MAX = 0.02
# The reactors' own bounds are in _fast/reactor/answers.pyx.
DEFERRED_MAX = 64
DEFERRED_OF_HOST_MAX = 16


@dataclass(slots=True)
class _DeferredLookup:
    epoch: int
    host: str
    until_s: float
    answer: Callable[[], object]


class DeferredLookups:
    """Control only. They are answered in the order in which they came."""

    def __init__(self, reactors: Reactors) -> None:
        self._reactors = reactors
        self._waiting: deque[_DeferredLookup] = deque()
        self._of_host: Counter[str] = Counter()

    def must_wait(self, epoch: int) -> bool:
        """Whether a frame of this epoch or of an earlier one has not taken effect."""
        return not self._reactors.is_applied(epoch)

    def defer(self, epoch: int, host: str, answer: Callable[[], object]) -> bool:
        """Call ``answer`` when the frames of this epoch have taken effect, or after DEFERRED_S_MAX.

        False: too many lookups wait already, in all or of this host.
        """
        if len(self._waiting) == DEFERRED_MAX or self._of_host[host] == DEFERRED_OF_HOST_MAX:
            return False
        self._of_host[host] += 1
        loop = asyncio.get_running_loop()
        self._waiting.append(_DeferredLookup(epoch, host, loop.time() + DEFERRED_S_MAX, answer))
        if len(self._waiting) == 1:
            loop.call_later(DEFERRED_S_MAX, self._answer_late)
        return True

    def answer_due(self, now_s: float = 0.0) -> None:
        """Answer those whose epoch is applied, or whose time is over. Call it after each turn."""
        while self._waiting and (not self.must_wait(self._waiting[0].epoch) or self._waiting[0].until_s <= now_s):
            deferred = self._waiting.popleft()
            self._of_host -= Counter({deferred.host: 1})
            deferred.answer()

    def _answer_late(self) -> None:
        loop = asyncio.get_running_loop()
        self.answer_due(loop.time())
        if self._waiting:
            loop.call_at(self._waiting[0].until_s, self._answer_late)
