"""Tables of the page: their columns, their values as text, where they are cut, and which incident a row belongs to."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from rocketns.pipeline.contract.tables import Row, Table
from rocketns.pipeline.contract.terms import HOUR_US, SECOND_US
from rocketns.pipeline.incidents.harm import NAME_SERVER
from rocketns.pipeline.incidents.model import Incident
from rocketns.pipeline.report.cards import in_page
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.text import moment, plain, visible
from rocketns.pipeline.saying import _

ROWS_OPEN = 10  # in the page as HTML; the rest is data that the page's script shows
ROWS_MAX = 2_000  # the page ends here; the whole table is beside the page
NOTHING: tuple[Any, ...] = (None, [], ())
CELL_MAX = 600  # characters of one cell


SLACK_US = 60 * SECOND_US
# What a row is about: the first of these columns that it has, the last one only with the end of a name server.
SUBJECTS = ("broker", "topic", "ns")


class Links:
    """A row is matched by what it is about, and by a time; without a time it belongs to the worst incident."""

    def __init__(self, data: ReportInput) -> None:
        self._by_name: defaultdict[tuple[str, str], list[tuple[str, Incident]]] = defaultdict(list)
        for anchor, incident in in_page(data):
            servers = incident.ns[:1] if incident.kind in NAME_SERVER else ()
            topics = dict.fromkeys((*incident.harm.sample, incident.topic))
            for subject, names in zip(SUBJECTS, (incident.brokers, topics, servers), strict=True):
                for name in names:
                    self._by_name[subject, name].append((anchor, incident))

    def of(self, row: Row) -> str:
        """The anchor of the row's incident, or ''."""
        subject = next((one for one in SUBJECTS if row.get(one) is not None), "")
        if subject == "ns" and row.get("end_cause") is None:
            return ""
        candidates, span = self._by_name.get((subject, str(row.get(subject))), ()), _span(row)
        if span is None:
            return candidates[0][0] if candidates else ""
        t1, t2 = span[0] - SLACK_US, span[1] + SLACK_US
        near = ((abs(one.t1 - span[0]), anchor) for anchor, one in candidates if one.t1 <= t2 and one.t2 >= t1)
        return min(near, default=(0, ""))[1]


def _span(row: Row) -> tuple[int, int] | None:
    if row.get("hour") is not None:
        return int(row["hour"]), int(row["hour"]) + HOUR_US
    if row.get("t1") is None or row.get("t2") is None:
        return None
    # where something ended, that is what went wrong
    return int(row["t2" if row.get("end_cause") is not None else "t1"]), int(row["t2"])


@dataclass(frozen=True)
class Column:
    """One column: its key in a row, its heading with its unit, how a value is shown. ``wide`` columns may wrap; numbers
    are aligned to the right. ``whole`` passes the row to ``show`` instead of the value. ``sort``: what rows are sorted
    by, by default the value if it is a number, else the text. ``most``: the value of a bar as wide as the column; 0
    without bars."""

    key: str
    label: str
    show: Callable[[Any], str] = plain
    number: bool = False
    wide: bool = False
    whole: bool = False
    unit: str = ""
    sort: Callable[[Row], float | None] | None = None
    most: float = 0

    @property
    def style(self) -> str:
        return "bar n" if self.most else "n" if self.number else "w" if self.wide else ""


@dataclass(frozen=True)
class Grid:
    """A table ready for the page. ``name`` is its anchor; ``refs``: of each row the anchor of its incident, or '';
    ``total``: rows of the whole table."""

    caption: str
    meaning: str
    name: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    texts: Sequence[Sequence[str]]
    refs: Sequence[str]
    total: int
    path: str

    @property
    def linked(self) -> bool:
        return any(self.refs)

    def part(self, row: int, column: Column) -> float:
        """The width of a bar in per cent."""
        return round(min(100, 100 * (self.rows[row].get(column.key) or 0) / column.most), 2)


def grid(
    caption: str, meaning: str, columns: Sequence[Column], table: Table, links: Links, rows_max: int = ROWS_MAX
) -> Grid:
    """The first rows of a table as text, without the columns that no row has. ``caption``, ``meaning`` and labels are
    messages; the anchor of the table is that of the English caption."""
    rows = table.rows[:rows_max]
    kept = [c for c in columns if c.whole or any(row.get(c.key) not in NOTHING for row in rows)]
    kept = [replace(column, label=_(column.label)) for column in kept]
    texts = [[cell(column, row) for column in kept] for row in rows]
    refs, total = [links.of(row) for row in rows], max(table.total, len(table.rows))
    return Grid(_(caption), _(meaning), slug(caption), kept, rows, texts, refs, total, table.path)


def cell(column: Column, row: Row) -> str:
    """One value as text, cut at CELL_MAX."""
    text = visible(column.show(row) if column.whole else column.show(row.get(column.key)))
    return text if len(text) <= CELL_MAX else text[: CELL_MAX - 1] + "…"


def slug(caption: str) -> str:
    """``Topics, most uneven first`` → ``t-topics-most-uneven-first``."""
    return "t-" + "-".join(islice(re.findall(r"[a-z0-9]+", caption.lower()), 6))


def packed(grid: Grid) -> dict[str, Any]:
    """The table as data for the page's script: of each column its distinct values, and which of them each row has.
    A value is its text, or [text, number] if rows are sorted by the number."""
    return {
        "name": grid.name,
        "columns": [_packed(column, place, grid) for place, column in enumerate(grid.columns)],
        "refs": grid.refs if grid.linked else [],
    }


def _packed(column: Column, place: int, grid: Grid) -> dict[str, Any]:
    known: dict[tuple[str, float | None], int] = {}
    each = [
        known.setdefault((texts[place], _sort(column, row)), len(known))
        for texts, row in zip(grid.texts, grid.rows, strict=True)
    ]
    return {
        "label": column.label,
        "style": column.style,
        "most": column.most,
        "values": [text if number is None else [text, number] for text, number in known],
        "rows": each,
    }


def _sort(column: Column, row: Row) -> float | None:
    if column.show is moment:  # its text sorts by time
        return None
    value = column.sort(row) if column.sort else row.get(column.key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
