"""What happens to a journal itself: heartbeats that are lost, so that nothing else is hidden by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rocketns.pipeline.fleet.effects import record
from rocketns.pipeline.fleet.plan import Damage

NEVER_MS = 1 << 62


class Lost(NamedTuple):
    """Records that are missing from a journal: ``kind`` is corrupt, hole or drop."""

    kind: str
    boot: int
    first_seq: int
    lost: int


class Damager:
    """Takes heartbeats from ``next_ms`` on."""

    def __init__(self, planned: Sequence[Damage]) -> None:
        self.planned = list(planned)
        self.lost: list[Lost] = []
        self._first_seq, self._taken = 0, 0

    @property
    def next_ms(self) -> int:
        return self.planned[0].at_ms if self.planned else NEVER_MS

    def take(self, line: bytes, boot: int, seq: int) -> tuple[list[bytes], list[bytes]]:
        """(what is left of the line, records that tell of the loss)."""
        damage = self.planned[0]
        self._first_seq = self._first_seq or seq
        self._taken += 1
        left = [line[: len(line) // 2] + b"\n"] if damage.kind == "corrupt" else []
        if self._taken < damage.lost:
            return left, []
        self.lost.append(Lost(damage.kind, boot, self._first_seq, damage.lost))
        del self.planned[0]
        self._first_seq, self._taken = 0, 0
        return left, [record("drop", lost=damage.lost)] if damage.kind == "drop" else []
