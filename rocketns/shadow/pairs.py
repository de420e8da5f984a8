"""Pairs of answers to one request: how each compares, their numbers, and the first ones that differ. All is bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from rocketns.protocol.codes import request_name

# Two answers of 16 MiB, the largest frame of Java's own decoder, and a request. A larger pair is skipped.
PAIR_BYTES_MAX = 40 * 1024 * 1024
# An own answer that comes so long after the upstream's is `late`.
LATE_MS = 1000.0
# Names of clients, which they choose; all others are one.
NAMES_MAX = 100
OTHERS = "others"
SAMPLES_MAX = 100
# Of the frames of all kept pairs. A pair whose frames find no room is kept without them.
SAMPLES_BYTES_MAX = 16 * 1024 * 1024
SAMPLE_BYTES_MAX = 256 * 1024
# What differs in one pair: so many members at the most.
DIFFERENCES_MAX = 20
SHOWN_CHARACTERS = 200


class Outcome(StrEnum):
    """One for each pair, in the order in which reports list them. Pairs for which the judge had no room were not
    compared: they are counted as skipped."""

    EQUAL = "equal"  # the same bytes
    ORDER = "order"  # equal but for the order of lists and maps, time stamps, and the numbers of releases and machines
    LISTED = "listed"  # a listed difference of docs/differences.md; its id is counted too
    SETTLED = "settled"  # differed, and was the same when both were asked again, or the broker registered again
    LATE = "late"  # rocketns answered more than LATE_MS after the upstream
    DIFFERENT = "different"
    MISSING = "missing"  # one of the two gave no answer
    WARMING = "warming"  # differed soon after the start of rocketns, when brokers had not registered there yet


# What an operator looks at before rocketns replaces the upstream.
UNWANTED = frozenset({Outcome.DIFFERENT, Outcome.LATE, Outcome.MISSING})


class Pair(NamedTuple):
    """A request, and the frames that answered it. ``at_ms`` is the wall clock's when it was read; the two times are
    milliseconds from then to the answer. An answer is None if none came, or the connection closed first."""

    connection: int
    peer: str
    at_ms: int
    request: bytes
    upstream: bytes | None
    own: bytes | None
    upstream_ms: float | None
    own_ms: float | None

    @property
    def frame_bytes(self) -> int:
        """Of its frames."""
        return len(self.request) + len(self.upstream or b"") + len(self.own or b"")


class MemberDifference(NamedTuple):
    """One member: its path, such as ``body.brokerDatas[a].cluster``, and its text on both sides, "" where it is not
    there. Texts are cut to SHOWN_CHARACTERS."""

    path: str
    upstream: str
    own: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A pair that differs. ``question`` is the same for pairs that ask the same: a hash of the request without its
    opaque. ``times`` counts them. ``pair`` is None if its frames found no room."""

    question: str
    at_ms: int
    peer: str
    client: str
    request: str
    outcome: Outcome
    note: str
    differences: tuple[MemberDifference, ...]
    pair: Pair | None = None
    times: int = 1


class Samples:
    """The first of each question, KEPT_MAX of them. ``more`` counts pairs of other questions, which found no room."""

    def __init__(self) -> None:
        self.more = 0
        self._samples: dict[str, Sample] = {}
        self._bytes = 0

    def __iter__(self) -> Iterator[Sample]:
        return iter(self._samples.values())

    def __len__(self) -> int:
        return len(self._samples)

    def add(self, sample: Sample) -> None:
        """Keep a pair, or count it."""
        earlier = self._samples.get(sample.question)
        if earlier is not None:
            self._samples[sample.question] = replace(earlier, times=earlier.times + sample.times)
            return
        if len(self._samples) >= SAMPLES_MAX:
            self.more += sample.times
            return
        size = 0 if sample.pair is None else sample.pair.frame_bytes
        if size > SAMPLE_BYTES_MAX or self._bytes + size > SAMPLES_BYTES_MAX:
            sample, size = replace(sample, pair=None), 0
        self._bytes += size
        self._samples[sample.question] = sample


@dataclass(slots=True)
class Counts:
    """``outcomes`` has pairs by name of the request and outcome, ``listed`` by id of docs/differences.md.

    ``clients`` are languages and versions of peers, of the pairs that were judged. ``skipped`` pairs found no room, or
    are too large. ``first_ms`` and ``last_ms`` are the wall clock at the first and the last unwanted pair.
    """

    outcomes: Counter[tuple[str, Outcome]] = field(default_factory=Counter)
    listed: Counter[str] = field(default_factory=Counter)
    clients: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    first_ms: int | None = None
    last_ms: int | None = None
    samples: Samples = field(default_factory=Samples)

    def add(self, code: int, outcome: Outcome, number: int = 1) -> None:
        """So many pairs of a request code."""
        self.outcomes[request_name(code), outcome] += number

    def add_unwanted(self, code: int, sample: Sample) -> None:
        """Pairs that an operator should see."""
        self.add(code, sample.outcome, sample.times)
        self.first_ms = min(self.first_ms or sample.at_ms, sample.at_ms)
        self.last_ms = max(self.last_ms or sample.at_ms, sample.at_ms)
        self.samples.add(sample)

    def add_client(self, name: str) -> None:
        """A pair of such a client."""
        self.clients[name if name in self.clients or len(self.clients) < NAMES_MAX else OTHERS] += 1

    def of(self, outcome: Outcome) -> int:
        """Pairs of all requests with such an outcome."""
        return sum(number for (_, one), number in self.outcomes.items() if one is outcome)

    @property
    def judged(self) -> int:
        """Pairs that were compared and count: those while brokers still register do not."""
        return self.outcomes.total() - self.of(Outcome.WARMING)

    @property
    def unwanted(self) -> int:
        """Pairs that an operator should look at."""
        return sum(self.of(outcome) for outcome in UNWANTED)

    def by_request(self) -> list[tuple[str, dict[Outcome, int]]]:
        """Each request with its numbers: those that differ most first, then the most frequent."""
        names = {name for name, _ in self.outcomes}
        rows = [(name, {one: self.outcomes[name, one] for one in Outcome}) for name in names]
        return sorted(rows, key=lambda row: (-sum(row[1][one] for one in UNWANTED), -sum(row[1].values()), row[0]))
