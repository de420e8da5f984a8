"""The section about the journals: what was read, and what is missing."""

from __future__ import annotations

from rocketns.pipeline.contract.tables import Row
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Section, listed, meaning
from rocketns.pipeline.report.grid import Column
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.words.clocks import known_to


def quality_section(data: ReportInput) -> Section:
    """What was read, and what is missing from it."""
    sources = (
        Column("ns", "Name server", wide=True),
        Column("files", "Files", text.number, number=True),
        Column("events", "Events", text.number, number=True),
        Column("first", "First", text.moment, unit="UTC"),
        Column("last", "Last", text.moment, unit="UTC"),
        Column("offset_us", "Clock offset", _offset, number=True),
        Column("clock", "Known from"),
        Column("uncertainty_us", "Clock known", _known, whole=True),
        Column("corrupt", "Corrupt lines", text.number, number=True),
        Column("lost", "Lost records", text.number, number=True),
        Column("observed", "Seen from outside"),
        Column("members_early", "Brokers known to", text.microseconds, number=True),
        Column("topics_early", "Topics known to", text.microseconds, number=True),
    )
    faults = (
        Column("kind", "What"),
        Column("ns", "Name server", wide=True),
        Column("boot", "Boot"),
        Column("t1", "From", text.moment, unit="UTC"),
        Column("t2", "To", text.moment, unit="UTC"),
        Column("n", "Count", text.number, number=True),
        Column("detail", "Detail", wide=True),
    )
    answer = "Nothing is missing from the journals that were read."
    if data.incomplete:
        answer = "The input is incomplete: " + " ".join(data.incomplete)
    blocks = [
        listed(
            "Faults of the input", meaning("quality"), faults, data["quality"], "No lost record, hole or corrupt line."
        ),
        listed("What was read", meaning("sources"), sources, data["sources"], "Nothing was read."),
    ]
    return Section("quality", answer, blocks)


def _offset(us: float | None) -> str:
    return text.NONE if us is None else f"{us / 1_000:+,.0f} ms"


def _known(row: Row) -> str:
    return known_to(str(row.get("clock")), row.get("uncertainty_us"))
