"""What a replay found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from rocketns.shadow.comparing.comparing import Finding
from rocketns.shadow.counting.counts import Counts
from rocketns.shadow.outcome import UNWANTED
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
class Result(Counts):
    """``number`` and ``unwanted`` are about pairs whose answers were compared. ``oneway`` requests have no answer;
    ``unanswered`` ones had none when they were recorded. Neither are compared."""

    unsent: Counter[Unsent] = field(default_factory=Counter)
    sent: int = 0
    oneway: int = 0
    unanswered: int = 0
    shown: list[Shown] = field(default_factory=list)

    def note(self, shown: Shown) -> None:
        """One compared pair."""
        outcome = shown.finding.outcome
        self.add(shown.code, outcome)
        if shown.finding.listed:
            self.listed[shown.finding.listed] += 1
        if outcome in UNWANTED and len(self.shown) < SHOWN_MAX:
            self.shown.append(shown)
