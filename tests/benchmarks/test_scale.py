"""How the audit grows: the reader of Spark's event log, on a piece that a real Spark wrote, and the fit.

The recorded queries, by two tasks and four partitions each: 100 numbers with a key that 90 of them share, sorted by key
and written to the table skew; the same numbers joined with a frame of 5 rows that is sent to every executor, written to
growth; the numbers in one order, written to a frame of the run; the numbers, collected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.audit.scale.document import PAGE, with_tables
from benchmarks.audit.scale.eventlog import DRIVER, Log, Task, place_of, read_log
from benchmarks.audit.scale.figures import idle, of_log, tables_written
from benchmarks.audit.scale.fleets import SIZES, Size, fleet
from benchmarks.audit.scale.page import page
from benchmarks.audit.scale.plans import SINGLE, Shuffle, broadcasts, keys_of, shuffles
from benchmarks.audit.scale.slopes import along, fitted

RECORDED = Path(__file__).parent / "eventlog"
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


@pytest.fixture(scope="module")
def log() -> Log:
    return read_log(RECORDED)


def test_each_query_is_known_by_what_it_writes(log: Log) -> None:
    assert list(log.queries.values()) == ["skew", "growth", "work", DRIVER]


def test_rows_that_are_written_are_counted_by_table(log: Log) -> None:
    told = {row["what"]: row["rows"] for row in tables_written(log)}
    assert told == {"skew": 100, "growth": 5, "work": 100}
    assert all(row["bytes"] > 0 for row in tables_written(log))


def test_a_shuffle_has_its_keys_and_the_records_of_each_partition(log: Log) -> None:
    found = {shuffle.what: shuffle for shuffle in shuffles(log)}
    assert found["skew"].keys == "key"
    assert found["skew"].records == 100
    assert len(found["skew"].most) == 4
    assert sum(found["skew"].most) == 100
    assert max(found["skew"].most) >= 90
    assert (found["work"].keys, found["work"].most) == (SINGLE, (100,))


def test_the_skew_is_the_largest_partition_by_the_middle_one_of_those_with_records() -> None:
    def skew(*records: int) -> float | None:
        return Shuffle("", "", 1, 0, 0, records).skew

    assert skew(0, 0, 10, 40, 20) == 2
    assert skew(0, 10, 0, 90) is None


def test_a_frame_that_is_sent_to_every_executor_has_its_rows(log: Log) -> None:
    (found,) = broadcasts(log)
    assert (found.what, found.rows) == ("growth", 5)
    assert found.bytes > 0


def test_figures_are_sums_over_tasks(log: Log) -> None:
    told = of_log(log)
    assert told["queries"] == 4
    assert told["tasks"] == len(log.tasks)
    assert told["shuffle_written_mb"] == told["shuffle_read_mb"] == sum(one.bytes for one in shuffles(log)) / 1e6
    assert 0 < told["most_collected_mb"] == told["collected_mb"] < 0.1


def test_idle_is_the_time_without_a_task() -> None:
    def task(began: float, ended: float) -> Task:
        return Task(0, began, ended, *[0] * 11, {})  # type: ignore[arg-type]

    assert idle([task(0, 10), task(2, 4), task(12, 13), task(12.5, 20)]) == 2


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Exchange hashpartitioning(ns#1, boot#22L, 80), ENSURE_REQUIREMENTS, [plan_id=5]", "ns, boot"),
        ("Exchange rangepartitioning(t#3 ASC NULLS FIRST, 80), ENSURE", "rangepartitioning(t ASC NULLS FIRST)"),
        ("Exchange SinglePartition, ENSURE_REQUIREMENTS, [plan_id=5]", SINGLE),
        ("Exchange RoundRobinPartitioning(80), REPARTITION_BY_NUM", "Exchange RoundRobinPartitioning(80)"),
    ],
)
def test_keys_come_without_the_numbers_of_columns(text: str, keys: str) -> None:
    assert keys_of(text) == keys


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("/a/work/results/20260101T000000-0123abcd/skew", "skew"),
        ("/a/work/20260101T000000-0123abcd/17", "work"),
        ("/a/earlier/20260101T000000-0123abcd/gaps", "earlier gaps"),
        ("/a/events/data/batch=20260101T000000-0123abcd", "events"),
    ],
)
def test_a_folder_is_known_wherever_it_is(path: str, what: str) -> None:
    command = "InsertIntoHadoopFsRelationCommand"
    tree = f"Execute {command} (3)\n+- Scan (1)\n\n(1) Scan\nLocation: [file:/elsewhere/events/data/x]\n\n"
    assert place_of(f"{tree}(3) Execute {command}\nInput: []\nArguments: file:{path}, false, Parquet") == what
    assert place_of("(1) Scan\nLocation: [file:/a/events/data/x]") == DRIVER


def test_a_line_is_least_squares_over_the_sizes_of_one_direction() -> None:
    events = {size: float(size.days * size.brokers) * 1e4 for size in SIZES}
    files = {size: 100.0 + 432 * size.days for size in SIZES}
    by_days = fitted(events, along("days", files))
    assert [round(one, 6) for one in by_days] == [100, 2160, 0]
    assert round(by_days.at(2e6)) == 4420
    by_brokers = fitted(events, along("brokers", files))
    assert (round(by_brokers.start), round(by_brokers.slope)) == (1828, 0)


def test_a_line_says_how_far_it_is_off() -> None:
    sizes = [Size(days, 20) for days in (4, 8, 12)]
    assert fitted({size: size.days * 1e6 for size in sizes}, dict(zip(sizes, (0, 3, 0), strict=True))).off == 2 / 3


def test_faults_grow_with_days_and_brokers() -> None:
    small, large = fleet(Size(4, 20)).faults, fleet(Size(8, 40)).faults
    assert (small.partitions * 4, small.restarts * 2) == (large.partitions, large.restarts)


def test_the_tables_are_made_from_the_values() -> None:
    values = json.loads((RESULTS / "audit-scale.json").read_text("utf-8"))
    assert page(values) == (RESULTS / "audit-scale.md").read_text("utf-8")
    document = PAGE.read_text("utf-8")
    assert with_tables(document, values) == document
