"""Columns and tables that several sections have."""

from __future__ import annotations

from collections.abc import Sequence

from rocketns.languages import N_
from rocketns.pipeline.contract.tables import Row, Table
from rocketns.pipeline.report import text
from rocketns.pipeline.report.grid import TOPICS_MAX, Column, Grid, grid
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.saying import _

WHEN = (Column("t1", N_("From"), text.moment, unit="UTC"),)


def _earlier(row: Row) -> str:
    """``5 s; 30 s``: by how much earlier its beginning and its end may have been."""
    early = [row.get(name) or 0 for name in ("t1_early", "t2_early")]
    return "; ".join(text.microseconds(us) if us else "0" for us in early) if any(early) else text.NONE


EARLIER = Column("t1_early", N_("Or earlier by"), _earlier, number=True, whole=True)
TOPIC = Column("topic", N_("Topic"), wide=True)


KIND = Column("kind", N_("Kind"), text.code)


def lasted(data: ReportInput) -> Column:
    """How long a row lasted, and whether it was still open at the end of the observation."""

    def show(row: Row) -> str:
        length = text.microseconds(row["t2"] - row["t1"])
        return _("%(length)s, open at the end") % {"length": length} if row["t2"] >= data.t1 else length

    return Column("t2", N_("Lasted"), show, number=True, whole=True, sort=lambda row: row["t2"] - row["t1"])


def by_kind(captions: tuple[str, str], columns: Sequence[Column], table: Table) -> list[Grid]:
    """A table of user topics, and one of system topics and topics of consumer groups, with these captions."""
    if not table:
        return []
    parts: tuple[list[Row], list[Row]] = ([], [])
    for row in table.rows:
        parts[row.get("kind", "user") != "user"].append(row)
    beyond = table.total - len(table.rows)
    users = Table(parts[0], len(parts[0]) + beyond, table.path)
    others = Table(parts[1], len(parts[1]), table.path)
    grids = [grid(captions[0], columns, users, TOPICS_MAX)] if users else []
    return [*grids, *([grid(captions[1], (KIND, *columns), others)] if others else [])]
