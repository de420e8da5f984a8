"""Tables of the page: which columns a table has, how its values read, and where it is cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rocketns.pipeline.report.model import Row, Table
from rocketns.pipeline.report.text import plain

ROWS_OPEN = 10  # the rest is folded
ROWS_MAX = 200  # and ends here; the whole table lies beside the page
CELL_MAX = 600  # characters of one cell


@dataclass(frozen=True)
class Column:
    """One column: the key in a row, what stands above it, how a value reads; ``wide`` may break, numbers stand right.
    ``whole`` gives ``show`` the row instead of the value."""

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
