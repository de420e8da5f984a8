"""The figures of one part: values by row, server and round, and the reason for each empty cell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from benchmarks.failures import EXPECTED, reason

Json = dict[str, Any]


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value with at least this share of all values at or below it. A late quantile of few values is the
    greatest of them."""
    return sorted(values)[math.ceil(share * len(values)) - 1 if share else 0]


@dataclass
class Row:
    """One figure of one measurement: for each server the values of the rounds, None for a missing one."""

    what: str
    unit: str
    values: dict[str, list[float | None]] = field(default_factory=dict)

    def add(self, server: str, round_number: int, value: float) -> None:
        rounds = self.values.setdefault(server, [])
        rounds += [None] * (round_number + 1 - len(rounds))
        rounds[round_number] = value

    def middle(self, server: str) -> float | None:
        """The median over the rounds."""
        found = [value for value in self.values.get(server, []) if value is not None]
        return median(found) if found else None

    def ratios(self, over: str, under: str) -> list[float]:
        """``over`` / ``under`` for each round that has both, sorted."""
        pairs = zip(self.values.get(over, []), self.values.get(under, []), strict=False)
        return sorted(a / b for a, b in pairs if a is not None and b)


@dataclass
class Record:
    """The rows of one part, in the order in which they were first measured, with notes and facts about them."""

    name: str
    title: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    # Why a server has no figures, or not all, in one row: by row, then by server.
    missing: dict[str, dict[str, str]] = field(default_factory=dict)
    # Servers that could not be measured in this part, or not to its end, and why.
    failed: dict[str, str] = field(default_factory=dict)

    def row(self, what: str, unit: str) -> Row:
        for row in self.rows:
            if (row.what, row.unit) == (what, unit):
                return row
        self.rows.append(Row(what, unit))
        return self.rows[-1]

    def find(self, what: str, unit: str) -> Row | None:
        return next((row for row in self.rows if (row.what, row.unit) == (what, unit)), None)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    @contextmanager
    def cell(self, server: str, round_number: int, what: str) -> Iterator[Cell]:
        """The figures of one measurement. An expected error inside is noted as the reason, and the run continues."""
        cell = Cell(self, server, round_number, what)
        try:
            yield cell
        except EXPECTED as error:
            cell.fail(reason(error))

    def is_hopeless(self, server: str, what: str) -> bool:
        """Whether a measurement has already failed on a server, so that it is not tried again."""
        return server in self.failed or server in self.missing.get(what, {})

    def to_json(self) -> Json:
        """The form in the result files."""
        return {key: value for key, value in asdict(self).items() if key != "name"}

    @classmethod
    def from_json(cls, name: str, data: Json) -> Record:
        """The reverse of ``to_json``."""
        return cls(name, **{**data, "rows": [Row(**row) for row in data["rows"]]})


@dataclass(frozen=True)
class Cell:
    """One measurement of one server in one round."""

    record: Record
    server: str
    round_number: int
    what: str

    def add(self, unit: str, value: float) -> None:
        self.record.row(self.what, unit).add(self.server, self.round_number, value)

    def fail(self, why: str) -> None:
        """Note the reason. This row is not measured again on this server; values of earlier rounds stay."""
        self.record.missing.setdefault(self.what, {})[self.server] = why
