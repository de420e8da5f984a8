"""What is wrong with the input, how far journals reach, and records with a wrong time. Times are in s."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping

from pyspark.sql import SparkSession

from rocketns.pipeline.batch.observing import extent
from rocketns.pipeline.contract.frames import Observation, by_group, columns, frame_of
from rocketns.pipeline.contract.schema import (
    QUALITY,
    ReadFile,
)
from rocketns.pipeline.jobs import state
from rocketns.pipeline.jobs.quality import quality
from rocketns.pipeline.jobs.reach import (
    late_days,
    reaches,
    suspects,
    with_repaired_times,
)
from rocketns.pipeline.jobs.timeline import server_steps
from tests.pipeline.frames import cut, rows
from tests.pipeline.journals import (
    DAY_START,
    SECOND,
    Broker,
    Journal,
    events_frame,
    topic,
)

A = Broker("broker-a", "10.0.0.1:10911")
END = 400


def test_every_fault_is_told_with_its_place_and_size(spark: SparkSession) -> None:
    fleet = {ns: Journal(0, ns) for ns in ("cut", "gaps", "lossy", "silent", "snapped", "torn")}
    for journal in fleet.values():
        journal.register(1 * SECOND, A, [topic("T")])
        for second in range(30, 390, 30):
            journal.heartbeat(second * SECOND, A)
    fleet["lossy"].lose(380 * SECOND, 3)
    fleet["lossy"].heartbeat(390 * SECOND, A)
    fleet["snapped"].snapshot(391 * SECOND)
    journals = {ns: journal.records for ns, journal in fleet.items()}
    journals["gaps"] = [r for r in journals["gaps"] if r["ts"] not in (60 * SECOND, 90 * SECOND, 150 * SECOND)]
    journals["silent"] = [r for r in journals["silent"] if r["ts"] <= 270 * SECOND]
    for ns in ("cut", "snapped"):
        journals[ns] = [r for r in journals[ns] if r["ts"] >= 300 * SECOND]
    files = [
        ReadFile("d", "torn", "0-000001", 2, 0, 390 * SECOND),
        ReadFile("d", "torn", "0-000002", 0, 390 * SECOND, 390 * SECOND),
        ReadFile("d", "empty", "0-000002", 1, None, None),
    ]
    events, observation = cut(events_frame(spark, journals)), Observation(0, END * SECOND)
    found = quality(events, files, state.base(events, observation), observation)
    assert [(*r[:3], r[3] and r[3] // SECOND, r[4] and r[4] // SECOND, r[5]) for r in rows(found, *QUALITY.names)] == [
        ("corrupt", "empty", 0, None, None, 1),
        ("corrupt", "torn", 0, 0, 390, 2),
        ("drop", "lossy", 0, 380, 380, 3),
        ("hole", "gaps", 0, 120, 180, 1),
        ("hole", "gaps", 0, 30, 120, 2),
        ("hole", "lossy", 0, 270, 380, 3),
        ("silent", "silent", 0, 270, 400, 130 * SECOND),
        ("unknown", "cut", 0, 300, 360, 1),
        ("unknown", "snapped", 0, 300, 391, 1),
    ]


def test_lines_that_are_no_records_are_no_boot(spark: SparkSession) -> None:
    nothing = events_frame(spark, {})
    assert state.boots(nothing, state.stretches(nothing)) == []


YEAR = 365 * 86_400
HOUR = 3_600
DAY = DAY_START // SECOND


def written(ns: str, times: Iterable[float], stop: float | None = None) -> Journal:
    journal = Journal(0, ns)
    for second in times:
        journal.add(round(second * SECOND), "alive")
    if stop is not None:
        journal.stop(round(stop * SECOND))
    return journal


MINUTES = [60.0 * n for n in range(1, 31)]  # until 1800 s
REACHED: dict[str, tuple[list[float], float]] = {
    "steady": (MINUTES, 1800),
    "the last records years ahead for a moment": ([*MINUTES, 10 * YEAR, 10 * YEAR + 30], 1800),
    "the last record years back": ([*MINUTES, 5], 1800),
    "ahead for ten minutes and right again": ([*MINUTES[:5], *[900 + m for m in MINUTES[:3]], *MINUTES[5:]], 1800),
    "set back by ten minutes for good": ([*MINUTES, 1230, 1260, 1290], 1290),
    "set back a moment ago": ([*MINUTES, 1230, 1240], 1800),
    "suspended for a day and back for a minute": ([*MINUTES, 90_000, 90_060], 90_060),
    "a quiet old one with a snapshot an hour": ([*MINUTES, HOUR, 2 * HOUR, 3 * HOUR], 3 * HOUR),
}


def test_the_reach_is_that_of_the_last_settled_run(spark: SparkSession) -> None:
    journals = {ns: written(ns, times).records for ns, (times, _) in REACHED.items()}
    last = {row["ns"]: row["last"] / SECOND for row in reaches(events_frame(spark, journals))}
    assert last == {ns: expected for ns, (_, expected) in REACHED.items()}


def test_the_extent_goes_by_boots_and_numbers_of_files_and_not_by_their_times() -> None:
    boot = DAY * 1000
    told = [
        ("2026-01-01", "n1", f"{boot}-000001", DAY, DAY + 600, False),
        ("2036-01-01", "n1", f"{boot}-000002", DAY + 10 * YEAR, DAY + 10 * YEAR, False),
        ("2026-01-02", "n1", f"{boot}-000010", DAY + 86_400, DAY + 86_500, False),
        ("2026-01-02", "n1", f"{boot}-000011", DAY + 86_500, DAY + 86_550, True),
        ("2026-01-01", "stray-first", f"{boot}-000001", 5, DAY + 600, False),
        ("2026-01-01", "begins-in-the-middle", f"{boot}-000007", DAY + 600, DAY + 1200, False),
        ("2026-01-03", "begins-in-the-middle", f"{boot}-000008", None, None, False),
    ]
    files = [ReadFile(dt, ns, name, 0, *[t and t * SECOND for t in times], open=is_open)
             for dt, ns, name, *times, is_open in told]  # fmt: skip
    of_each = {ns: extent(one for one in files if one.ns == ns) for ns in sorted({one.ns for one in files})}
    assert {ns: (one.first // SECOND - DAY, one.days, one.open) for ns, one in of_each.items()} == {
        "begins-in-the-middle": (600, ("2026-01-01",), frozenset()),
        "n1": (0, ("2026-01-02",), {"n1"}),
        "stray-first": (0, ("2026-01-01",), frozenset()),
    }
    assert extent(files).last == (DAY + 10 * YEAR) * SECOND
    offsets = {("2026-01-02", "n1"): 60 * SECOND}
    assert late_days(files, offsets, (DAY + 86_490) * SECOND) == ["2026-01-02", "2036-01-01"]
    assert late_days(files, offsets, (DAY + 86_491) * SECOND) == ["2036-01-01"]


# name server → the times that it wrote, and those that its records have, in a journal that ends at 40 s
STRAYS: dict[str, tuple[list[float], list[int]]] = {
    "stray": ([10, 9_000_000, 30], [0, 0, 10, 10, 30]),
    "after the end": ([10, 20, 50, 60], [0, 0, 10, 20, 50, 60]),
    "right": ([10, 45], [0, 0, 10, 45]),
}


def test_a_stray_record_has_the_time_of_the_one_before_or_of_the_first_right_one(spark: SparkSession) -> None:
    begins = Journal(9_000_000 * SECOND, "begins")
    for second in (10, 20):
        begins.add(second * SECOND, "alive")
    journals = {ns: written(ns, times).records for ns, (times, _) in STRAYS.items()} | {"begins": begins.records}
    events = cut(events_frame(spark, journals))
    fixed = with_repaired_times(events, suspects(events, 40 * SECOND), 40 * SECOND)
    assert fixed.schema == events.schema
    found: dict[str, list[int]] = {}
    for ns, ts in fixed.orderBy("ns", "seq").select("ns", "ts").collect():
        found.setdefault(ns, []).append(ts // SECOND)
    assert found == {ns: wanted for ns, (_, wanted) in STRAYS.items()} | {"begins": [10, 10, 10, 20]}


def test_tasks_bring_our_functions_to_machines_without_rocketns(spark: SparkSession) -> None:
    def imported(topic: str, _rows: object) -> Iterator[Mapping[str, str]]:
        names = [name for name in sys.modules if name.split(".")[0] == "rocketns"]
        yield {"topic": topic, "modules": " ".join([*names, *server_steps([])])}

    schema = columns("topic:string modules:string")
    found = by_group("topic", imported, schema, rows=frame_of(spark, [("T",)], columns("topic:string")))
    assert rows(found) == [("T", "")]
