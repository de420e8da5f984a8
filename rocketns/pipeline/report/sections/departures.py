"""The section about departures: how brokers went."""

from __future__ import annotations

from collections import Counter

from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Section, listed, meaning
from rocketns.pipeline.report.grid import Column
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.text import plural


def departures_section(data: ReportInput) -> Section:
    """How brokers left."""
    columns = (
        Column("t1", "From", text.moment, unit="UTC"),
        Column("t2", "To", text.moment, unit="UTC"),
        Column("broker", "Broker", wide=True),
        Column("cluster", "Cluster", wide=True),
        Column("kind", "Kind", text.kind, wide=True),
        Column("ns", "Seen by", text.names, wide=True),
        Column("bids", "Broker ids", text.names),
        Column("stalled", "Stalled", text.names, wide=True),
        Column("t1_early", "Or earlier by", text.microseconds, number=True),
        Column("asked", "Asked, it", text.names),
    )
    answer = "No broker left."
    if data["departures"]:
        kinds = Counter(str(row["kind"]) for row in data["departures"].rows)
        cut = data["departures"].total > len(data["departures"].rows)
        known = ", ".join(f"{count:,} {name}" for name, count in sorted(kinds.items()))
        answer = f"{plural(data['departures'].total, 'departure')}{', of those listed' if cut else ''}: {known}."
    block = listed("Departures", meaning("departures"), columns, data["departures"], "No broker left.")
    return Section("departures", answer, [block])
