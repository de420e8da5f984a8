"""The section about producers: which brokers got more or fewer messages than their share."""

from __future__ import annotations

from collections.abc import Sequence

from rocketns.languages import N_
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, meaning
from rocketns.pipeline.report.drawing.chart import ROWS_MAX, Chart, Series, dots
from rocketns.pipeline.report.drawing.svg import Drawing
from rocketns.pipeline.report.grid import Column, grid
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.scripts import visible
from rocketns.pipeline.report.sections.common import WHEN, lasted
from rocketns.pipeline.saying import _


def imbalance_section(data: ReportInput) -> Section:
    """Which brokers got more or less than their share."""
    if not data["imbalance"]:
        empty = _("No segment in which producers were spread unevenly.")
        block = Block(_("Producers"), meaning("imbalance"), empty=empty)
        return Section("imbalance", _("The model found that every broker got its fair share."), [block])
    columns = (
        *WHEN,
        lasted(data),
        Column("topic", N_("Topic"), wide=True),
        Column("broker", N_("Broker"), wide=True),
        Column("share", N_("Share"), text.percent, number=True),
        Column("fair", N_("Fair"), text.percent, number=True),
        Column("tvd", N_("Tvd"), text.percent, number=True),
        Column("peak", N_("Peak"), text.number, number=True),
        Column("no_share_ns", N_("Views that can send nothing"), _names_or_none, wide=True),
    )
    worst = data["imbalance"].rows[0]
    many = data["imbalance"].total
    answer = _.plural(
        "%(n)s share of brokers in segments with differing views. The worst: %(part)s of the messages of %(topic)s "
        "went to the wrong broker.",
        "%(n)s shares of brokers in segments with differing views. The worst: %(part)s of the messages of %(topic)s "
        "went to the wrong broker.",
        many,
    ) % {"n": f"{many:,}", "part": text.percent(worst["tvd"]), "topic": text.short(worst["topic"])}
    table = grid(N_("Shares of brokers in segments, the largest tvd first"), columns, data["imbalance"])
    block = Block(_("Producers"), meaning("imbalance"), [(_("The worst segment"), _imbalance_chart(data))], [table])
    return Section("imbalance", answer, [block])


def _names_or_none(values: Sequence[str] | None) -> str:
    return text.names(values) if values else ""


def _imbalance_chart(data: ReportInput) -> Drawing:
    first = data["imbalance"].rows[0]
    rows = [r for r in data["imbalance"].rows if (r["topic"], r["t1"]) == (first["topic"], first["t1"])][:ROWS_MAX]
    return dots(
        Chart(
            "imbalance",
            _("Share and fair share of %(n)s brokers of topic %(topic)s.")
            % {"n": len(rows), "topic": visible(first["topic"])},
            [str(row["broker"]) for row in rows],
            [Series(_("share"), [row["share"] for row in rows]), Series(_("fair"), [row["fair"] for row in rows])],
            _("part of the messages of %(topic)s") % {"topic": text.shortened(visible(first["topic"]), 30)},
            lambda value: f"{value:.0%}",
        )
    )
