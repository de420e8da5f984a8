"""How far journals reach, and time stamps that are wrong for a moment. Each case is a name server; times in seconds."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import frame_of
from rocketns.pipeline.contract.schema import CLOCK_DAYS, EVENTS, FILES
from rocketns.pipeline.jobs.history.holes import STRETCH
from rocketns.pipeline.jobs.history.reach import EXTENTS, REACHES, extents, reaches
from rocketns.pipeline.jobs.history.strays import late_days, suspects, with_repaired_times
from tests.pipeline.frames import cut, rows
from tests.pipeline.journals import DAY_START, SECOND, Journal, Record, events_frame

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
CASES: dict[str, tuple[list[float], float]] = {
    "steady": (MINUTES, 1800),
    "one record years ahead": ([*MINUTES[:10], 10 * YEAR, *MINUTES[10:]], 1800),
    "the last record years ahead": ([*MINUTES, 10 * YEAR], 1800),
    "the last records years ahead for a moment": ([*MINUTES, 10 * YEAR, 10 * YEAR + 30], 1800),
    "the last record years back": ([*MINUTES, 5], 1800),
    "ahead for ten minutes and right again": ([*MINUTES[:5], *[900 + m for m in MINUTES[:3]], *MINUTES[5:]], 1800),
    "set back by ten minutes for good": ([*MINUTES, 1230, 1260, 1290], 1290),
    "set back a moment ago": ([*MINUTES, 1230, 1240], 1800),
    "suspended for a day and back for a minute": ([*MINUTES, 90_000, 90_060], 90_060),
    "a quiet old one with a snapshot an hour": ([*MINUTES, HOUR, 2 * HOUR, 3 * HOUR], 3 * HOUR),
    "stepped back a little": ([*MINUTES, 1795], 1800),
    "short": ([1, 2], 2),
}


def test_the_reach_is_that_of_the_last_settled_run(spark: SparkSession) -> None:
    journals = {ns: written(ns, times).records for ns, (times, _) in CASES.items()}
    found = reaches(events_frame(spark, journals))
    assert found.schema.simpleString() == REACHES.simpleString()
    assert {row["ns"]: row["last"] / SECOND for row in found.collect()} == {ns: last for ns, (_, last) in CASES.items()}


def test_the_last_boot_counts_with_its_stop_and_its_rotation(spark: SparkSession) -> None:
    journal = written("n1", MINUTES, stop=1900)
    again = written("n2", MINUTES, stop=1850)
    again.start(3600 * SECOND)
    again.add(3700 * SECOND, "alive")
    old: list[Record] = [{k: v for k, v in r.items() if k != "rotate_s"} for r in written("n3", [30]).records]
    found = reaches(events_frame(spark, {"n1": journal.records, "n2": again.records, "n3": old}))
    assert rows(found) == [
        ("n1", 0, 1900 * SECOND, 1900 * SECOND, 600),
        ("n2", 3_600_000, 3700 * SECOND, None, 600),
        ("n3", 0, 30 * SECOND, None, None),
    ]


def test_the_extent_goes_by_boots_and_numbers_of_files_and_not_by_their_times(spark: SparkSession) -> None:
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
    files = frame_of(
        spark,
        [
            (dt, ns, name, 1, 1, 0, *[t and t * SECOND for t in times], is_open)
            for dt, ns, name, *times, is_open in told
        ],
        FILES,
    )
    found = extents(files)
    assert found.schema.simpleString() == EXTENTS.simpleString()
    assert [(ns, first // SECOND - DAY, days, is_open) for ns, first, _, days, is_open in rows(found)] == [
        ("begins-in-the-middle", 600, ["2026-01-01"], False),
        ("n1", 0, ["2026-01-02"], True),
        ("stray-first", 0, ["2026-01-01"], False),
    ]
    clocks = frame_of(spark, [("2026-01-02", "n1", 60 * SECOND, 3, 0, "versions", "n2", 0)], CLOCK_DAYS)
    assert late_days(files, clocks, (DAY + 86_490) * SECOND) == ["2026-01-02", "2036-01-01"]
    assert late_days(files, clocks, (DAY + 86_491) * SECOND) == ["2036-01-01"]


# name server → the times that it wrote, and those that its records have, in a journal that ends at 40 s
STRAYS: dict[str, tuple[list[float], list[int]]] = {
    "stray": ([10, 9_000_000, 30], [0, 0, 10, 10, 30]),
    "after the end": ([10, 20, 50, 60], [0, 0, 10, 20, 50, 60]),
    "both": ([10, 9_000_000, 9_000_001, 30, 41], [0, 0, 10, 10, 10, 30, 41]),
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


def test_one_stray_record_does_not_make_a_single_task_sort_the_whole_boot(spark: SparkSession) -> None:
    """Stretches without a right time take it from those before."""
    count, end = 10 * STRETCH, 1_000 * SECOND
    stray = f"id = 5 or id between {2 * STRETCH - 7} and {4 * STRETCH + 7}"
    told = spark.range(1, count).selectExpr(
        "'n1' ns", "0L boot", "id seq", f"if({stray}, {end}, 0) + id ts", "'alive' ev"
    )
    events = cut(told.select(*[_column(told, name) for name in EVENTS.names]))
    fixed = with_repaired_times(events, suspects(events, end), end)
    late = fixed.where("ts <> seq").orderBy("seq").select("seq", "ts").collect()
    long = [(seq, 2 * STRETCH - 8) for seq in range(2 * STRETCH - 7, 4 * STRETCH + 8)]
    assert [tuple(row) for row in late] == [(5, 4), *long]
    assert fixed.count() == count - 1
    in_tasks = {
        row["task"]: row["count"] for row in fixed.groupBy(F.spark_partition_id().alias("task")).count().collect()
    }
    assert max(in_tasks.values()) < count - 1, in_tasks


def _column(told: DataFrame, name: str) -> Column:
    kind = EVENTS[name].dataType
    return (F.col(name) if name in told.columns else F.lit(None)).cast(kind).alias(name)
