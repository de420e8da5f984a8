"""How a page shows a divergence that rests on lost records or on clocks alone: apart, and counted nowhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rocketns.pipeline.contract.causes import CLOCKS, LOST_RECORDS
from rocketns.pipeline.contract.exits import Verdict
from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.report.beside.markdown import markdown
from rocketns.pipeline.report.blocks import Block
from rocketns.pipeline.report.cards import cards
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.page import render
from rocketns.pipeline.report.sections.divergence import divergence_section
from rocketns.pipeline.report.summary import summary
from tests.pipeline.report.incident_tables import END, SERVERS, S, boot, differ, up

CERTAIN = differ("broker-a", 1_000, 2_000)
LOST = differ("broker-z", 3_000, 9_000) | {"doubt": LOST_RECORDS}


def data_of(*rows: dict[str, Any], verdict: Verdict = Verdict.INCOMPLETE) -> ReportInput:
    tables = {
        "incidents": Table.of(rows),
        "ns_uptime": Table.of([boot(ns, 0, END) for ns in SERVERS]),
        "broker_intervals": Table.of([up(ns, "broker-a", 0, END) for ns in SERVERS]),
    }
    return ReportInput(0, END * S, verdict, tables=tables)


def brokers_in(block: Block) -> list[str]:
    """The brokers of the rows of a block."""
    return [broker for broker in ("broker-a", "broker-z") if broker in repr(block.grids)]


def test_divergence_by_lost_records_has_a_table_of_its_own() -> None:
    certain, lost, _ = divergence_section(data_of(CERTAIN, LOST)).blocks
    assert (certain.title, brokers_in(certain)) == ("Divergence of brokers", ["broker-a"])
    assert (lost.title, brokers_in(lost)) == ("May be lost records", ["broker-z"])


def test_the_answer_counts_what_is_certain_and_says_what_is_left_out() -> None:
    answer = divergence_section(data_of(CERTAIN, LOST)).answer
    assert answer.startswith("1 divergence with ")
    assert answer.endswith(" Not counted, because they may be lost records: 1.")
    assert "broker-z" not in answer


def test_without_lost_records_there_is_no_such_table() -> None:
    section = divergence_section(data_of(CERTAIN))
    assert [block.title for block in section.blocks] == ["Divergence of brokers", "Windows"]
    assert "Not counted" not in section.answer


def test_the_list_of_incidents_leaves_out_what_may_be_lost_records() -> None:
    assert [one.brokers for one in data_of(CERTAIN, LOST).incidents] == [("broker-a",)]


def test_a_page_with_nothing_but_lost_records_says_that_nothing_was_found_and_not_that_all_is_well() -> None:
    said = summary(data_of(LOST))
    assert (said.counts, said.headline) == (
        "", "Nothing was found, but records are missing: something may be wrong.",
    )  # fmt: skip


CLOCK = differ("broker-z", 3_000, 3_029) | {"doubt": CLOCKS}
NOTE = "The clock of n2 is known only up to a multiple of 30 s."


def test_divergence_by_clocks_has_a_table_of_its_own() -> None:
    section = divergence_section(data_of(CERTAIN, CLOCK, verdict=Verdict.FINDINGS))
    certain, clocks, _ = section.blocks
    assert (certain.title, brokers_in(certain)) == ("Divergence of brokers", ["broker-a"])
    assert (clocks.title, brokers_in(clocks)) == ("May be clocks", ["broker-z"])
    assert section.answer.endswith(" Not counted, because clocks, or the time between two looks, may explain them: 1.")
    assert [one.brokers for one in data_of(CERTAIN, CLOCK).incidents] == [("broker-a",)]


def test_a_page_with_only_doubtful_differences_does_not_say_that_all_is_well() -> None:
    data = replace(data_of(CLOCK, verdict=Verdict.NOTHING), figures={"clock_windows": 3}, notes={CLOCKS: [NOTE]})
    said = summary(data)
    assert said.headline == (
        "Nothing was found for certain: times are not known well enough to tell whether name servers agreed."
    )
    assert said.verdict == "All input was read, and there is no finding · exit status 0"
    assert [tile.label for tile in said.tiles] == ["windows that clocks or looks alone may explain, not counted"]
    for page in (render(data), markdown(data)):
        assert NOTE in page


def test_a_finding_by_an_uncertain_clock_says_that_its_times_may_be_off() -> None:
    data = data_of(CERTAIN, verdict=Verdict.FINDINGS)
    sources = [{"ns": "n1", "clock": "reference"}, {"ns": "n2", "clock": "heartbeats"}, {"ns": "n3", "clock": "none"}]
    told = replace(data, tables={**data.tables, "sources": Table.of(sources)})
    [one], [card] = told.incidents, cards(told)
    assert (one.ns, one.clocks) == (("n2",), ("n2",))
    assert "Times may be off: the clock of n2 is not known for certain." in card.cause
    assert data.incidents[0].clocks == ()
