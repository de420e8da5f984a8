"""How a page shows a divergence that rests on lost records alone: apart, and counted nowhere."""

from __future__ import annotations

from typing import Any

from rocketns.pipeline.contract.causes import LOST_RECORDS
from rocketns.pipeline.contract.exits import Verdict
from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.report.blocks import Block
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.divergence import divergence_section
from rocketns.pipeline.report.summary import summary
from tests.pipeline.incidents.incident_tables import END, SERVERS, S, boot, differ, up

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


def test_what_may_be_lost_records_has_a_table_of_its_own() -> None:
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
