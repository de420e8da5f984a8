"""Whose answers go out: the one object that signals, the status port and the relay share."""

from __future__ import annotations

import logging
from collections.abc import Callable

log = logging.getLogger("rocketns.shadow")

ALL = 100
# Between the places of one connection and the next among the hundred. It has no factor in common with 100.
_STRIDE = 61


class Switch:
    """``percent`` of the connections get rocketns' answers; 0: the upstream's pass. It takes effect for new requests.

    A larger percentage serves the connections of every smaller one, and others beside.
    """

    def __init__(self, percent: int = 0) -> None:
        self.percent = percent
        self._followers: list[Callable[[], None]] = []

    def follow(self, call: Callable[[], None]) -> None:
        """Call it after each change, and now."""
        self._followers.append(call)
        call()

    def set(self, percent: int, why: str) -> None:
        """On the relay's loop. ``why`` is for the log. ValueError unless it is 0 to 100."""
        if not 0 <= percent <= ALL:
            raise ValueError(f"{percent} is no percentage from 0 to {ALL}")
        log.info("%s: rocketns serves %d %% of the connections, before %d %%", why, percent, self.percent)
        self.percent = percent
        for call in self._followers:
            call()


def place_of(connection: int) -> int:
    """The connection's place among the hundred: it is served by rocketns where this is below the percentage."""
    return connection * _STRIDE % ALL
