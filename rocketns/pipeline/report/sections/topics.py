"""The section about topics: which exist, which are dead, which are uneven."""

from __future__ import annotations

from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, meaning
from rocketns.pipeline.report.grid import Column, Grid, grid
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.common import KIND, TOPIC, by_kind
from rocketns.pipeline.report.text import plural


def topics_section(data: ReportInput) -> Section:
    """What topics there are, which are dead, which are skewed."""
    uneven, exact = _uneven(data["skew"])
    topics = data.figures.get("topics", _users(data["topic_inventory"]))
    dead = data.figures.get("dead_topics", _users(data["dead_topics"]))
    skewed = data.figures.get("uneven_topics", _users(uneven))
    exact = exact or "uneven_topics" in data.figures
    answer = (
        f"{plural(topics, 'user topic')}, {dead:,} dead, {'' if exact else 'at least '}{skewed:,} unevenly spread over "
        "brokers."
    )
    blocks = [
        Block("Dead topics", meaning("dead_topics"), grids=_dead(data), empty="No topic is known to be dead."),
        Block("Skew", meaning("skew"), grids=_skew(uneven), empty="Every topic is spread evenly over its brokers."),
        Block("Inventory", meaning("topic_inventory"), grids=_inventory(data), empty="No topic was registered."),
    ]
    return Section("topics", answer, blocks)


def _users(table: Table) -> int:
    return sum(row.get("kind", "user") == "user" for row in table.rows)


def _dead(data: ReportInput) -> list[Grid]:
    columns = (
        TOPIC,
        Column("queues", "Queues", text.number, number=True),
        Column("created", "First seen", text.moment, unit="UTC"),
        Column("last_lookup", "Last lookup", text.moment, unit="UTC"),
        Column("days", "Days without", text.number, number=True),
    )
    return by_kind("dead", columns, data["dead_topics"])


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
        Column("created", "First seen", text.moment, unit="UTC"),
        Column("removed", "Removed", text.moment, unit="UTC"),
    )
    days = (
        Column("day", "Day", unit="UTC"),
        KIND,
        Column("topics", "Topics", text.number, number=True),
        Column("queues", "Queues", text.number, number=True),
    )
    each_day = [grid("Topics and queues of each day", days, data["topic_days"])] if data["topic_days"] else []
    return [*each_day, *by_kind("at the end of the observation", columns, data["topic_inventory"])]


def _uneven(skew: Table) -> tuple[Table, bool]:
    """The rows with a skew above 1, and whether they are known to be all of them."""
    rows = [row for row in skew.rows if (row.get("skew") or 0) > 1]
    exact = len(rows) < len(skew.rows) or skew.is_whole
    return Table(rows, len(rows), skew.path), exact
