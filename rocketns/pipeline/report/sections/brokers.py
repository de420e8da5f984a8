"""The section about brokers: how steady they were, and how regular their heartbeats."""

from __future__ import annotations

from rocketns.pipeline.contract import meanings
from rocketns.pipeline.contract.defaults import TIMEOUT_MS
from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, listed, meaning
from rocketns.pipeline.report.drawing.chart import ROWS_MAX, Chart, Series, dots
from rocketns.pipeline.report.drawing.svg import Drawing
from rocketns.pipeline.report.grid import Column, grid
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.text import plural


def brokers_section(data: ReportInput) -> Section:
    """Which brokers come and go, and how regular their heartbeats are."""
    columns = (
        Column("broker", "Broker", wide=True),
        Column("bid", "Id", text.number, number=True),
        Column("addr", "Address"),
        Column("ns", "Name server"),
        Column("availability", "Availability", text.percent, number=True),
        Column("up_s", "Up", text.seconds, number=True),
        Column("failures", "Failures", text.number, number=True),
        Column("graceful", "Graceful", text.number, number=True),
        Column("flaps", "Flaps", text.number, number=True),
        Column("observed", "Cause not visible", text.number, number=True),
        Column("mtbf_s", "MTBF", text.seconds, number=True),
    )
    gaps = (
        *columns[:4],
        *(Column(f"gap_{q}", q, text.milliseconds, number=True) for q in ("p50", "p95", "p99", "max")),
        Column("gaps", "Gaps", text.number, number=True),
    )
    held = (
        Column("broker", "Broker", wide=True),
        Column("user_topics", "User topics", text.number, number=True),
        Column("queues", "Read queues", text.number, number=True),
        Column("topics", "All topics", text.number, number=True),
        Column("topic_sample", "Such as", lambda names: text.names(names, 3), wide=True),
    )
    blocks = [
        listed("Availability", meaning("broker_stats"), columns, data["broker_stats"], "No broker registered."),
        listed("What each broker holds", meaning("broker_load"), held, data["broker_load"], "No broker had a topic."),
    ]
    if data["broker_stats"]:
        figures = [("Heartbeat gaps, the longest first", _gap_chart(data))]
        table = grid("Heartbeat gaps, quantiles", gaps, _longest_gaps(data))
        blocks.append(Block("Heartbeat gaps", meanings.GAPS, figures, [table]))
    return Section("brokers", _broker_answer(data), blocks)


def _broker_answer(data: ReportInput) -> str:
    if not data["broker_stats"]:
        return "No broker registered in this time."
    lowest = data["broker_stats"].rows[0]
    name = f"{text.short(lowest['broker'])}:{lowest['bid']} at {text.short(lowest['ns'])}"
    known = {row["broker"] for row in data["broker_stats"].rows}
    brokers = data.figures.get("brokers", len(known))
    return (
        f"{plural(brokers, 'broker')}. Lowest availability: {name}, {text.percent(lowest['availability'])}."
        f"{_troubles(data['broker_stats'])}"
    )


def _troubles(stats: Table) -> str:
    """How many brokers failed at any name server; empty if the table was cut, since then the number is not known."""
    if stats.total > len(stats.rows):
        return ""
    failed, flapped = ({row["broker"] for row in stats.rows if row.get(key)} for key in ("failures", "flaps"))
    return f" {plural(len(failed), 'broker')} failed and {plural(len(flapped), 'broker')} flapped at some name server."


def _longest_gaps(data: ReportInput) -> Table:
    rows = sorted(data["broker_stats"].rows, key=lambda row: -(row.get("gap_max") or 0))
    return Table(tuple(rows), data["broker_stats"].total, data["broker_stats"].path)


def _gap_chart(data: ReportInput) -> Drawing:
    rows = _longest_gaps(data).rows[:ROWS_MAX]
    return dots(
        Chart(
            "gaps",
            f"Median, 99th percentile and maximum heartbeat gap of {len(rows)} brokers, against the timeout of 120 s.",
            [f"{row['broker']}:{row['bid']} at {row['ns']}" for row in rows],
            [
                Series("p50", [row.get("gap_p50") for row in rows]),
                Series("p99", [row.get("gap_p99") for row in rows]),
                Series("max", [row.get("gap_max") for row in rows]),
            ],
            "time between two heartbeats",
            text.milliseconds,
            (TIMEOUT_MS, "usual timeout"),
        )
    )
