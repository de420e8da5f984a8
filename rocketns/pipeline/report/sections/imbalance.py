"""The section about producers: which brokers got more or fewer messages than their share."""

from __future__ import annotations

from collections.abc import Sequence

from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, meaning
from rocketns.pipeline.report.drawing.chart import ROWS_MAX, Chart, Series, dots
from rocketns.pipeline.report.drawing.svg import Drawing
from rocketns.pipeline.report.grid import Column, grid
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.scripts import visible
from rocketns.pipeline.report.sections.common import WHEN, lasted
from rocketns.pipeline.report.text import plural


def imbalance_section(data: ReportInput) -> Section:
    """Which brokers got more or less than their share."""
    if not data["imbalance"]:
        block = Block("Producers", meaning("imbalance"), empty="No segment in which producers were spread unevenly.")
        return Section("imbalance", "The model found that every broker got its fair share.", [block])
    columns = (
        *WHEN,
        lasted(data),
        Column("topic", "Topic", wide=True),
        Column("broker", "Broker", wide=True),
        Column("share", "Share", text.percent, number=True),
        Column("fair", "Fair", text.percent, number=True),
        Column("tvd", "Tvd", text.percent, number=True),
        Column("peak", "Peak", text.number, number=True),
        Column("no_share_ns", "Views that can send nothing", _names_or_none, wide=True),
    )
    worst = data["imbalance"].rows[0]
    answer = (
        f"{plural(data['imbalance'].total, 'share')} of brokers in segments with differing views. The worst: "
        f"{text.percent(worst['tvd'])} of the messages of {text.short(worst['topic'])} went to the wrong broker."
    )
    table = grid("Shares of brokers in segments, the largest tvd first", columns, data["imbalance"])
    block = Block("Producers", meaning("imbalance"), [("The worst segment", _imbalance_chart(data))], [table])
    return Section("imbalance", answer, [block])


def _names_or_none(values: Sequence[str] | None) -> str:
    return text.names(values) if values else ""


def _imbalance_chart(data: ReportInput) -> Drawing:
    first = data["imbalance"].rows[0]
    rows = [r for r in data["imbalance"].rows if (r["topic"], r["t1"]) == (first["topic"], first["t1"])][:ROWS_MAX]
    return dots(
        Chart(
            "imbalance",
            f"Share and fair share of {len(rows)} brokers of topic {visible(first['topic'])}.",
            [str(row["broker"]) for row in rows],
            [Series("share", [row["share"] for row in rows]), Series("fair", [row["fair"] for row in rows])],
            f"part of the messages of {text.shortened(visible(first['topic']), 30)}",
            lambda value: f"{value:.0%}",
        )
    )
