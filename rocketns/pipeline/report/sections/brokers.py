"""The sections about brokers and the journals themselves."""

from __future__ import annotations

from collections import Counter

from rocketns.pipeline.contract import meanings
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, listed, plural
from rocketns.pipeline.report.drawing.chart import ROWS_MAX, Chart, Series, dots
from rocketns.pipeline.report.drawing.svg import Drawing
from rocketns.pipeline.report.grid import Column, grid
from rocketns.pipeline.report.model import ReportInput, Table

TIMEOUT_MS = 120_000


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
        Column("mtbf_s", "MTBF", text.seconds, number=True),
    )
    gaps = (
        *columns[:4],
        *(Column(f"gap_{q}", q, text.milliseconds, number=True) for q in ("p50", "p95", "p99", "max")),
        Column("gaps", "Gaps", text.number, number=True),
    )
    blocks = [listed("Availability", meanings.BROKERS, columns, data.broker_stats, "No broker registered.")]
    if data.broker_stats:
        figures = [("Heartbeat gaps, the longest first", _gap_chart(data))]
        table = grid("Heartbeat gaps, quantiles", gaps, _longest_gaps(data))
        blocks.append(Block("Heartbeat gaps", meanings.GAPS, figures, [table]))
    return Section("brokers", "Brokers", _broker_answer(data), blocks)


def _broker_answer(data: ReportInput) -> str:
    if not data.broker_stats:
        return "No broker registered in this time."
    lowest = data.broker_stats.rows[0]
    name = f"{text.short(lowest['broker'])}:{lowest['bid']} at {text.short(lowest['ns'])}"
    return (
        f"{plural(data.broker_stats.total, 'broker address', 'broker addresses')} at name servers. Lowest "
        f"availability: {name}, {text.percent(lowest['availability'])}.{_troubles(data.broker_stats)}"
    )


def _troubles(stats: Table) -> str:
    """How often brokers failed, where all rows are there to be added."""
    if stats.total > len(stats.rows):
        return ""
    failures, flaps = (sum(row.get(key) or 0 for row in stats.rows) for key in ("failures", "flaps"))
    return f" {plural(failures, 'failure')} and {plural(flaps, 'flap')} as name servers saw them."


def _longest_gaps(data: ReportInput) -> Table:
    rows = sorted(data.broker_stats.rows, key=lambda row: -(row.get("gap_max") or 0))
    return Table(tuple(rows), data.broker_stats.total, data.broker_stats.path)


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


def departures_section(data: ReportInput) -> Section:
    """How brokers left."""
    columns = (
        Column("t1", "From (UTC)", text.moment),
        Column("t2", "To (UTC)", text.moment),
        Column("broker", "Broker", wide=True),
        Column("cluster", "Cluster", wide=True),
        Column("kind", "Kind", text.kind, wide=True),
        Column("ns", "Seen by", text.names, wide=True),
        Column("bids", "Broker ids", text.names),
    )
    answer = "No broker left."
    if data.departures:
        kinds = Counter(str(row["kind"]) for row in data.departures.rows)
        cut = data.departures.total > len(data.departures.rows)
        known = ", ".join(f"{count:,} {name}" for name, count in sorted(kinds.items()))
        answer = f"{plural(data.departures.total, 'departure')}{', of those listed' if cut else ''}: {known}."
    block = listed("Departures", meanings.DEPARTURES, columns, data.departures, "No broker left.")
    return Section("departures", "Departures", answer, [block])


def quality_section(data: ReportInput) -> Section:
    """What was read, and what is missing from it."""
    sources = (
        Column("ns", "Name server", wide=True),
        Column("files", "Files", text.number, number=True),
        Column("events", "Events", text.number, number=True),
        Column("first", "First (UTC)", text.moment),
        Column("last", "Last (UTC)", text.moment),
        Column("offset_us", "Clock offset", _offset, number=True),
        Column("corrupt", "Corrupt lines", text.number, number=True),
        Column("lost", "Lost records", text.number, number=True),
    )
    faults = (
        Column("kind", "What"),
        Column("ns", "Name server", wide=True),
        Column("boot", "Boot"),
        Column("t1", "From (UTC)", text.moment),
        Column("t2", "To (UTC)", text.moment),
        Column("n", "Count", text.number, number=True),
        Column("detail", "Detail", wide=True),
    )
    answer = "Nothing is missing from the journals that were read."
    if data.incomplete:
        answer = "The input is incomplete: " + " ".join(data.incomplete)
    blocks = [
        listed("Faults of the input", meanings.QUALITY, faults, data.quality, "No lost record, hole or corrupt line."),
        listed("What was read", meanings.SOURCES, sources, data.sources, "Nothing was read."),
    ]
    return Section("quality", "Data quality", answer, blocks)


def _offset(us: float | None) -> str:
    return text.NONE if us is None else f"{us / 1_000:+,.0f} ms"
