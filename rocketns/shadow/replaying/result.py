"""What a replay found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from rocketns.protocol.codes import request_name
from rocketns.shadow.comparing.comparing import Finding
from rocketns.shadow.outcome import UNWANTED, Outcome
from rocketns.shadow.replaying.choosing import Unsent

SHOWN_MAX = 100
"""Differing pairs that are kept for the report; all are counted."""


class Shown(NamedTuple):
    """A pair that differs. ``number`` counts recorded requests from 1 on, in the order of their answers."""

    number: int
    code: int
    peer: str
    finding: Finding


@dataclass(slots=True)
class Result:
    """``outcomes`` by name of the request. ``oneway`` requests have no answer; ``unanswered`` ones had none when they
    were recorded. Neither are compared."""

    outcomes: Counter[tuple[str, Outcome]] = field(default_factory=Counter)
    listed: Counter[str] = field(default_factory=Counter)
    unsent: Counter[Unsent] = field(default_factory=Counter)
    sent: int = 0
    oneway: int = 0
    unanswered: int = 0
    shown: list[Shown] = field(default_factory=list)

    def add(self, shown: Shown) -> None:
        """One compared pair."""
        outcome = shown.finding.outcome
        self.outcomes[request_name(shown.code), outcome] += 1
        if shown.finding.listed:
            self.listed[shown.finding.listed] += 1
        if outcome in UNWANTED and len(self.shown) < SHOWN_MAX:
            self.shown.append(shown)

    def of(self, outcome: Outcome) -> int:
        """Pairs with such an outcome."""
        return sum(number for (_, one), number in self.outcomes.items() if one is outcome)

    @property
    def compared(self) -> int:
        """Pairs whose answers were compared."""
        return self.outcomes.total()

    @property
    def differing(self) -> int:
        """Pairs that differ in what is not listed, or that got no answer."""
        return sum(self.of(outcome) for outcome in UNWANTED)
