"""The periodic job that spreads the connections over the reactors, or gathers them, see `balance`."""

from __future__ import annotations

import logging
from collections.abc import Callable

from rocketns._fast.reactor.reactors import Reactors
from rocketns.server.reactors.balance import Balance
from rocketns.server.reactors.usage import Usage

log = logging.getLogger("rocketns.reactors")


class Balancer:
    """``read_usage`` gives the load since its last call; None if it is not known."""

    def __init__(self, reactors: Reactors, read_usage: Callable[[], Usage | None]) -> None:
        self.balance = Balance(reactors.count)
        self.read_usage = read_usage
        self._reactors = reactors

    def run(self) -> None:
        """Move connections if the load since the last run asks for it."""
        usage = self.read_usage()
        if usage is None:
            return
        before = self.balance.active
        gives = self.balance.decide(usage, self._reactors.carried())
        if self.balance.active != before:
            log.info("%d reactors carry connections, %d before: busy %s, idle cores %.2f", self.balance.active, before,
                     " ".join(f"{share:.2f}" for share in usage.shares), usage.idle)  # fmt: skip
            self._reactors.deal_to(self.balance.active)
        for give in gives:
            self._reactors.give(give.source, give.target, give.thousandths, give.recent_ms)
