"""The first pairs that differ, each question once, with what differs and with their frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rocketns.shadow.pairs import Outcome, Pair

KEPT_MAX = 100
# Of the frames of all kept pairs. A pair whose frames find no room is kept without them.
KEPT_BYTES_MAX = 16 * 1024 * 1024
PAIR_KEPT_BYTES_MAX = 256 * 1024
# What differs in one pair: so many members at the most.
DIFFERENCES_MAX = 20
SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Difference:
    """One member: its path, such as ``body.brokerDatas[a].cluster``, and its text on both sides, "" where it is not
    there. Texts are cut to SHOWN_CHARACTERS."""

    path: str
    upstream: str
    own: str


@dataclass(frozen=True, slots=True)
class Kept:
    """``question`` is the same for pairs that ask the same: a hash of the request without its opaque. ``times`` counts
    them. ``pair`` is None if its frames found no room."""

    question: str
    at_ms: int
    peer: str
    client: str
    request: str
    outcome: Outcome
    note: str
    differences: tuple[Difference, ...]
    pair: Pair | None = None
    times: int = 1

    @property
    def frame_bytes(self) -> int:
        """Of its frames."""
        pair = self.pair
        return 0 if pair is None else len(pair.request) + len(pair.upstream or b"") + len(pair.own or b"")


class Samples:
    """The first of each question, KEPT_MAX of them. ``more`` counts pairs of other questions, which found no room."""

    def __init__(self, most: int = KEPT_MAX) -> None:
        self.most = most
        self.more = 0
        self._kept: dict[str, Kept] = {}
        self._bytes = 0

    def __iter__(self) -> Iterator[Kept]:
        return iter(self._kept.values())

    def __len__(self) -> int:
        return len(self._kept)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Samples) and (list(self), self.more) == (list(other), other.more)

    __hash__ = None  # type: ignore[assignment]

    def add(self, kept: Kept) -> None:
        """Keep a pair, or count it."""
        known = self._kept.get(kept.question)
        if known is not None:
            self._kept[kept.question] = replace(known, times=known.times + kept.times)
        elif len(self._kept) >= self.most:
            self.more += kept.times
        else:
            self._keep(kept)

    def _keep(self, kept: Kept) -> None:
        size = kept.frame_bytes
        if size > PAIR_KEPT_BYTES_MAX or self._bytes + size > KEPT_BYTES_MAX:
            kept, size = replace(kept, pair=None), 0
        self._bytes += size
        self._kept[kept.question] = kept

    def split(self, most: int, rest: Samples) -> Samples:
        """The first ``most`` of these; the others go to ``rest``."""
        first = Samples(most)
        for kept in self:
            (first if len(first) < most else rest).add(kept)
        first.more = self.more
        return first

    def merge(self, other: Samples) -> None:
        """Take over what another has kept since."""
        for kept in other:
            self.add(kept)
        self.more += other.more
