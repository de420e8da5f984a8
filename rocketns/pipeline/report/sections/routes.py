"""The sections about routes: incidents, the timelines, what consumers and producers felt."""

from __future__ import annotations

from collections.abc import Sequence

from rocketns.pipeline.contract import meanings
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, listed, plural
from rocketns.pipeline.report.drawing.chart import ROWS_MAX, Chart, Series, bars, dots
from rocketns.pipeline.report.drawing.svg import Drawing
from rocketns.pipeline.report.drawing.timeline import NAME_SERVERS_MAX, fleet_timeline, name_servers, server_timeline
from rocketns.pipeline.report.folding import folded
from rocketns.pipeline.report.grid import ROWS_MAX as ROWS_SHOWN
from rocketns.pipeline.report.grid import Column, Grid, grid
from rocketns.pipeline.report.model import ReportInput, Row, Table

WHEN = (Column("t1", "From (UTC)", text.moment),)


def incidents_section(data: ReportInput) -> Section:
    """When did which name servers disagree, about which broker, and why."""
    lines = folded(data.incidents.rows)
    answer = "The name servers agreed on every route, apart from differences shorter than min_window."
    if data.incidents or data.key_windows:
        answer = (
            f"{plural(data.incidents.total, 'incident')} with {plural(data.key_windows.total, 'window')} in which name "
            f"servers disagreed about a route.{_longest(lines)}"
        )
    grids = _incident_grids(data, lines)
    blocks = [Block("Incidents", meanings.INCIDENTS, grids=grids, empty="No incident.")]
    if data.key_windows:
        blocks.append(Block("Longest windows", meanings.WINDOWS, grids=[_windows(data)]))
    return Section("incidents", "Incidents", answer, blocks)


def _incident_grids(data: ReportInput, lines: Sequence[Row]) -> list[Grid]:
    if not data.incidents:
        return []
    columns = (
        *WHEN,
        _lasted(data),
        Column("cause", "Cause", text.cause, wide=True),
        Column("brokers", "Brokers", text.names, wide=True),
        Column("ns_without", "Without the route", text.names, wide=True),
        Column("windows", "Windows", text.number, number=True),
        Column("topics", "Topics", text.number, number=True),
        Column("topic_sample", "Such as", lambda names: text.names(names, 3), wide=True),
        Column("gap_max", "Silent before", text.milliseconds, number=True),
    )
    missing = data.incidents.total - len(data.incidents.rows)
    shown = sorted(sorted(lines, key=_length, reverse=True)[:ROWS_SHOWN], key=lambda row: int(row["t1"]))
    whole = Table(shown, len(lines) + max(0, missing), data.incidents.path)
    return [grid("Incidents by time, with their cause and brokers", columns, whole)]


def _length(row: Row) -> tuple[int, int]:
    return row["t2"] - row["t1"], -row["t1"]


def _longest(lines: Sequence[Row]) -> str:
    if not lines:
        return ""
    worst = max(lines, key=_length)
    return (
        f" The longest: {text.microseconds(worst['t2'] - worst['t1'])} from {text.moment(worst['t1'])}, "
        f"{text.names(map(text.short, worst['brokers']), 2)}, {text.cause(worst['cause'])}."
    )


def _lasted(data: ReportInput) -> Column:
    def show(row: Row) -> str:
        length = text.microseconds(row["t2"] - row["t1"])
        return f"{length}, open at the end" if row["t2"] >= data.t1 else length

    return Column("t2", "Lasted", show, number=True, whole=True)


def _windows(data: ReportInput) -> Grid:
    columns = (
        *WHEN,
        _lasted(data),
        Column("topic", "Topic", wide=True),
        Column("broker", "Broker", wide=True),
        Column("cause", "Cause", text.cause, wide=True),
        Column("opened_by", "Opened by"),
        Column("gap", "Silent before", text.milliseconds, number=True),
        Column("values", "What they said", text.views, wide=True),
    )
    return grid("Windows of one topic on one broker, the longest first", columns, data.key_windows)


def timeline_section(data: ReportInput) -> Section:
    """The fleet over the observation, then each name server."""
    servers = name_servers(data)
    if not servers:
        block = Block("Timeline", meanings.TIMELINE, empty="No name server wrote anything in this time.")
        return Section("timeline", "Name servers", "No name server wrote anything in this time.", [block])
    figures: list[tuple[str, Drawing]] = [("All name servers", fleet_timeline(data))]
    for index, ns in enumerate(servers[:NAME_SERVERS_MAX]):
        made, more = server_timeline(data, ns, index)
        figures.append((f"{ns}{_more_brokers(more)}", made))
    remarks = (
        [f"{len(servers) - NAME_SERVERS_MAX} more name servers are not drawn."]
        if len(servers) > NAME_SERVERS_MAX
        else []
    )
    if data.broker_intervals.total > len(data.broker_intervals.rows):
        remarks.append(f"Drawn from a part of all broker intervals; the whole lies in {data.broker_intervals.path}.")
    blocks = [
        Block("Timeline", meanings.TIMELINE, figures=figures, remarks=remarks),
        listed("Starts and ends of name servers", meanings.SERVERS, _BOOTS, data.ns_uptime, "No name server started."),
    ]
    return Section("timeline", "Name servers", _servers_answer(data, len(servers)), blocks)


_BOOTS = (
    Column("ns", "Name server", wide=True),
    Column("t1", "Known from (UTC)", text.moment),
    Column("t2", "Until (UTC)", text.moment),
    Column("end_cause", "How it ended", text.cause, wide=True),
)


