"""Whose turn it is: a connection of a registered broker, or a stranger's.

While both want turns, each of the two kinds has half of the time. So a broker waits for other brokers, and for one turn
of all strangers, however many they are; and strangers who register take nothing of the other half. Of a kind hosts take
turns.
"""

from __future__ import annotations

from typing import Generic

from rocketns.server.requests.host_turns import HostTurns
from rocketns.server.requests.shares import Key


class Turns(Generic[Key]):
    """A key wants its turns, or withdraws, in `of` its kind."""

    __slots__ = ("_ahead_ns", "_known", "_strangers")

    def __init__(self) -> None:
        self._known: HostTurns[Key] = HostTurns()
        self._strangers: HostTurns[Key] = HostTurns()
        self._ahead_ns = 0  # what known keys have cost more than strangers, and these wait for

    def of(self, is_known: bool) -> HostTurns[Key]:
        """The turns of known keys, or of strangers."""
        return self._known if is_known else self._strangers

    def next(self) -> Key:
        """The key whose turn it is. Call `charge` when the turn is over. IndexError if no key wants one."""
        known, strangers = self._known, self._strangers
        if not known.wanting:
            return strangers.next()
        if strangers.wanting and self._ahead_ns + known.next_estimate_ns > strangers.next_estimate_ns:
            return strangers.next()
        return known.next()

    def charge(self, is_known: bool, cost_ns: int) -> None:
        """Charge the cost of a turn to its kind, after it was charged to the key.

        While the other kind wants no turn, this one pays nothing, and the other one saves nothing.
        """
        if is_known:
            self._ahead_ns += cost_ns
            if self._ahead_ns > 0 and not self._strangers.wanting:
                self._ahead_ns = 0
        else:
            self._ahead_ns -= cost_ns
            if self._ahead_ns < 0 and not self._known.wanting:
                self._ahead_ns = 0
