"""The section about incidents: when name servers disagreed, about which broker, and why."""

from __future__ import annotations

from collections.abc import Sequence

from rocketns.pipeline.contract.tables import Row, Table
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, meaning, plural
from rocketns.pipeline.report.folding import folded
from rocketns.pipeline.report.grid import ROWS_MAX as ROWS_SHOWN
from rocketns.pipeline.report.grid import Column, Grid, grid
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.common import WHEN, lasted


def incidents_section(data: ReportInput) -> Section:
    """When did which name servers disagree, about which broker, and why."""
    lines = folded(data["incidents"].rows)
    answer = "The name servers agreed on every route, apart from differences shorter than min_window."
    if data["incidents"] or data["key_windows"]:
        answer = (
            f"{plural(data['incidents'].total, 'incident')} with {plural(data['key_windows'].total, 'window')} in "
            f"which name servers disagreed about a route.{_longest(lines)}"
        )
    grids = _incident_grids(data, lines)
    blocks = [Block("Incidents", meaning("incidents"), grids=grids, empty="No incident.")]
    if data["key_windows"]:
        blocks.append(Block("Longest windows", meaning("key_windows"), grids=[_windows(data)]))
    return Section("incidents", answer, blocks)


def _incident_grids(data: ReportInput, lines: Sequence[Row]) -> list[Grid]:
    if not data["incidents"]:
        return []
    columns = (
        *WHEN,
        lasted(data),
        Column("cause", "Cause", text.cause, wide=True),
        Column("brokers", "Brokers", text.names, wide=True),
        Column("ns_without", "Without the route", text.names, wide=True),
        Column("stalled", "Stalled", text.names, wide=True),
        Column("windows", "Windows", text.number, number=True),
        Column("topics", "Topics", text.number, number=True),
        Column("topic_sample", "Such as", lambda names: text.names(names, 3), wide=True),
        Column("gap_max", "Silent before", text.milliseconds, number=True),
    )
    missing = data["incidents"].total - len(data["incidents"].rows)
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
    )
    return grid("Windows of one topic on one broker, the longest first", columns, data["key_windows"])
