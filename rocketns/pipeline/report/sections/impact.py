"""The section about consumers: which queues nobody consumed, and which were taken twice."""

from __future__ import annotations

from rocketns.pipeline.contract.tables import Row
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, meaning
from rocketns.pipeline.report.drawing.chart import ROWS_MAX, Chart, Series, bars
from rocketns.pipeline.report.drawing.svg import Drawing
from rocketns.pipeline.report.grid import Column, grid
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.common import WHEN, lasted
from rocketns.pipeline.report.text import plural


def impact_section(data: ReportInput) -> Section:
    """Which queues nobody consumed, and which were consumed twice."""
    if not data["impact"]:
        block = Block("Consumers", meaning("impact"), empty="No segment in which a group's queues were at risk.")
        return Section(
            "impact", "No segment was modelled, so no queue is known to be orphaned or taken twice.", [block]
        )
    columns = (
        *WHEN,
        lasted(data),
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
    table = grid("Segments of a topic with constant views, the worst first", columns, data["impact"])
    block = Block("Consumers", meaning("impact"), [("Worst segment of each topic", _impact_chart(data))], [table])
    return Section("impact", _impact_answer(data), [block])


def _group(row: Row) -> str:
    spread = "real spread" if row.get("assignments") == "real" else "any spread"
    name = f"{row['group']}: " if row.get("group") else ""
    return f"{name}{row['c']} consumers, {row['strategy']}, {spread}" + (", capped" if row.get("capped") else "")


def _pair(label: str, stem: str) -> Column:
    def show(row: Row) -> str:
        return f"{text.number(row.get(f'{stem}_mean'))} / {text.number(row.get(f'{stem}_max'))}"

    return Column(f"{stem}_max", label, show, number=True, whole=True)


def _impact_answer(data: ReportInput) -> str:
    worst = data["impact"].rows[0]
    if not worst["orphaned_max"] and not worst["dup_max"]:
        return "Views differed, but the model found no queue that was orphaned or taken twice."
    return (
        f"{plural(data['impact'].total, 'result')} for segments, strategies and group sizes. The worst: "
        f"{text.short(worst['topic'])} with {text.number(worst['orphaned_max'])} of {worst['queues']} queues orphaned "
        f"and {text.number(worst['dup_max'])} taken twice for {text.microseconds(worst['t2'] - worst['t1'])} "
        f"({worst['strategy']}, {worst['c']} consumers)."
    )


def _impact_chart(data: ReportInput) -> Drawing:
    worst: dict[str, Row] = {}
    for row in data["impact"].rows:
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
