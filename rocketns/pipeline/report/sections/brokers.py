"""The section about brokers: how steady they were, and how regular their heartbeats."""

from __future__ import annotations

from rocketns.languages import N_
from rocketns.pipeline.contract import meanings
from rocketns.pipeline.contract.defaults import TIMEOUT_MS
from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, listed, meaning
from rocketns.pipeline.report.drawing.chart import ROWS_MAX, Chart, Series, dots
from rocketns.pipeline.report.drawing.svg import Drawing
from rocketns.pipeline.report.grid import Column, grid
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.saying import _


def brokers_section(data: ReportInput) -> Section:
    """Which brokers come and go, and how regular their heartbeats are."""
    columns = (
        Column("broker", N_("Broker"), wide=True),
        Column("bid", N_("Id"), text.number, number=True),
        Column("addr", N_("Address")),
        Column("ns", N_("Name server")),
        Column("availability", N_("Availability"), text.percent, number=True),
        Column("up_s", N_("Up"), text.seconds, number=True),
        Column("failures", N_("Failures"), text.number, number=True),
        Column("graceful", N_("Graceful"), text.number, number=True),
        Column("flaps", N_("Flaps"), text.number, number=True),
        Column("observed", N_("Cause not visible"), text.number, number=True),
        Column("mtbf_s", N_("MTBF"), text.seconds, number=True),
    )
    gaps = (
        *columns[:4],
        *(Column(f"gap_{q}", q, text.milliseconds, number=True) for q in ("p50", "p95", "p99", "max")),
        Column("gaps", N_("Gaps"), text.number, number=True),
    )
    held = (
        Column("broker", N_("Broker"), wide=True),
        Column("user_topics", N_("User topics"), text.number, number=True),
        Column("queues", N_("Read queues"), text.number, number=True),
        Column("topics", N_("All topics"), text.number, number=True),
        Column("topic_sample", N_("Such as"), lambda names: text.names(names, 3), wide=True),
    )
    blocks = [
        listed(N_("Availability"), meaning("broker_stats"), columns, data["broker_stats"], N_("No broker registered.")),
        listed(
            N_("What each broker holds"),
            meaning("broker_load"),
            held,
            data["broker_load"],
            N_("No broker had a topic."),
        ),
    ]
    if data["broker_stats"]:
        figures = [(_("Heartbeat gaps, the longest first"), _gap_chart(data))]
        table = grid(N_("Heartbeat gaps, quantiles"), gaps, _longest_gaps(data))
        blocks.append(Block(_("Heartbeat gaps"), meanings.GAPS, figures, [table]))
    return Section("brokers", _broker_answer(data), blocks)


def _broker_answer(data: ReportInput) -> str:
    if not data["broker_stats"]:
        return _("No broker registered in this time.")
    lowest = data["broker_stats"].rows[0]
    known = {row["broker"] for row in data["broker_stats"].rows}
    brokers = int(data.figures.get("brokers", len(known)))
    return text.sentences(
        _.plural("%(n)s broker.", "%(n)s brokers.", brokers) % {"n": f"{brokers:,}"},
        _("Lowest availability: %(broker)s at %(ns)s, %(share)s.")
        % {
            "broker": f"{text.short(lowest['broker'])}:{lowest['bid']}", "ns": text.short(lowest["ns"]),
            "share": text.percent(lowest["availability"]),
        },
        _troubles(data["broker_stats"]),
    )  # fmt: skip


def _troubles(stats: Table) -> str:
    """How many brokers failed at any name server; empty if the table was cut, since then the number is not known."""
    if stats.total > len(stats.rows):
        return ""
    failed, flapped = (len({row["broker"] for row in stats.rows if row.get(key)}) for key in ("failures", "flaps"))
    return _("%(failed)s and %(flapped)s at some name server.") % {
        "failed": _.plural("%(n)s broker failed", "%(n)s brokers failed", failed) % {"n": f"{failed:,}"},
        "flapped": _.plural("%(n)s broker flapped", "%(n)s brokers flapped", flapped) % {"n": f"{flapped:,}"},
    }


def _longest_gaps(data: ReportInput) -> Table:
    rows = sorted(data["broker_stats"].rows, key=lambda row: -(row.get("gap_max") or 0))
    return Table(tuple(rows), data["broker_stats"].total, data["broker_stats"].path)


def _gap_chart(data: ReportInput) -> Drawing:
    rows = _longest_gaps(data).rows[:ROWS_MAX]
    return dots(
        Chart(
            "gaps",
            _("Median, 99th percentile and maximum heartbeat gap of %(n)s brokers, against the timeout of 120 s.")
            % {"n": len(rows)},
            [_("%(broker)s at %(ns)s") % {"broker": f"{row['broker']}:{row['bid']}", "ns": row["ns"]} for row in rows],
            [
                Series("p50", [row.get("gap_p50") for row in rows]),
                Series("p99", [row.get("gap_p99") for row in rows]),
                Series(_("max"), [row.get("gap_max") for row in rows]),
            ],
            _("time between two heartbeats"),
            text.milliseconds,
            (TIMEOUT_MS, _("usual timeout")),
        )
    )
