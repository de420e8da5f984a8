"""The section about topics: which exist, which are dead, which are uneven."""

from __future__ import annotations

from rocketns.languages import N_
from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, meaning
from rocketns.pipeline.report.grid import Column, Grid, grid
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.common import KIND, TOPIC, by_kind
from rocketns.pipeline.saying import _

DEAD = N_("Topics, dead"), N_("System topics and those of consumer groups (%RETRY%, %DLQ%), dead")
UNEVEN = (
    N_("Topics, most uneven first"),
    N_("System topics and those of consumer groups (%RETRY%, %DLQ%), most uneven first"),
)
AT_THE_END = (
    N_("Topics, at the end of the observation"),
    N_("System topics and those of consumer groups (%RETRY%, %DLQ%), at the end of the observation"),
)


def topics_section(data: ReportInput) -> Section:
    """What topics there are, which are dead, which are skewed."""
    uneven, exact = _uneven(data["skew"])
    topics = data.figures.get("topics", _users(data["topic_inventory"]))
    dead = data.figures.get("dead_topics", _users(data["dead_topics"]))
    skewed = data.figures.get("uneven_topics", _users(uneven))
    exact = exact or "uneven_topics" in data.figures
    answer = (
        _("%(topics)s, %(dead)s dead, %(uneven)s unevenly spread over brokers.")
        if exact
        else _("%(topics)s, %(dead)s dead, at least %(uneven)s unevenly spread over brokers.")
    ) % {
        "topics": _.plural("%(n)s user topic", "%(n)s user topics", int(topics)) % {"n": f"{topics:,.0f}"},
        "dead": f"{dead:,}",
        "uneven": f"{skewed:,}",
    }
    blocks = [
        Block(_("Dead topics"), meaning("dead_topics"), grids=_dead(data), empty=_("No topic is known to be dead.")),
        Block(
            _("Skew"), meaning("skew"), grids=_skew(uneven), empty=_("Every topic is spread evenly over its brokers.")
        ),
        Block(_("Inventory"), meaning("topic_inventory"), grids=_inventory(data), empty=_("No topic was registered.")),
    ]
    return Section("topics", answer, blocks)


def _users(table: Table) -> int:
    return sum(row.get("kind", "user") == "user" for row in table.rows)


def _dead(data: ReportInput) -> list[Grid]:
    columns = (
        TOPIC,
        Column("queues", N_("Queues"), text.number, number=True),
        Column("created", N_("First seen"), text.moment, unit="UTC"),
        Column("last_lookup", N_("Last lookup"), text.moment, unit="UTC"),
        Column("days", N_("Days without"), text.number, number=True),
    )
    return by_kind(DEAD, columns, data["dead_topics"])


def _skew(uneven: Table) -> list[Grid]:
    columns = (
        TOPIC,
        Column("brokers", N_("Brokers"), text.number, number=True),
        Column("r_min", N_("Fewest queues"), text.number, number=True),
        Column("r_mean", N_("Mean"), text.number, number=True),
        Column("r_max", N_("Most queues"), text.number, number=True),
        Column("skew", N_("Skew"), text.number, number=True),
    )
    return by_kind(UNEVEN, columns, uneven)


def _inventory(data: ReportInput) -> list[Grid]:
    columns = (
        TOPIC,
        Column("brokers", N_("Brokers"), text.number, number=True),
        Column("queues", N_("Queues"), text.number, number=True),
        Column("created", N_("First seen"), text.moment, unit="UTC"),
        Column("removed", N_("Removed"), text.moment, unit="UTC"),
    )
    days = (
        Column("day", N_("Day"), unit="UTC"),
        KIND,
        Column("topics", N_("Topics"), text.number, number=True),
        Column("queues", N_("Queues"), text.number, number=True),
    )
    each_day = [grid(N_("Topics and queues of each day"), days, data["topic_days"])] if data["topic_days"] else []
    return [*each_day, *by_kind(AT_THE_END, columns, data["topic_inventory"])]


def _uneven(skew: Table) -> tuple[Table, bool]:
    """The rows with a skew above 1, and whether they are known to be all of them."""
    rows = [row for row in skew.rows if (row.get("skew") or 0) > 1]
    exact = len(rows) < len(skew.rows) or skew.is_whole
    return Table(rows, len(rows), skew.path), exact
