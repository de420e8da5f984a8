"""What happens to a journal itself: heartbeats that are lost, which hides nothing else, and a lost topic change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.pipeline.synthetic.journal.effects import Effect, record
from tests.pipeline.synthetic.scenario.plan import Damage, Hidden

NEVER_MS = 1 << 62


class Lost(NamedTuple):
    """``lost`` records in a row that are missing from a journal: ``kind`` is corrupt, hole, drop or hidden_change."""

    kind: str
    boot: int
    first_seq: int
    lost: int


class Damager:
    """Takes heartbeats from ``next_ms`` on, and hidden changes."""

    def __init__(self, planned: Sequence[Damage], hidden: Sequence[Hidden] = ()) -> None:
        self.planned, self.hidden = list(planned), list(hidden)
        self.lost: list[Lost] = []
        self._taken: list[int] = []

    @property
    def next_ms(self) -> int:
        return self.planned[0].at_ms if self.planned else NEVER_MS

    def take(self, line: bytes, boot: int, seq: int) -> tuple[list[bytes], list[bytes]]:
        """(the remaining bytes of the line, the records that announce the loss)."""
        damage = self.planned[0]
        self._taken.append(seq)
        left = [line[: len(line) // 2] + b"\n"] if damage.kind == "corrupt" else []
        if len(self._taken) < damage.lost:
            return left, []
        self.lost += _in_a_row(damage.kind, boot, self._taken)
        del self.planned[0], self._taken[:]
        return left, [record("drop", lost=damage.lost)] if damage.kind == "drop" else []

    def hides(self, effect: Effect, boot: int, seq: int) -> bool:
        """Whether the effect's records, from ``seq`` on, are lost. They still take their sequence numbers."""
        found = next((one for one in self.hidden if (one.broker == effect.broker and one.at_ms <= effect.at_ms)), None)
        if found is None or not effect.records:
            return False
        self.hidden.remove(found)
        self.lost.append(Lost("hidden_change", boot, seq, len(effect.records)))
        return True


def _in_a_row(kind: str, boot: int, taken: Sequence[int]) -> Iterator[Lost]:
    """Records of another kind may lie between, and are not lost."""
    starts = [place for place, seq in enumerate(taken) if not place or seq != taken[place - 1] + 1]
    for start, end in zip(starts, [*starts[1:], len(taken)], strict=True):
        yield Lost(kind, boot, taken[start], end - start)