def _servers_answer(data: ReportInput, servers: int) -> str:
    lost = sum(row.get("end_cause") == "lost" for row in data.ns_uptime.rows)
    ended = f"{plural(lost, 'end')} without a stop record" if lost else "none ended without a stop record"
    return f"{plural(servers, 'name server')}, {plural(data.ns_uptime.total, 'start')}; {ended}."


def _more_brokers(more: int) -> str:
    return f" ({plural(more, 'more broker')} with fewer events not drawn)" if more else ""


def impact_section(data: ReportInput) -> Section:
    """Which queues nobody consumed, and which were consumed twice."""
    if not data.impact:
        block = Block("Consumers", meanings.IMPACT, empty="No segment in which a group's queues were at risk.")
        return Section("impact", "Consumer impact", "No queue was orphaned or taken twice, by the model.", [block])
    columns = (
        *WHEN,
        _lasted(data),
        Column("topic", "Topic", wide=True),
        Column("strategy", "Group", _group, wide=True, whole=True),
        Column("queues", "Queues", text.number, number=True),
        _pair("Orphaned, mean / max", "orphaned"),
        _pair("queue-seconds", "orphaned_qs"),
        Column("orphaned_ids", "Orphaned queues", text.queue_ids, wide=True),
        _pair("Taken twice, mean / max", "dup"),
        _pair("queue-seconds", "dup_qs"),
        Column("dup_ids", "Queues taken twice", text.queue_ids, wide=True),
    )
    table = grid("Segments of a topic with constant views, the worst first", columns, data.impact)
    block = Block("Consumers", meanings.IMPACT, [("Worst segment of each topic", _impact_chart(data))], [table])
    return Section("impact", "Consumer impact", _impact_answer(data), [block])


def _group(row: Row) -> str:
    spread = "real spread" if row.get("assignments") == "real" else "any spread"
    name = f"{row['group']}: " if row.get("group") else ""
    return f"{name}{row['c']} consumers, {row['strategy']}, {spread}" + (", capped" if row.get("capped") else "")


def _pair(label: str, stem: str) -> Column:
    def show(row: Row) -> str:
        return f"{text.number(row.get(f'{stem}_mean'))} / {text.number(row.get(f'{stem}_max'))}"

    return Column(f"{stem}_max", label, show, number=True, whole=True)


def _impact_answer(data: ReportInput) -> str:
    worst = data.impact.rows[0]
    if not worst["orphaned_max"] and not worst["dup_max"]:
        return "Views differed, but no queue was orphaned or taken twice, by the model."
    return (
        f"{plural(data.impact.total, 'result')} for segments, strategies and group sizes. The worst: "
        f"{text.short(worst['topic'])} with {text.number(worst['orphaned_max'])} of {worst['queues']} queues orphaned "
        f"and {text.number(worst['dup_max'])} taken twice for {text.microseconds(worst['t2'] - worst['t1'])} "
        f"({worst['strategy']}, {worst['c']} consumers)."
    )


def _impact_chart(data: ReportInput) -> Drawing:
    worst: dict[str, Row] = {}
    for row in data.impact.rows:
        worst.setdefault(str(row["topic"]), row)
    rows = list(worst.values())[:ROWS_MAX]
    return bars(
        Chart(
            "impact",
            f"Queue-seconds orphaned and taken twice in the worst segment of each of {len(rows)} topics.",
            [f"{row['topic']} ({row['strategy']}, {row['c']} consumers)" for row in rows],
            [
                Series("orphaned", [row["orphaned_qs_max"] for row in rows]),
                Series("taken twice", [row["dup_qs_max"] for row in rows]),
            ],
            "queue-seconds, maximum over all spreads",
            text.number,
        )
    )


def imbalance_section(data: ReportInput) -> Section:
    """Which brokers got more or less than their share."""
    if not data.imbalance:
        block = Block("Producers", meanings.IMBALANCE, empty="No segment in which producers were spread unevenly.")
        return Section("imbalance", "Producer imbalance", "Every broker got its fair share, by the model.", [block])
    columns = (
        *WHEN,
        _lasted(data),
        Column("topic", "Topic", wide=True),
        Column("broker", "Broker", wide=True),
        Column("share", "Share", text.percent, number=True),
        Column("fair", "Fair", text.percent, number=True),
        Column("tvd", "Tvd", text.percent, number=True),
        Column("peak", "Peak", text.number, number=True),
        Column("no_share_ns", "Views that can send nothing", _names_or_none, wide=True),
    )
    worst = data.imbalance.rows[0]
    answer = (
        f"{plural(data.imbalance.total, 'share')} of brokers in segments with differing views. The worst: "
        f"{text.percent(worst['tvd'])} of the messages of {text.short(worst['topic'])} went elsewhere than they should."
    )
    table = grid("Shares of brokers in segments, the largest tvd first", columns, data.imbalance)
    block = Block("Producers", meanings.IMBALANCE, [("The worst segment", _imbalance_chart(data))], [table])
    return Section("imbalance", "Producer imbalance", answer, [block])


def _names_or_none(values: Sequence[str] | None) -> str:
    return text.names(values) if values else ""


def _imbalance_chart(data: ReportInput) -> Drawing:
    first = data.imbalance.rows[0]
    rows = [r for r in data.imbalance.rows if (r["topic"], r["t1"]) == (first["topic"], first["t1"])][:ROWS_MAX]
    return dots(
        Chart(
            "imbalance",
            f"Share and fair share of {len(rows)} brokers of topic {text.visible(first['topic'])}.",
            [str(row["broker"]) for row in rows],
            [Series("share", [row["share"] for row in rows]), Series("fair", [row["fair"] for row in rows])],
            f"part of the messages of {text.shortened(text.visible(first['topic']), 30)}",
            lambda value: f"{value:.0%}",
        )
    )
