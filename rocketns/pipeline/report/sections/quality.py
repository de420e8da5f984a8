"""The section about the journals: what was read, and what is missing."""

from __future__ import annotations

import re

from rocketns.languages import N_
from rocketns.pipeline.contract.tables import Row
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Section, listed, meaning
from rocketns.pipeline.report.grid import Column
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.words.clocks import known_to
from rocketns.pipeline.saying import _

# The texts of QUALITY, which are English in the table, as messages.
DETAILS = (
    ("lines that do not parse, in (?P<place>.+)", N_("lines that do not parse, in %(place)s")),
    ("records that the name server dropped because its buffer was full",
     N_("records that the name server dropped because its buffer was full")),
    (r"no record between seq (?P<after>\d+) and (?P<until>\d+)", N_("no record between seq %(after)s and %(until)s")),
    ("no record until the end, and no stop record", N_("no record until the end, and no stop record")),
    ("not known: neither the start nor a whole snapshot is in the journal before",
     N_("not known: neither the start nor a whole snapshot is in the journal before")),
)  # fmt: skip


def detail(given: str | None) -> str:
    """A detail of QUALITY in the language of the page; an unknown one as it is."""
    for pattern, message in DETAILS:
        if match := re.fullmatch(pattern, given or ""):
            return _(message) % match.groupdict()
    return text.plain(given)


def quality_section(data: ReportInput) -> Section:
    """What was read, and what is missing from it."""
    sources = (
        Column("ns", N_("Name server"), wide=True),
        Column("files", N_("Files"), text.number, number=True),
        Column("events", N_("Events"), text.number, number=True),
        Column("first", N_("First"), text.moment, unit="UTC"),
        Column("last", N_("Last"), text.moment, unit="UTC"),
        Column("offset_us", N_("Clock offset"), _offset, number=True),
        Column("clock", N_("Clock estimated from"), text.code),
        Column("uncertainty_us", N_("Clock known"), _known, whole=True),
        Column("corrupt", N_("Corrupt lines"), text.number, number=True),
        Column("lost", N_("Lost records"), text.number, number=True),
        Column("observed", N_("Seen from outside")),
        Column("members_early", N_("Brokers known to"), text.microseconds, number=True),
        Column("topics_early", N_("Topics known to"), text.microseconds, number=True),
    )
    faults = (
        Column("kind", N_("What"), text.code),
        Column("ns", N_("Name server"), wide=True),
        Column("boot", N_("Boot")),
        Column("t1", N_("From"), text.moment, unit="UTC"),
        Column("t2", N_("To"), text.moment, unit="UTC"),
        Column("n", N_("Count"), text.number, number=True),
        Column("detail", N_("Detail"), detail, wide=True),
    )
    answer = _("Nothing is missing from the journals that were read.")
    if data.incomplete:
        answer = _("The input is incomplete: %(reasons)s") % {"reasons": text.sentences(*data.incomplete)}
    blocks = [
        listed(
            N_("Faults of the input"),
            meaning("quality"),
            faults,
            data["quality"],
            N_("No lost record, hole or corrupt line."),
        ),
        listed(N_("What was read"), meaning("sources"), sources, data["sources"], N_("Nothing was read.")),
    ]
    return Section("quality", answer, blocks)


def _offset(us: float | None) -> str:
    return text.NONE if us is None else _("%(n)s ms") % {"n": f"{us / 1_000:+,.0f}"}


def _known(row: Row) -> str:
    return known_to(str(row.get("clock")), row.get("uncertainty_us"))
