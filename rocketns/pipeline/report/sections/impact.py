"""The section about consumers: which queues nobody consumed, and which were taken twice."""

from __future__ import annotations

from rocketns.languages import N_
from rocketns.pipeline.contract.tables import Row
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, meaning
from rocketns.pipeline.report.drawing.chart import ROWS_MAX, Chart, Series, bars
from rocketns.pipeline.report.drawing.svg import Drawing
from rocketns.pipeline.report.grid import Column, grid
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.common import WHEN, lasted
from rocketns.pipeline.saying import _


def impact_section(data: ReportInput) -> Section:
    """Which queues nobody consumed, and which were consumed twice."""
    if not data["impact"]:
        empty = _("No segment in which a group's queues were at risk.")
        block = Block(_("Consumers"), meaning("impact"), empty=empty)
        answer = _("No segment was modelled, so no queue is known to be orphaned or taken twice.")
        return Section("impact", answer, [block])
    columns = (
        *WHEN,
        lasted(data),
        Column("topic", N_("Topic"), wide=True),
        Column("strategy", N_("Group"), _group, wide=True, whole=True),
        Column("queues", N_("Queues"), text.number, number=True),
        _pair(N_("Orphaned, mean / max"), "orphaned"),
        _pair(N_("queue-seconds"), "orphaned_qs"),
        Column("orphaned_ids", N_("Orphaned queues"), text.queue_ids, wide=True),
        _pair(N_("Taken twice, mean / max"), "dup"),
        _pair(N_("queue-seconds"), "dup_qs"),
        Column("dup_ids", N_("Queues taken twice"), text.queue_ids, wide=True),
    )
    table = grid(N_("Segments of a topic with constant views, the worst first"), columns, data["impact"])
    block = Block(_("Consumers"), meaning("impact"), [(_("Worst segment of each topic"), _impact_chart(data))], [table])
    return Section("impact", _impact_answer(data), [block])


def _group(row: Row) -> str:
    is_real = row.get("assignments") == "real"
    shown = {"n": row["c"], "strategy": row["strategy"]}
    spread = (
        _("%(n)s consumers, %(strategy)s, real spread") if is_real else (_("%(n)s consumers, %(strategy)s, any spread"))
    ) % shown
    spread = _("%(spread)s, capped") % {"spread": spread} if row.get("capped") else spread
    return f"{row['group']}: {spread}" if row.get("group") else spread


def _pair(label: str, stem: str) -> Column:
    def show(row: Row) -> str:
        return f"{text.number(row.get(f'{stem}_mean'))} / {text.number(row.get(f'{stem}_max'))}"

    return Column(f"{stem}_max", label, show, number=True, whole=True)


def _impact_answer(data: ReportInput) -> str:
    worst = data["impact"].rows[0]
    if not worst["orphaned_max"] and not worst["dup_max"]:
        return _("Views differed, but the model found no queue that was orphaned or taken twice.")
    many = data["impact"].total
    return text.sentences(
        _.plural(
            "%(n)s result for segments, strategies and group sizes.",
            "%(n)s results for segments, strategies and group sizes.",
            many,
        )
        % {"n": f"{many:,}"},
        _(
            "The worst: %(topic)s with %(orphaned)s of %(queues)s queues orphaned and %(twice)s taken twice for "
            "%(length)s (%(strategy)s, %(consumers)s consumers)."
        )
        % {
            "topic": text.short(worst["topic"]), "orphaned": text.number(worst["orphaned_max"]),
            "queues": worst["queues"], "twice": text.number(worst["dup_max"]), "strategy": worst["strategy"],
            "length": text.microseconds(worst["t2"] - worst["t1"]), "consumers": worst["c"],
        },
    )  # fmt: skip


def _impact_chart(data: ReportInput) -> Drawing:
    worst: dict[str, Row] = {}
    for row in data["impact"].rows:
        worst.setdefault(str(row["topic"]), row)
    rows = list(worst.values())[:ROWS_MAX]
    return bars(
        Chart(
            "impact",
            _("Queue-seconds orphaned and taken twice in the worst segment of each of %(n)s topics.")
            % {"n": len(rows)},
            [
                _("%(topic)s (%(strategy)s, %(n)s consumers)")
                % {"topic": row["topic"], "strategy": row["strategy"], "n": row["c"]}
                for row in rows
            ],
            [
                Series(_("orphaned"), [row["orphaned_qs_max"] for row in rows]),
                Series(_("taken twice"), [row["dup_qs_max"] for row in rows]),
            ],
            _("queue-seconds, maximum over all spreads"),
            text.number,
        )
    )
