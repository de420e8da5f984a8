"""Tables of the page: their columns, their values as text, and where they are cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rocketns.pipeline.contract.tables import Row, Table
from rocketns.pipeline.report.text import plain

ROWS_OPEN = 10  # the rest is folded
ROWS_MAX = 200  # the page ends here; the whole table is beside the page
CELL_MAX = 600  # characters of one cell


@dataclass(frozen=True)
class Column:
    """One column: its key in a row, its heading, how a value is shown. ``wide`` columns may wrap; numbers are aligned
    to the right. ``whole`` passes the row to ``show`` instead of the value."""

    key: str
    label: str
    show: Callable[[Any], str] = plain
    number: bool = False
    wide: bool = False
    whole: bool = False


@dataclass(frozen=True)
class Grid:
    """A table ready for the page: texts only."""

    caption: str
    columns: Sequence[Column]
    open_rows: Sequence[Sequence[str]]
    folded_rows: Sequence[Sequence[str]]
    missing: int
    path: str


def grid(caption: str, columns: Sequence[Column], table: Table) -> Grid:
    """The first rows of a table as text, without the columns that no row has."""
    rows = table.rows[:ROWS_MAX]
    kept = [c for c in columns if c.whole or any(row.get(c.key) is not None for row in rows)]
    texts = [[cell(column, row) for column in kept] for row in rows]
    return Grid(
        caption, kept, texts[:ROWS_OPEN], texts[ROWS_OPEN:], max(table.total, len(table.rows)) - len(rows), table.path
    )


def cell(column: Column, row: Row) -> str:
    """One value as text, cut at CELL_MAX."""
    text = column.show(row) if column.whole else column.show(row.get(column.key))
    return text if len(text) <= CELL_MAX else text[: CELL_MAX - 1] + "…"
