"""Numbers of pairs by request and outcome, and the first pairs that differ. All of it is bounded.

The judge counts into fresh `Counts` and tells them every second; the relay adds them up. So a judge that dies takes
one second of counts with it, and not the verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from rocketns.protocol.codes import request_name
from rocketns.shadow.counting.kept import Kept, Samples
from rocketns.shadow.pairs import UNWANTED, Outcome

# Names of clients and releases; all others are one. They are chosen by peers.
NAMES_MAX = 100
OTHERS = "others"


@dataclass(slots=True)
class Counts:
    """``outcomes`` has pairs by name of the request and outcome, ``listed`` by id of docs/differences.md.

    ``clients`` are languages and versions of peers, ``releases`` those of the upstream's answers; both are counted in
    pairs that were judged. ``skipped`` pairs found no room, or are too large. ``different_ms`` is the wall clock at the
    last unwanted pair.
    """

    outcomes: Counter[tuple[str, Outcome]] = field(default_factory=Counter)
    listed: Counter[str] = field(default_factory=Counter)
    clients: Counter[str] = field(default_factory=Counter)
    releases: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    different_ms: int | None = None
    samples: Samples = field(default_factory=Samples)

    def add(self, code: int, outcome: Outcome, number: int = 1) -> None:
        """So many pairs of a request code."""
        self.outcomes[request_name(code), outcome] += number

    def add_unwanted(self, code: int, outcome: Outcome, kept: Kept) -> None:
        """Pairs that an operator should see."""
        self.add(code, outcome, kept.times)
        self.different_ms = max(self.different_ms or 0, kept.at_ms)
        self.samples.add(kept)

    def add_client(self, name: str) -> None:
        """A pair of such a client."""
        _add(self.clients, name, 1)

    def add_release(self, name: str) -> None:
        """An answer of an upstream of such a release."""
        _add(self.releases, name, 1)

    def merge(self, other: Counts) -> None:
        """Add what another has counted since."""
        self.outcomes += other.outcomes
        self.listed += other.listed
        for mine, theirs in ((self.clients, other.clients), (self.releases, other.releases)):
            for name, number in theirs.items():
                _add(mine, name, number)
        self.skipped += other.skipped
        if other.different_ms is not None:
            self.different_ms = max(self.different_ms or 0, other.different_ms)
        self.samples.merge(other.samples)

    def of(self, outcome: Outcome) -> int:
        """Pairs of all requests with such an outcome."""
        return sum(number for (_, one), number in self.outcomes.items() if one is outcome)

    @property
    def number(self) -> int:
        """Pairs of which it is known what became."""
        return self.outcomes.total() + self.skipped

    @property
    def judged(self) -> int:
        """Pairs that were compared and count: those while brokers still register do not."""
        return sum(number for (_, one), number in self.outcomes.items() if one is not Outcome.WARMING)

    @property
    def unwanted(self) -> int:
        """Pairs that an operator should look at."""
        return sum(self.of(outcome) for outcome in UNWANTED)

    def by_request(self) -> Iterator[tuple[str, dict[Outcome, int]]]:
        """Each request with its numbers: those that differ most first, then the most frequent."""
        names = {name for name, _ in self.outcomes}
        rows = {name: {one: self.outcomes[name, one] for one in Outcome} for name in names}
        return iter(sorted(rows.items(), key=_interest))


def _interest(row: tuple[str, dict[Outcome, int]]) -> tuple[int, int, str]:
    name, numbers = row
    return -sum(numbers[one] for one in UNWANTED), -sum(numbers.values()), name


def _add(names: Counter[str], name: str, number: int) -> None:
    names[name if name in names or len(names) < NAMES_MAX else OTHERS] += number
