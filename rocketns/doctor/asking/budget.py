"""Counts what is asked. Nothing is sent that has no row here, or more often than its row says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from rocketns.doctor.facts.facts import Requests
from rocketns.errors import RocketnsError


class OverBudgetError(RocketnsError):
    """A request that may not be sent, or not so often: a fault of the doctor."""


class Budget:
    """``most`` is how often each kind may be sent to one address. A kind is a request code, or ``connect``."""

    def __init__(self, most: Mapping[int | str, int]) -> None:
        self._most = dict(most)
        self._sent: Counter[tuple[str, int | str]] = Counter()

    def spend(self, addr: str, kind: int | str) -> None:
        """One more is sent to an address. OverBudgetError, and nothing is counted, where it may not be sent."""
        if self._sent[addr, kind] >= self._most.get(kind, 0):
            raise OverBudgetError(f"{kind} may be sent to {addr} at most {self._most.get(kind, 0)} times")
        self._sent[addr, kind] += 1

    def requests(self, to: str) -> Requests:
        """What was sent, and what may be, for the output; ``to`` names the kind of peer."""
        sent: dict[str, dict[str, int]] = {}
        for (addr, kind), count in self._sent.items():
            sent.setdefault(addr, {})[_name(kind)] = count
        return Requests(to, {_name(kind): most for kind, most in self._most.items()}, sent)


def _name(kind: int | str) -> str:
    return getattr(kind, "name", str(kind))
