"""The section about divergence: when name servers disagreed, about which broker, and why."""

from __future__ import annotations

from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Section, listed, meaning, plural
from rocketns.pipeline.report.grid import Column
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.common import WHEN, lasted


def divergence_section(data: ReportInput) -> Section:
    """When did which name servers disagree, about which broker, and why."""
    answer = "The name servers agreed on every route, apart from differences shorter than min_window."
    if data["incidents"] or data["key_windows"]:
        answer = (
            f"{plural(data['incidents'].total, 'divergence')} with {plural(data['key_windows'].total, 'window')} in "
            f"which name servers disagreed about a route.{_longest(data)}"
        )
    groups = (
        *WHEN,
        lasted(data),
        Column("cause", "Cause", text.cause, wide=True),
        Column("broker", "Broker", wide=True),
        Column("ns_without", "Without the route", text.names, wide=True),
        Column("stalled", "Stalled", text.names, wide=True),
        Column("windows", "Windows", text.number, number=True),
        Column("user_topics", "User topics", text.number, number=True),
        Column("queues", "Hidden queues", text.number, number=True),
        Column("topic_sample", "Such as", lambda names: text.names(names, 3), wide=True),
        Column("gap_max", "Silent before", text.milliseconds, number=True),
    )
    windows = (
        *WHEN,
        lasted(data),
        Column("topic", "Topic", wide=True),
        Column("broker", "Broker", wide=True),
        Column("cause", "Cause", text.cause, wide=True),
        Column("opened_by", "Opened by"),
        Column("gap", "Silent before", text.milliseconds, number=True),
        Column("values", "What they said", text.views, wide=True),
    )
    blocks = [
        listed("Divergence of brokers", meaning("incidents"), groups, data["incidents"], "No divergence."),
        listed("Windows", meaning("key_windows"), windows, data["key_windows"], "No window."),
    ]
    return Section("divergence", answer, blocks)


def _longest(data: ReportInput) -> str:
    rows = data["incidents"].rows
    if not rows:
        return ""
    worst = max(rows, key=lambda row: (row["t2"] - row["t1"], -row["t1"]))
    return (
        f" The longest: {text.microseconds(worst['t2'] - worst['t1'])} from {text.moment(worst['t1'])}, "
        f"{text.short(worst['broker'])}, {text.cause(worst['cause'])}."
    )
