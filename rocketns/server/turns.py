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
from typing import Generic, Protocol, TypeVar

Key = TypeVar("Key", bound=Hashable)

QUANTUM_NS = 200_000


class RoundRobin(Generic[Key]):
    """``wanting``: the keys that want a turn. Others only read it.

    A newcomer is served before those that have had turns, by turns with them. Who leaves and comes back is no newcomer
    before all others had a turn. While nobody wants a turn, debts are forgotten: nobody is waited for.
    """

    __slots__ = ("_debts", "_is_ring_next", "_new", "_ring", "wanting")

    def __init__(self) -> None:
        self.wanting: dict[Key, None] = {}
        self._debts: dict[Key, int] = {}  # of all keys in `_new` and `_ring`, also of some that left
        self._new: deque[Key] = deque()
        self._ring: deque[Key] = deque()
        self._is_ring_next = False

    def want(self, key: Key) -> None:
        """The key wants turns, until `withdraw`."""
        self.wanting[key] = None
        if key not in self._debts:
            self._debts[key] = 0
            self._new.append(key)

    def withdraw(self, key: Key) -> None:
        """The key wants no more turns. Its debt stays while others want theirs."""
        self.wanting.pop(key, None)
        if not self.wanting:
            self._debts.clear()
            self._new.clear()
            self._ring.clear()

    def next(self) -> Key:
        """The key whose turn it is. IndexError if nobody wants one.

        Each step serves a key, removes one, or pays QUANTUM_NS of what was spent: so steps cost little beside turns.
        """
        if not self.wanting:
            raise IndexError
        while True:
            is_ring = bool(self._ring) and (self._is_ring_next or not self._new)
            queue = self._ring if is_ring else self._new
            key = queue[0]
            debt = self._debts[key]
            if debt <= 0 and key in self.wanting:
                return key
            queue.popleft()
            self._is_ring_next = not is_ring
            if debt > 0:
                self._debts[key] = debt - QUANTUM_NS
            if debt > 0 or not is_ring:
                self._ring.append(key)
            else:
                del self._debts[key]

    def charge(self, key: Key, cost_ns: int) -> None:
        """The key has had so much time."""
        if key in self._debts:
            self._debts[key] += cost_ns
        elif self.wanting:
            self._debts[key] = cost_ns
            self._ring.append(key)


class HostTurns(Generic[Key]):
    """A key is mostly a connection. Each is of a host, and a registered broker's or not."""

    __slots__ = ("_accounts", "_hosts", "_keys", "_kinds", "_turn")

    def __init__(self) -> None:
        self._accounts: dict[Key, tuple[bool, str]] = {}  # of those that want turns
        self._kinds: RoundRobin[bool] = RoundRobin()
        self._hosts: dict[bool, RoundRobin[str]] = {True: RoundRobin(), False: RoundRobin()}
        self._keys: dict[tuple[bool, str], RoundRobin[Key]] = {}  # of hosts that want turns
        self._turn: tuple[bool, str, Key]  # of the last `next`

    def __len__(self) -> int:
        return len(self._accounts)

    def by_host(self) -> dict[str, dict[Key, None]]:
        """The keys of strangers that want turns, those of a host in the order in which they came."""
        return {host: keys.wanting for (is_broker, host), keys in self._keys.items() if not is_broker}

    def want(self, key: Key, host: str, *, is_broker: bool = False) -> None:
        """The key wants turns, until `withdraw`."""
        if key in self._accounts:
            return
        account = self._accounts[key] = is_broker, host
        keys = self._keys.get(account)
        if keys is None:
            keys = self._keys[account] = RoundRobin()
            self._hosts[is_broker].want(host)
            self._kinds.want(is_broker)
        keys.want(key)

    def withdraw(self, key: Key) -> None:
        """The key wants no more turns."""
        account = self._accounts.pop(key, None)
        if account is None:
            return
        is_broker, host = account
        self._keys[account].withdraw(key)
        if not self._keys[account].wanting:
            del self._keys[account]
            self._hosts[is_broker].withdraw(host)
            if not self._hosts[is_broker].wanting:
                self._kinds.withdraw(is_broker)

    def next(self) -> Key:
        """The key whose turn it is. Call `charge` when the turn is over. IndexError if no key wants one."""
        is_broker = self._kinds.next()
        host = self._hosts[is_broker].next()
        key = self._keys[is_broker, host].next()
        self._turn = is_broker, host, key
        return key

    def charge(self, cost_ns: int) -> None:
        """The cost of the turn of the last `next`, whose key may have withdrawn. Once: the key is kept until then."""
        is_broker, host, key = self._turn
        del self._turn
        self._kinds.charge(is_broker, cost_ns)
        self._hosts[is_broker].charge(host, cost_ns)
        if (is_broker, host) in self._keys:
            self._keys[is_broker, host].charge(key, cost_ns)


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
        self._is_due, began_s = bool(self._turns), time.thread_time()
        try:
            for _ in range(min(self._at_once, len(self._turns))):
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
