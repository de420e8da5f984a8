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
    """A key is known or not, and in one place of `HostTurns`, as long as it wants turns."""

    __slots__ = ("_ahead_ns", "_known", "_strangers")

    def __init__(self) -> None:
        self._known: HostTurns[Key] = HostTurns()
        self._strangers: HostTurns[Key] = HostTurns()
        self._ahead_ns = 0  # what known keys have cost more than strangers, and these wait for

    def want(self, key: Key, place: tuple[str, str], estimate_ns: int, *, is_known: bool) -> None:
        """The key wants a turn of about this length."""
        (self._known if is_known else self._strangers).want(key, place, estimate_ns)

    def next(self) -> Key:
        """The key whose turn it is. Call `charge` when the turn is over. IndexError if no key wants one."""
        known, strangers = self._known, self._strangers
        if not known or (strangers and self._ahead_ns + known.next_estimate_ns > strangers.next_estimate_ns):
            return strangers.next()
        return known.next()

    def charge(
        self, key: Key, place: tuple[str, str], cost_ns: int, again_ns: int | None = None, *, is_known: bool
    ) -> None:
        """Charge the cost of the key's turn. With ``again_ns`` it wants another of about this length.

        A kind that nobody waits for pays off what it is ahead, and saves nothing.
        """
        if is_known:
            self._known.charge(key, place, cost_ns, again_ns)
            self._ahead_ns += cost_ns
            if self._ahead_ns > 0 and not self._strangers:
                self._ahead_ns = 0
        else:
            self._strangers.charge(key, place, cost_ns, again_ns)
            self._ahead_ns -= cost_ns
            if self._ahead_ns < 0 and not self._known:
                self._ahead_ns = 0

    def withdraw(self, key: Key, place: tuple[str, str], *, is_known: bool) -> None:
        """The key no longer wants a turn."""
        (self._known if is_known else self._strangers).withdraw(key, place)
