"""The benchmarks' own arithmetic: ratios by round, empty cells with their reason, and the marks of docs/costs.md."""

from __future__ import annotations

import json

import pytest

from benchmarks.failures import CellFailed
from benchmarks.loading.registrations import plain_body, spread
from benchmarks.record import Record, Row
from benchmarks.report import costs
from benchmarks.report.aims import AIMS
from benchmarks.report.figures import figure, times_better, times_the_cost
from benchmarks.report.figures import spread as spread_text
from benchmarks.report.markdown import text
from benchmarks.report.store import Results
from benchmarks.servers.kinds import DEFAULT, JAVA, C


@pytest.fixture
def row() -> Row:
    return Row("lookup", "CPU µs", {DEFAULT: [2.0, 4.0, None], JAVA: [20.0, None, 60.0], C: [1.0, 4.0, 5.0]})


def test_ratios_are_of_rounds_that_both_servers_have(row: Row) -> None:
    assert row.ratios(JAVA, DEFAULT) == [10.0]
    assert row.ratios(DEFAULT, C) == [1.0, 2.0]


def test_throughput_is_better_when_it_is_more(row: Row) -> None:
    assert times_better(row, DEFAULT, JAVA) == [10.0]
    row.unit = "requests/s"
    assert times_better(row, DEFAULT, JAVA) == [0.1]
    assert times_the_cost(row, DEFAULT, C) == [0.5, 1.0]


def test_a_failed_cell_keeps_its_reason_and_is_not_tried_again() -> None:
    record = Record("part", "Part")
    with record.cell(JAVA, 0, "lookup") as cell:
        cell.add("CPU µs", 3.0)
    with record.cell(JAVA, 1, "lookup"):
        raise CellFailed("it hung")
    assert record.missing == {"lookup": {JAVA: "it hung"}}
    assert record.is_hopeless(JAVA, "lookup")
    assert not record.is_hopeless(JAVA, "something else")
    assert record.rows[0].values == {JAVA: [3.0]}


def test_an_error_of_the_program_itself_is_no_empty_cell() -> None:
    with pytest.raises(KeyError), Record("part", "Part").cell(JAVA, 0, "lookup"):
        raise KeyError("a mistake")


def test_a_record_survives_the_file() -> None:
    record = Record("part", "Part", [Row("lookup", "MB", {JAVA: [1.0, None]})], ["a note"], {"measured": "now"})
    record.missing = {"lookup": {C: "why"}}
    assert Record.from_json("part", json.loads(json.dumps(record.to_json()))) == record


@pytest.mark.parametrize(("value", "said"), [(None, "-"), (0.123, "0.12"), (12.34, "12.3"), (123.4, "123"),
                                             (12345.6, "12,346")])  # fmt: skip
def test_a_figure_has_three_digits_or_all_before_the_point(value: float | None, said: str) -> None:
    assert figure(value) == said


def test_a_spread_has_brackets_only_for_several_rounds() -> None:
    assert (spread_text([]), spread_text([2.0]), spread_text([1.0, 2.0, 4.0])) == ("-", "2.00", "2.00 (1.00-4.00)")


def test_the_page_of_costs_changes_between_its_marks_only() -> None:
    before = f"# top\n{costs.BEGIN}\nold\n{costs.END}\nrest\n"
    assert costs.replaced(before, "new") == f"# top\n{costs.BEGIN}\nnew\n{costs.END}\nrest\n"
    with pytest.raises(ValueError, match="once each"):
        costs.replaced("# top\n", "new")


def test_a_report_of_nothing_says_that_nothing_was_measured() -> None:
    assert text(Results("quick")).count("not measured") == len(AIMS)


def test_each_topic_is_on_as_many_brokers_as_it_should_be() -> None:
    holders = [number for number in range(10) for topic in spread(number, 10, 1000, 4) if topic == 7]
    assert holders == [0, 7, 8, 9]
    assert sum(len(spread(number, 10, 1000, 4)) for number in range(10)) == 4000


def test_a_registration_body_is_the_json_of_a_broker() -> None:
    body = json.loads(plain_body([3, 5], 9, frozenset([5])))["topicConfigSerializeWrapper"]
    assert body["dataVersion"]["counter"] == 9
    assert {name: topic["readQueueNums"] for name, topic in body["topicConfigTable"].items()} == {
        "topic-000003": 8, "topic-000005": 16,
    }  # fmt: skip
