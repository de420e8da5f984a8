"""What is wrong with the input is told, and nothing else."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.contract.defaults import SILENT_AFTER_US
from rocketns.pipeline.contract.frames import Observation, frame_of
from rocketns.pipeline.contract.schema import FILES, OFFSETS, QUALITY, SOURCES
from rocketns.pipeline.jobs.earlier.tallies import counts
from rocketns.pipeline.jobs.history import state
from rocketns.pipeline.jobs.history.quality import quality, sources
from tests.pipeline.duck.history import quality as duck
from tests.pipeline.duck.history import state as duck_state
from tests.pipeline.frames import cut, duck_events, duck_rows, rows
from tests.pipeline.jobs.history.test_state import harmed
from tests.pipeline.journals import (
    SECOND,
    Broker,
    Journal,
    Journals,
    events_frame,
    observed,
    random_journals,
    topic,
    worked_example,
)

A = Broker("broker-a", "10.0.0.1:10911")


def files_frame(spark: SparkSession, *corrupt: tuple[str, str, int, int | None, int | None]) -> DataFrame:
    """ns, segment, corrupt lines, first and last time."""
    told = [
        ("2026-01-01", ns, segment, 1, 10, count, first, last, False) for ns, segment, count, first, last in corrupt
    ]
    return frame_of(spark, told, FILES)


def quality_of(spark: SparkSession, journals: Journals, files: DataFrame, end_s: int) -> list[tuple[Any, ...]]:
    """kind, ns, boot, t1, t2 in s, n."""
    events, observation = cut(events_frame(spark, journals)), Observation(0, end_s * SECOND)
    found = quality(events, files, state.base(events, observation, keep=cut), observation)
    assert found.schema.simpleString() == QUALITY.simpleString()
    return [(*r[:3], r[3] // SECOND, r[4] // SECOND, r[5]) for r in rows(found)]


def test_a_whole_journal_has_no_fault(spark: SparkSession) -> None:
    assert quality_of(spark, worked_example(), files_frame(spark, ("n1", "0-000001", 0, 0, 392 * SECOND)), 400) == []


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
    files = files_frame(spark, ("torn", "0-000001", 2, 0, 390 * SECOND), ("torn", "0-000002", 0, 390 * SECOND, None))
    assert quality_of(spark, journals, files, 400) == [
        ("corrupt", "torn", 0, 0, 390, 2),
        ("drop", "lossy", 0, 380, 380, 3),
        ("hole", "gaps", 0, 120, 180, 1),
        ("hole", "gaps", 0, 30, 120, 2),
        ("hole", "lossy", 0, 270, 380, 3),
        ("silent", "silent", 0, 270, 400, 130 * SECOND),
        ("unknown", "cut", 0, 300, 360, 1),
        ("unknown", "snapped", 0, 300, 391, 1),
    ]


def test_a_file_without_one_readable_line_counts(spark: SparkSession) -> None:
    events, observation = cut(events_frame(spark, worked_example())), Observation(0, 400 * SECOND)
    files = files_frame(spark, ("n1", "0-000002", 1, None, None))
    found = quality(events, files, state.base(events, observation, keep=cut), observation)
    assert [(r[0], r[3], r[4], r[5]) for r in rows(found)] == [("corrupt", None, None, 1)]


def test_sources_tell_what_was_read_of_each_name_server(spark: SparkSession) -> None:
    journal = Journal(0, "n1")
    journal.register(1 * SECOND, A)
    journal.heartbeat(31 * SECOND, A)
    journal.lose(31 * SECOND)
    files = files_frame(spark, ("n1", "0-000001", 2, 0, 31 * SECOND), ("n2", "0-000001", 1, None, None))
    offsets = frame_of(spark, [("n1", 1500, 3, 10, "versions", "n2", 20)], OFFSETS)
    seen = [
        {"boot": 1, "seq": seq, "ts": ts * SECOND, "ev": ev, **more}
        for seq, (ts, ev, more) in enumerate([
            (1, "start", {"observed": True}), (9, "reg", {"since": 4 * SECOND}), (20, "down", {"since": 18 * SECOND}),
            (30, "tput", {"since": 10 * SECOND}), (31, "stop", {"since": 0}),
        ], 2)
    ]  # fmt: skip
    journals = {"n1": journal.records, "n3": seen}
    frame = sources(counts(events_frame(spark, journals), Observation(0, 400 * SECOND)), files, offsets)
    assert frame.schema.simpleString() == SOURCES.simpleString()
    assert rows(frame) == [
        ("n1", 1, 4, 0, 31 * SECOND, 1500, 2, 1, "versions", 20, False, None, None),
        ("n2", 1, 0, None, None, 0, 1, 0, None, None, False, None, None),
        ("n3", 0, 5, 1 * SECOND, 31 * SECOND, 0, 0, 0, None, None, True, 5 * SECOND, 20 * SECOND),
    ]


def test_quality_is_that_of_the_independent_version(spark: SparkSession) -> None:
    journals: Journals = {}
    for seed in range(1, 40, 2):
        journals |= {f"{seed}-{ns}": records for ns, records in harmed(random_journals(seed), seed).items()}
    journals["lossy"] = lossy(observed(journals)[0])
    start, end = observed(journals)
    observation = Observation(start + (end - start) // 3, end)
    files = files_frame(spark, ("1-n1", "7-000001", 3, start, end), ("1-n2", "7-000001", 4, start, start + SECOND))
    events = cut(events_frame(spark, journals))
    found = quality(events, files, state.base(events, observation, keep=cut), observation)
    db = duck_events(journals)
    db.register("files", files.toArrow())
    duck_state.prepare(db, *observation, SILENT_AFTER_US)
    told = rows(found)
    assert [row[:6] for row in told if row[0] != "hole"] == duck_rows(db, with_times(duck.QUALITY, observation))
    holes = [(*row[1:3], row[6], row[5]) for row in told if row[0] == "hole"]
    assert sorted(holes, key=repr) == duck_rows(db, with_times(duck.HOLES, observation))
    assert len(holes) > 100


def with_times(query: str, observation: Observation) -> str:
    """The query with its three parameters written out."""
    values = {"$t0": observation.t0, "$t1": observation.t1, "$silent": SILENT_AFTER_US}
    for name, value in values.items():
        query = query.replace(name, str(value))
    return query


def lossy(start: int) -> list[dict[str, Any]]:
    journal = Journal(start, "lossy")
    journal.register(start + 1 * SECOND, A)
    journal.heartbeat(start + 2000 * SECOND, A)
    journal.lose(start + 2000 * SECOND)
    return journal.records
