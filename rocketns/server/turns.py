"""Whose turn it is: registered brokers and strangers in turn, the hosts of each, and the connections of each host.

Deficit round robin (Shreedhar and Varghese, 1995) by measured time. A turn lasts QUANTUM_NS. What it took beyond that
is carried over as debt, and paid with later turns. So a broker waits for other brokers and for one turn of all
strangers, a host for one turn of each other host, and more connections give a host no more time.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain, zip_longest
from typing import Any, Generic, Protocol, TypeVar

Key = TypeVar("Key", bound=Hashable)

QUANTUM_NS = 200_000


class _Ring:
    """``wanting``: who wants a turn. A newcomer is served before those that have had turns, by turns with them. Who
    leaves and comes back is no newcomer before all others had a turn.
    """

    __slots__ = ("debts", "is_served_next", "new", "served", "wanting")

    def __init__(self) -> None:
        self.wanting: dict[Any, None] = {}
        self.debts: dict[Any, int] = {}  # of all in `new` and `served`, also of some that left
        self.new: deque[Any] = deque()
        self.served: deque[Any] = deque()
        self.is_served_next = False

    def next(self) -> Any:
        """Whose turn it is. Somebody wants one.

        Each step serves one, removes one, or pays QUANTUM_NS of what was spent: so steps cost little beside turns.
        """
        while True:
            is_served = bool(self.served) and (self.is_served_next or not self.new)
            queue = self.served if is_served else self.new
            key = queue[0]
            debt = self.debts[key]
            if debt <= 0 and key in self.wanting:
                return key
            queue.popleft()
            self.is_served_next = not is_served
            if debt > 0:
                self.debts[key] = debt - QUANTUM_NS
            if debt > 0 or not is_served:
                self.served.append(key)
            else:
                del self.debts[key]


class HostTurns(Generic[Key]):
    """A key is mostly a connection. Each is of a host, and a registered broker's or not. ``wanting``: those that want
    turns, with a ring of the two kinds, one of the hosts of each, and one of the keys of each host.

    While nobody wants a turn of a ring, its debts are forgotten: nobody is waited for.
    """

    __slots__ = ("_rings", "_turn", "wanting")

    def __init__(self) -> None:
        self.wanting: dict[Key, tuple[bool, str, Key]] = {}
        self._rings: dict[tuple[object, ...], _Ring] = {}  # by the path to it
        self._turn: tuple[Any, ...] = ()  # of the last `next`

    def by_host(self) -> dict[str, dict[Key, None]]:
        """The keys of strangers that want turns, those of a host in the order in which they came."""
        hosts = self._rings[False,].wanting if (False,) in self._rings else ()
        return {host: self._rings[False, host].wanting for host in hosts}

    def want(self, key: Key, host: str, *, is_broker: bool = False) -> None:
        """The key wants turns, until `withdraw`."""
        if key in self.wanting:
            return
        path = self.wanting[key] = is_broker, host, key
        for level, one in enumerate(path):
            ring = self._rings.get(path[:level])
            if ring is None:
                ring = self._rings[path[:level]] = _Ring()
            ring.wanting[one] = None
            if one not in ring.debts:
                ring.debts[one] = 0
                ring.new.append(one)

    def withdraw(self, key: Key) -> None:
        """The key wants no more turns. Its debt stays while others want theirs."""
        path = self.wanting.pop(key, ())
        for level in reversed(range(len(path))):
            ring = self._rings[path[:level]]
            del ring.wanting[path[level]]
            if ring.wanting:
                return
            del self._rings[path[:level]]

    def next(self) -> Key:
        """The key whose turn it is. Call `charge` when the turn is over. IndexError if no key wants one."""
        if not self.wanting:
            raise IndexError
        kind = self._rings[()].next()
        host = self._rings[kind,].next()
        key: Key = self._rings[kind, host].next()
        self._turn = kind, host, key
        return key

    def charge(self, cost_ns: int) -> None:
        """The cost of the turn of the last `next`, whose key may have withdrawn. Once: the key is kept until then."""
        path, self._turn = self._turn, ()
        for level, one in enumerate(path):
            ring = self._rings.get(path[:level])
            if ring is None:
                return
            if one in ring.debts:
                ring.debts[one] += cost_ns
            else:
                ring.debts[one] = cost_ns
                ring.served.append(one)


def by_turns(groups: Iterable[Iterable[Key]]) -> Iterator[Key]:
    """One of each group, then of each the next one, and so on."""
    return (one for one in chain.from_iterable(zip_longest(*groups)) if one is not None)


class TurnTaker(Hashable, Protocol):
    """What has turns of its host's."""

    host: str

    def next_turn(self) -> None:
        """Its turn has come."""


Peer = TypeVar("Peer", bound=TurnTaker)


class PacedTurns(Generic[Peer]):
    """Lets ``at_once`` peers take a turn in each round of the running loop, the hosts in turn.

    Between two rounds it waits for ``pause_s``, and for ``rest`` times the CPU time of the round.
    """

    def __init__(self, *, at_once: int, pause_s: float = 0.0, rest: float = 0.0) -> None:
        self._at_once, self._pause_s, self._rest = at_once, pause_s, rest
        self._turns: HostTurns[Peer] = HostTurns()
        self._is_due = False

    def want(self, peer: Peer) -> None:
        """It takes one turn, when it comes."""
        self._turns.want(peer, peer.host)
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._round)

    def withdraw(self, peer: Peer) -> None:
        """It ended."""
        self._turns.withdraw(peer)

    def _round(self) -> None:
        """The last one has a pause behind it, too."""
        self._is_due, began_s = bool(self._turns.wanting), time.thread_time()
        try:
            for _ in range(min(self._at_once, len(self._turns.wanting))):
                peer = self._turns.next()
                self._turns.withdraw(peer)
                # What it really takes is known too late: it may wait for control, and others run meanwhile.
                self._turns.charge(QUANTUM_NS)
                peer.next_turn()
        finally:
            if self._is_due:
                pause_s = self._pause_s + self._rest * (time.thread_time() - began_s)
                loop = asyncio.get_running_loop()
                loop.call_later(pause_s, self._round) if pause_s else loop.call_soon(self._round)
