"""The section about lookups: which topics clients ask for, and which of them do not exist."""

from __future__ import annotations

from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, listed, meaning
from rocketns.pipeline.report.drawing.chart import ROWS_MAX, Chart, Series, bars
from rocketns.pipeline.report.drawing.svg import Drawing
from rocketns.pipeline.report.grid import Column
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.common import KIND, TOPIC, by_kind
from rocketns.pipeline.report.text import plural


def lookups_section(data: ReportInput) -> Section:
    """Which topics clients look up, and which of these do not exist."""
    missing = (
        Column("hour", "Hour", text.moment, unit="UTC"),
        TOPIC,
        Column("miss", "Answered “not exist”", text.number, number=True),
        Column("n", "Of lookups", text.number, number=True),
        Column("bound", "Usual at most", text.number, number=True),
        Column("median", "Median before", text.number, number=True),
        Column("mad", "Deviation before", text.number, number=True),
        Column("ns", "Asked at", text.names, wide=True),
        KIND,
    )
    empty = "No unusual number of lookups of missing topics."
    hours = plural(_hours(data), "topic hour")
    blocks = [listed("Missing topics", meaning("missing_topics"), missing, data["missing_topics"], empty), _hot(data)]
    return Section("lookups", f"{hours} with unusually many lookups of a topic that no broker had.", blocks)


def _hours(data: ReportInput) -> int:
    """How many hours of topics that are not the system's. The rows that were read may not have all of them."""
    table = data["missing_topics"]
    system = sum(row.get("topic_kind") == "system" for row in table.rows)
    return int(data.figures.get("missing_hours", table.total - system))


def _hot(data: ReportInput) -> Block:
    columns = (
        Column("rank", "Rank", text.number, number=True),
        TOPIC,
        Column("n", "Lookups", text.number, number=True),
        Column("per_s", "Each second", text.number, number=True),
        Column("share", "Of all lookups", text.percent, number=True),
        Column("miss", "Answered “not exist”", text.number, number=True),
    )
    users = [row for row in data["hot_topics"].rows if row.get("kind", "user") == "user"]
    figures = [("Topics looked up most", _hot_chart(Table.of(users)))] if users else []
    return Block(
        "Hot topics",
        meaning("hot_topics"),
        figures,
        by_kind("by lookups", columns, data["hot_topics"]),
        "No lookup was journalled.",
    )


def _hot_chart(users: Table) -> Drawing:
    rows = users.rows[:ROWS_MAX]
    return bars(
        Chart(
            "hot",
            f"Lookups of the {len(rows)} topics that were looked up most.",
            [str(row["topic"]) for row in rows],
            [Series("lookups", [row["n"] for row in rows])],
            "lookups",
            text.number,
        )
    )
