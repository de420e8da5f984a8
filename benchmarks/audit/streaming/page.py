"""The figures as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.audit.streaming.alerts import CLOSED, STOPPED
from benchmarks.report.figures import figure, spread, table

Row = Mapping[str, Any]

ALERT_TITLES = {
    CLOSED: "The connection to one name server is closed",
    STOPPED: "The heartbeats to one name server stop, and the connection stays open",
}
SECONDS = {
    "fault_to_down_s": "from the fault to the `down` record",
    "down_to_divergence_s": "from the `down` record to the alert that the name servers disagree",
    "down_to_partition_s": "from the `down` record to the alert of the partition",
    "lost_to_partition_s": "from the first heartbeat that is lost to the alert of the partition",
}
TITLES = ["Seconds", "median (least-greatest)", "told"]
MONTH = {
    "batch_s": "a batch, s",
    "batch_cpu_s": "its CPU time, s",
    "files": "files of the checkpoint",
    "checkpoint_kb": "the checkpoint, kB",
    "shuffle_files": "files that Spark's tasks left",
    "python_mb": "memory of Python, MB",
    "java_mb": "memory of Java, MB",
    "heap_mb": "Java's heap after a collection, MB",
}
WEEK = 7


def page(result: Mapping[str, Any]) -> str:
    """What was measured; a part that was not is left out."""
    lines = ["# Streaming and alerts", ""]
    if "alerts" in result:
        lines += ["## From a fault to its alert", "", about(result["alerts"]), "", *alerts(result["alerts"]["rows"])]
    if "month" in result:
        lines += ["## A month", "", about(result["month"]), "", *month(result["month"]["rows"])]
    return "\n".join(lines)


def about(part: Mapping[str, Any]) -> str:
    """What was done, when and where."""
    machine = part["machine"]
    return (
        f"`{part['command']}`, {part['when']}, rocketns {part['commit']}; {machine['cores']} cores, "
        f"{machine['processor']}, Python {machine['Python']}; load before and after: {part['load']}"
    )


def alerts(rows: Sequence[Row]) -> list[str]:
    """A table for each fault, in seconds: the median, and the least and the greatest."""
    lines: list[str] = []
    for fault, title in ALERT_TITLES.items():
        some = [row for row in rows if row["fault"] == fault]
        told = [[words, *seconds(some, name)] for name, words in SECONDS.items()]
        lines += [f"{title}, {len(some)} times:", "", *table(TITLES, 1, told), ""]
    return lines


def seconds(rows: Sequence[Row], name: str) -> list[str]:
    found = [row[name] for row in rows if row[name] is not None]
    return [spread(found), f"{len(found)} of {len(rows)}"]


def month(rows: Sequence[Row]) -> list[str]:
    """The medians of the first, second and last week, and each day."""
    weeks = {"first week": rows[:WEEK], "second week": rows[WEEK : 2 * WEEK], "last week": rows[-WEEK:]}
    medians = [[words, *[figure(median(row[name] for row in week)) for week in weeks.values() if week]]
               for name, words in MONTH.items()]  # fmt: skip
    titles = ["Median of the days", *[name for name, week in weeks.items() if week]]
    days = [[str(row["day"]), str(row["batches"]), *[figure(row[name]) for name in MONTH]] for row in rows]
    return [*table(titles, 1, medians), "", *table(["Day", "Batches", *MONTH.values()], 0, days), ""]
