"""The sections about topics: what there is, what is dead or uneven, what clients ask for."""

from __future__ import annotations

from collections.abc import Sequence

from rocketns.pipeline.contract import meanings
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, listed, plural
from rocketns.pipeline.report.drawing.chart import ROWS_MAX, Chart, Series, bars
from rocketns.pipeline.report.drawing.svg import Drawing
from rocketns.pipeline.report.grid import Column, Grid, grid
from rocketns.pipeline.report.model import ReportInput, Row, Table

TOPIC = Column("topic", "Topic", wide=True)
KIND = Column("kind", "Kind")


def topics_section(data: ReportInput) -> Section:
    """What topics there are, which are dead, which are skewed."""
    uneven, exact = _uneven(data.skew)
    answer = (
        f"{plural(data.topic_inventory.total, 'topic')}, {data.dead_topics.total:,} dead, "
        f"{'' if exact else 'at least '}{uneven.total:,} unevenly spread over brokers."
    )
    blocks = [
        Block("Dead topics", meanings.DEAD, grids=_dead(data), empty="No topic is known to be dead."),
        Block("Skew", meanings.SKEW, grids=_skew(uneven), empty="Every topic is spread evenly over its brokers."),
        Block("Inventory", meanings.INVENTORY, grids=_inventory(data), empty="No topic was registered."),
    ]
    return Section("topics", "Topics", answer, blocks)


def _dead(data: ReportInput) -> list[Grid]:
    columns = (
        TOPIC,
        Column("queues", "Queues", text.number, number=True),
        Column("created", "First seen (UTC)", text.moment),
        Column("last_lookup", "Last lookup (UTC)", text.moment),
        Column("days", "Days without", text.number, number=True),
    )
    return by_kind("dead", columns, data.dead_topics)


def _skew(uneven: Table) -> list[Grid]:
    columns = (
        TOPIC,
        Column("brokers", "Brokers", text.number, number=True),
        Column("r_min", "Fewest queues", text.number, number=True),
        Column("r_mean", "Mean", text.number, number=True),
        Column("r_max", "Most queues", text.number, number=True),
        Column("skew", "Skew", text.number, number=True),
    )
    return by_kind("most uneven first", columns, uneven)


def _inventory(data: ReportInput) -> list[Grid]:
    columns = (
        TOPIC,
        Column("brokers", "Brokers", text.number, number=True),
        Column("queues", "Queues", text.number, number=True),
        Column("created", "First seen (UTC)", text.moment),
        Column("removed", "Removed (UTC)", text.moment),
    )
    days = (
        Column("day", "Day (UTC)"),
        KIND,
        Column("topics", "Topics", text.number, number=True),
        Column("queues", "Queues", text.number, number=True),
    )
    each_day = [grid("Topics and queues of each day", days, data.topic_days)] if data.topic_days else []
    return [*each_day, *by_kind("at the end of the observation", columns, data.topic_inventory)]


def _uneven(skew: Table) -> tuple[Table, bool]:
    """The rows with a skew above 1, and whether they are known to be all of them."""
    rows = [row for row in skew.rows if (row.get("skew") or 0) > 1]
    exact = len(rows) < len(skew.rows) or len(skew.rows) >= skew.total
    return Table(rows, len(rows), skew.path), exact


def by_kind(what: str, columns: Sequence[Column], table: Table) -> list[Grid]:
    """The topics of users, then in a table of their own system topics and those that consumer groups make."""
    if not table:
        return []
    parts: tuple[list[Row], list[Row]] = ([], [])
    for row in table.rows:
        parts[row.get("kind", "user") != "user"].append(row)
    beyond = table.total - len(table.rows)
    users = Table(parts[0], len(parts[0]) + beyond, table.path)
    others = Table(parts[1], len(parts[1]), table.path)
    grids = [grid(f"Topics, {what}", columns, users)] if users else []
    apart = f"System topics and those of consumer groups (%RETRY%, %DLQ%), {what}"
    return [*grids, *([grid(apart, (KIND, *columns), others)] if others else [])]


def lookups_section(data: ReportInput) -> Section:
    """Which topics clients ask for, and which they ask for in vain."""
    missing = (
        Column("hour", "Hour (UTC)", text.moment),
        TOPIC,
        Column("miss", "Answered “not exist”", text.number, number=True),
        Column("n", "Of lookups", text.number, number=True),
        Column("bound", "Usual at most", text.number, number=True),
        Column("median", "Median before", text.number, number=True),
        Column("mad", "Deviation before", text.number, number=True),
        Column("ns", "Asked at", text.names, wide=True),
        KIND,
    )
    empty = "No unusual number of lookups in vain."
    hours = plural(data.missing_topics.total, "topic hour")
    blocks = [listed("Missing topics", meanings.MISSING, missing, data.missing_topics, empty), _hot(data)]
    return Section("lookups", "Lookups", f"{hours} with unusually many lookups of a topic that no broker had.", blocks)


def _hot(data: ReportInput) -> Block:
    columns = (
        Column("rank", "Rank", text.number, number=True),
        TOPIC,
        Column("n", "Lookups", text.number, number=True),
        Column("per_s", "Each second", text.number, number=True),
        Column("share", "Of all lookups", text.percent, number=True),
        Column("miss", "Answered “not exist”", text.number, number=True),
    )
    users = [row for row in data.hot_topics.rows if row.get("kind", "user") == "user"]
    figures = [("Topics looked up most", _hot_chart(Table.of(users)))] if users else []
    return Block(
        "Hot topics",
        meanings.LOOKUPS,
        figures,
        by_kind("by lookups", columns, data.hot_topics),
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
