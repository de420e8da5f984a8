"""Which TLS handshake is continued next. A handshake costs the server up to a millisecond, and its peer nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from rocketns.server.requests.turns import HostTurns

# After so long a turn ends: control's turn comes, and sockets, signals and timers are looked at.
TURN_NS = 2_000_000


class Peer(Protocol):
    """A connection whose handshake is not over."""

    host: str

    def __hash__(self) -> int: ...

    def go_on_with_tls(self) -> None:
        """Process the bytes that arrived: the next step of the handshake, and frames after it."""


class Handshakes:
    """Hosts take turns by what their handshakes have cost, and so do the connections of a host: see `HostTurns`.

    After a turn the next one waits for ``rest`` times its length, so handshakes take at most 1 / (1 + rest) of a core.
    """

    def __init__(self, spent_ns: Callable[[], int], rest: float = 0) -> None:
        self._spent_ns = spent_ns
        self._rest = rest
        self._rests_until_s = 0.0  # of the loop's clock
        self._turns: HostTurns[Peer] = HostTurns()
        self._turn_is_due = False
        self.succeeded = self.failed = 0
        self.total_ns = 0

    def note_end(self, *, succeeded: bool) -> None:
        """A handshake is over."""
        self.succeeded += succeeded
        self.failed += not succeeded

    def want(self, peer: Peer) -> None:
        """Continue its handshake when its turn comes."""
        self._turns.want(peer, peer.host)
        self._want_turn()

    def _want_turn(self) -> None:
        if not self._turn_is_due:
            self._turn_is_due = True
            loop = asyncio.get_running_loop()
            if self._rest and loop.time() < self._rests_until_s:
                loop.call_at(self._rests_until_s, self._turn)
            else:
                loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._turn_is_due = False
        began_ns = self._spent_ns()
        ends_ns = began_ns + TURN_NS
        try:
            while self._turns and self._spent_ns() < ends_ns:
                peer = self._turns.next()
                self._turns.withdraw(peer)
                self._serve(peer)
        finally:
            spent_s = (self._spent_ns() - began_ns) / 1e9
            self._rests_until_s = asyncio.get_running_loop().time() + self._rest * spent_s
            if self._turns:
                self._want_turn()

    def _serve(self, peer: Peer) -> None:
        began_ns = self._spent_ns()
        try:
            peer.go_on_with_tls()
        finally:
            cost_ns = self._spent_ns() - began_ns
            self.total_ns += cost_ns
            self._turns.charge(peer, peer.host, cost_ns)
