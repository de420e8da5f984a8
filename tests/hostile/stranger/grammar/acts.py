"""An act is a run of steps with few choices, so that steps that harm only together come together (swarm testing).

Some of its dimensions are pushed: there its steps always go to the most.

Everything is drawn from the seed and the number of a step, so a step is the same whichever were played before it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

STEPS = 12  # of an act
# One of these is the longest size of an act's texts, in bytes, and its largest count.
LONGEST = (40, 300, 4_096, 70_000, 1_000_000, 6_000_000)
MOST = (3, 40, 1_000, 100_000)
BOUNDARIES = (0, 1, 127, 128, 255, 256, 4_095, 4_096, 4_097, 32_767, 32_768, 65_535, 65_536, 1 << 20)

NAMES, COUNTS, CONNECTIONS, REPEATS = "names", "counts", "connections", "repeats"
UNFINISHED, UNREAD, HELD = "unfinished", "unread", "held"
DIMENSIONS = (NAMES, COUNTS, CONNECTIONS, REPEATS, UNFINISHED, UNREAD, HELD)

Choice = TypeVar("Choice")


@dataclass(frozen=True)
class Act:
    """``some(what, choices)`` are the choices that the act leaves. ``longest`` in bytes; ``most`` is a count."""

    seed: int
    number: int
    longest: int
    most: int
    pushed: frozenset[str] = frozenset()

    def some(self, what: str, choices: Sequence[Choice]) -> list[Choice]:
        """At least one of the choices, mostly few; the same for all steps of the act."""
        chance = random.Random(f"{self.seed} {self.number} {what}")
        return chance.sample(choices, min(len(choices), chance.choice((1, 1, 2, 3, 5, len(choices)))))

    def name(self, what: str, number: int) -> random.Random:
        """The chance that draws a name, so that steps of the act use the same names."""
        return random.Random(f"{self.seed} {self.number} {what} {number}")


def act_of(seed: int, step: int) -> Act:
    number = step // STEPS
    chance = random.Random(f"{seed} act {number}")
    pushed = frozenset(chance.sample(DIMENSIONS, chance.choice((0, 1, 2, 3, 3, 4))))
    longest = LONGEST[-1] if NAMES in pushed else chance.choice(LONGEST)
    return Act(seed, number, longest, MOST[-1] if COUNTS in pushed else chance.choice(MOST), pushed)


def size(chance: random.Random, most: int) -> int:
    """0 to ``most``: all orders of magnitude alike, and often a boundary or the most."""
    kind = chance.random()
    if kind < 0.2:
        return most
    if kind < 0.35:
        return chance.choice([one for one in BOUNDARIES if one <= most])
    return int(most ** chance.random())
