"""Hosts take turns at the management port, a few requests in each turn of its loop.

So a crowd of connections that all ask for much holds up neither a probe of another host, nor new connections, which the
loop accepts between two turns.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from rocketns.server.requests.host_turns import HostTurns

# Between two turns the loop accepts up to 16 connections, so those in the kernel are accepted faster than they ask.
REQUESTS_PER_TURN_MAX = 4
# Of each request. What it really takes is known too late: it waits for control, and others run meanwhile.
COST_NS = 1_000_000


class Asking(Protocol):
    """A connection with a whole request."""

    host: str

    def __hash__(self) -> int: ...

    def take_turn(self) -> None:
        """Its request may be answered now."""


class RequestTurns:
    """Loop of the management port only."""

    def __init__(self) -> None:
        self._turns: HostTurns[Asking] = HostTurns()
        self._is_taking = False

    def want(self, asking: Asking) -> None:
        """It takes its turn soon, unless it withdraws."""
        self._turns.want(asking, _place(asking), COST_NS)
        if not self._is_taking:
            self._is_taking = True
            asyncio.get_running_loop().call_soon(self._take)

    def withdraw(self, asking: Asking) -> None:
        """It wanted a turn, and has ended."""
        self._turns.withdraw(asking, _place(asking))

    def _take(self) -> None:
        for _ in range(REQUESTS_PER_TURN_MAX):
            if not self._turns.wanting:
                self._is_taking = False
                return
            asking = self._turns.next()
            self._turns.charge(asking, _place(asking), COST_NS)
            asking.take_turn()
        asyncio.get_running_loop().call_soon(self._take)


def _place(asking: Asking) -> tuple[str, str]:
    return asking.host, asking.host
