"""The section about incidents: when name servers disagreed, about which broker, and why."""

from __future__ import annotations

from collections.abc import Sequence

from rocketns.pipeline.contract.causes import LOST_RECORDS
from rocketns.pipeline.contract.meanings import LOST
from rocketns.pipeline.contract.tables import Row, Table
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, meaning, plural
from rocketns.pipeline.report.folding import folded
from rocketns.pipeline.report.grid import ROWS_MAX as ROWS_SHOWN
from rocketns.pipeline.report.grid import Column, Grid, grid
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.common import WHEN, lasted

DOUBT = Column("doubt", "Doubt", text.doubt)


def incidents_section(data: ReportInput) -> Section:
    """When did which name servers disagree, about which broker, and why."""
    lost = [row for row in data["incidents"].rows if row.get("doubt") == LOST_RECORDS]
    lines = folded([row for row in data["incidents"].rows if row.get("doubt") != LOST_RECORDS])
    total = int(data.figures.get("incidents", data["incidents"].total - len(lost)))
    answer = "The name servers agreed on every route, apart from differences shorter than min_window."
    if total:
        windows = plural(data.figures.get("windows", data["key_windows"].total), "window")
        answer = (
            f"{plural(total, 'incident')} with {windows} of user topics in which name servers disagreed about a route."
            f"{_longest(lines)}"
        )
    missing = total - (len(data["incidents"].rows) - len(lost))
    blocks = [Block("Incidents", meaning("incidents"), grids=_grids(data, lines, missing), empty="No incident.")]
    doubtful = data["incidents"].total - total
    if doubtful > 0:
        answer += f" Not counted, because they may be lost records: {doubtful:,}."
        grids = _grids(data, folded(lost), doubtful - len(lost))
        blocks.append(Block("May be lost records", LOST, grids=grids, empty="None of them is among the longest."))
    if data["key_windows"]:
        blocks.append(Block("Longest windows", meaning("key_windows"), grids=[_windows(data)]))
    return Section("incidents", answer, blocks)


def _grids(data: ReportInput, lines: Sequence[Row], missing: int) -> list[Grid]:
    """A table of folded incidents; ``missing``: how many more there are."""
    if not lines:
        return []
    columns = (
        *WHEN,
        lasted(data),
        Column("cause", "Cause", text.cause, wide=True),
        Column("brokers", "Brokers", text.names, wide=True),
        Column("ns_without", "Without the route", text.names, wide=True),
        Column("stalled", "Stalled", text.names, wide=True),
        Column("windows", "Windows", text.number, number=True),
        Column("user_topics", "User topics", text.number, number=True),
        Column("topics", "Topics", text.number, number=True),
        Column("topic_sample", "Such as", lambda names: text.names(names, 3), wide=True),
        Column("gap_max", "Silent before", text.milliseconds, number=True),
        DOUBT,
    )
    shown = sorted(sorted(lines, key=_length, reverse=True)[:ROWS_SHOWN], key=lambda row: int(row["t1"]))
    whole = Table(shown, len(lines) + max(0, missing), data["incidents"].path)
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


def _windows(data: ReportInput) -> Grid:
    columns = (
        *WHEN,
        lasted(data),
        Column("topic", "Topic", wide=True),
        Column("broker", "Broker", wide=True),
        Column("cause", "Cause", text.cause, wide=True),
        Column("opened_by", "Opened by"),
        Column("gap", "Silent before", text.milliseconds, number=True),
        Column("values", "What they said", text.views, wide=True),
        DOUBT,
    )
    return grid("Windows of one topic on one broker, the longest first", columns, data["key_windows"])
