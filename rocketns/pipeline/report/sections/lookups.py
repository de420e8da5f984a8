"""The section about lookups: which topics clients ask for, and which of them do not exist."""

from __future__ import annotations

from rocketns.languages import N_
from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, listed, meaning
from rocketns.pipeline.report.drawing.chart import ROWS_MAX, Chart, Series, bars
from rocketns.pipeline.report.drawing.svg import Drawing
from rocketns.pipeline.report.grid import Column
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.common import KIND, TOPIC, by_kind
from rocketns.pipeline.saying import _

CAPTIONS = (
    N_("Topics, by lookups"), N_("System topics and those of consumer groups (%RETRY%, %DLQ%), by lookups")
)  # fmt: skip


def lookups_section(data: ReportInput) -> Section:
    """Which topics clients look up, and which of these do not exist."""
    missing = (
        Column("hour", N_("Hour"), text.moment, unit="UTC"),
        TOPIC,
        Column("miss", N_("Answered “not exist”"), text.number, number=True),
        Column("n", N_("Of lookups"), text.number, number=True),
        Column("bound", N_("Usual at most"), text.number, number=True),
        Column("median", N_("Median before"), text.number, number=True),
        Column("mad", N_("Deviation before"), text.number, number=True),
        Column("ns", N_("Asked at"), text.names, wide=True),
        KIND,
    )
    empty = N_("No unusual number of lookups of missing topics.")
    hours = _hours(data)
    table = data["missing_topics"]
    answer = _.plural(
        "%(n)s topic hour with unusually many lookups of a topic that no broker had.",
        "%(n)s topic hours with unusually many lookups of a topic that no broker had.",
        hours,
    ) % {"n": f"{hours:,}"}
    blocks = [listed(N_("Missing topics"), meaning("missing_topics"), missing, table, empty), _hot(data)]
    return Section("lookups", answer, blocks)


def _hours(data: ReportInput) -> int:
    """How many hours of topics that are not the system's. The rows that were read may not have all of them."""
    table = data["missing_topics"]
    system = sum(row.get("topic_kind") == "system" for row in table.rows)
    return int(data.figures.get("missing_hours", table.total - system))


def _hot(data: ReportInput) -> Block:
    columns = (
        Column("rank", N_("Rank"), text.number, number=True),
        TOPIC,
        Column("n", N_("Lookups"), text.number, number=True),
        Column("per_s", N_("Each second"), text.number, number=True),
        Column("share", N_("Of all lookups"), text.percent, number=True),
        Column("miss", N_("Answered “not exist”"), text.number, number=True),
    )
    users = [row for row in data["hot_topics"].rows if row.get("kind", "user") == "user"]
    figures = [(_("Topics looked up most"), _hot_chart(Table.of(users)))] if users else []
    return Block(
        _("Hot topics"),
        meaning("hot_topics"),
        figures,
        by_kind(CAPTIONS, columns, data["hot_topics"]),
        _("No lookup was journalled."),
    )


def _hot_chart(users: Table) -> Drawing:
    rows = users.rows[:ROWS_MAX]
    return bars(
        Chart(
            "hot",
            _("Lookups of the %(n)s topics that were looked up most.") % {"n": len(rows)},
            [str(row["topic"]) for row in rows],
            [Series(_("lookups"), [row["n"] for row in rows])],
            _("lookups"),
            text.number,
        )
    )
