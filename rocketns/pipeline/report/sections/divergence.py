"""The section about divergence: when name servers disagreed, about which broker, and why."""

from __future__ import annotations

from collections.abc import Sequence

from rocketns.pipeline.contract.causes import CLOCKS, LOST_RECORDS
from rocketns.pipeline.contract.meanings import CLOCKS_DIFFER, LOST, Meaning
from rocketns.pipeline.contract.tables import Row, Table
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, listed, meaning
from rocketns.pipeline.report.grid import Column
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.common import EARLIER, WHEN, lasted
from rocketns.pipeline.report.text import plural

DOUBT = Column("doubt", "Doubt", text.doubt)
# By doubt: the figure that counts the divergences, the title of their table, what it means, why they do not count.
DOUBTS = {
    LOST_RECORDS: ("lost_incidents", "May be lost records", LOST, "because they may be lost records"),
    CLOCKS: (
        "clock_incidents",
        "May be clocks",
        CLOCKS_DIFFER,
        "because clocks, or the time between two looks, may explain them",
    ),
}


def divergence_section(data: ReportInput) -> Section:
    """When did which name servers disagree, about which broker, and why."""
    rows = data["incidents"].rows
    certain = [row for row in rows if row.get("doubt") is None]
    total = int(data.figures.get("incidents", data["incidents"].total - len(rows) + len(certain)))
    answer = "The name servers agreed on every route, apart from differences shorter than min_window."
    if data.figures.get("name_servers") == 1:
        answer = "There is the journal of one name server only, so routes were not compared."
    if total:
        windows = plural(data.figures.get("windows", data["key_windows"].total), "window")
        answer = (
            f"{plural(total, 'divergence')} with {windows} of user topics in which name servers disagreed about a "
            f"route.{_longest(certain)}"
        )
    blocks = [_brokers("Divergence of brokers", meaning("incidents"), certain, total, data)]
    for doubt, (figure, title, meant, why) in DOUBTS.items():
        doubtful = [row for row in rows if row.get("doubt") == doubt]
        if count := int(data.figures.get(figure, len(doubtful))):
            answer += f" Not counted, {why}: {count:,}."
            blocks.append(_brokers(title, meant, doubtful, count, data))
    return Section("divergence", answer, [*blocks, _windows(data)])


def _brokers(title: str, meant: Meaning, rows: Sequence[Row], total: int, data: ReportInput) -> Block:
    columns = (
        *WHEN,
        lasted(data),
        EARLIER,
        Column("cause", "Cause", text.cause, wide=True),
        Column("broker", "Broker", wide=True),
        Column("ns_without", "Without the route", text.names, wide=True),
        Column("stalled", "Stalled", _or_nothing, wide=True),
        Column("windows", "Windows", text.number, number=True),
        Column("user_topics", "User topics", text.number, number=True),
        Column("topics", "All topics", text.number, number=True),
        Column("queues", "Hidden queues", text.number, number=True),
        Column("topic_sample", "Such as", lambda names: text.names(names, 3), wide=True),
        Column("gap_max", "Silent before", text.milliseconds, number=True),
        DOUBT,
    )
    table = Table(rows, max(total, len(rows)), data["incidents"].path)
    return listed(title, meant, columns, table, "No divergence.")


def _windows(data: ReportInput) -> Block:
    columns = (
        *WHEN,
        lasted(data),
        EARLIER,
        Column("topic", "Topic", wide=True),
        Column("broker", "Broker", wide=True),
        Column("cause", "Cause", text.cause, wide=True),
        Column("opened_by", "Opened by"),
        Column("gap", "Silent before", text.milliseconds, number=True),
        Column("values", "What they said", text.views, wide=True),
        DOUBT,
    )
    return listed("Windows", meaning("key_windows"), columns, data["key_windows"], "No window.")


def _or_nothing(names: Sequence[str] | None) -> str:
    return text.names(names) if names else text.NONE


def _longest(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    worst = max(rows, key=lambda row: (row["t2"] - row["t1"], -row["t1"]))
    return (
        f" The longest: {text.microseconds(worst['t2'] - worst['t1'])} from {text.moment(worst['t1'])}, "
        f"{text.short(worst['broker'])}, {text.cause(worst['cause'])}."
    )
