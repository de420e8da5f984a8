"""A result table as plain rows, for the report: the important rows, and how many there are in all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]

# The list of incidents is made from these rows; the page shows fewer of most tables, and charts need no more.
ROWS_COLLECTED_MAX = 10_000


@dataclass(frozen=True)
class Table:
    """Rows of one result table, the important ones first. ``total``: rows of the whole table; ``path``: its place
    relative to the page (Parquet), '' if it is nowhere."""

    rows: Sequence[Row] = ()
    total: int = 0
    path: str = ""

    @classmethod
    def of(cls, data: Iterable[Row], total: int | None = None, path: str = "") -> Table:
        """A table from its rows; without ``total`` they are all there are."""
        rows = tuple(data)
        return cls(rows, len(rows) if total is None else total, path)

    @property
    def is_whole(self) -> bool:
        """Whether all rows are here."""
        return len(self.rows) >= self.total

    def __bool__(self) -> bool:
        return self.total > 0
