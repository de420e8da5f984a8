"""The route of a moment from the fewest records that show it: ingested events, or files around the moment.

Two name servers for 30 hours, with a file every ten minutes and a snapshot every hour, but none at n2 between 10 h and
25 h. The clock of n2 is 47 s ahead. At 20 h both get more queues of T.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.contract.schema import CLOCK_DAYS
from rocketns.pipeline.contract.times import HOUR_US
from rocketns.pipeline.moment.answers import explained_route
from rocketns.pipeline.moment.reading import files_between
from rocketns.pipeline.storage.ingest import ingest
from rocketns.pipeline.storage.results import EVENTS_FOLDER
from tests.pipeline.journals import DAY_START, SECOND, Broker, Journal, topic, write_files

A = Broker("broker-a", "10.0.0.1:10911")
AHEAD = {"n1": 0, "n2": 47 * SECOND}
CHANGE = DAY_START + 20 * HOUR_US
ROTATE_US = 600 * SECOND


class Fleet(NamedTuple):
    """Folders: the whole journal, the events ingested from all of it, and those from its first ten hours."""

    journal: Path
    out: Path
    early: Path


def journal_of(ns: str) -> Journal:
    ahead = AHEAD[ns]
    journal = Journal(DAY_START + ahead, ns)
    for beat in range(30 * 60):
        true = DAY_START + beat * 60 * SECOND
        if beat and beat % 10 == 0:
            journal.open_file(true + ahead)
        if beat % 60 == 0 and not (ns == "n2" and 10 <= beat // 60 < 25):
            journal.snapshot(true + ahead)
        if ns == "n1" and true == CHANGE - ROTATE_US + 120 * SECOND:
            journal.lose(true + ahead)
        if ns == "n1" and beat in (18 * 60 + 5, 18 * 60 + 6):  # so that n1, with more heartbeats, is the reference
            journal.heartbeat(true, A, version=beat // 20)
        journal.register(true + 7 * SECOND + ahead, A, [topic("T", 8 if true >= CHANGE else 4)], version=beat // 20)
    return journal


@pytest.fixture(scope="module")
def fleet(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    folder = tmp_path_factory.mktemp("around")
    found = Fleet(folder / "journal", folder / "out", folder / "early")
    paths = write_files({ns: journal_of(ns).records for ns in AHEAD}, found.journal)
    for path in paths:
        if int(path.stem.rpartition("-")[2]) <= 60:
            copy = folder / "first" / path.relative_to(found.journal)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    ingest(spark, str(found.journal), str(found.out / EVENTS_FOLDER))
    ingest(spark, str(folder / "first"), str(found.early / EVENTS_FOLDER))
    return found


def test_only_the_files_that_may_hold_the_time_are_read(fleet: Fleet) -> None:
    found = files_between(None, str(fleet.journal), CHANGE - 2 * ROTATE_US + SECOND, CHANGE)
    assert {ns: [int(f.segment[-6:]) for f in found if f.ns == ns] for ns in AHEAD} == {
        "n1": [119, 120, 121], "n2": [118, 119, 120],
    }  # fmt: skip


@pytest.fixture(scope="module")
def of_journal(fleet: Fleet) -> list[str]:
    """Just after the change. The ingested events end before it."""
    return explained_route(None, str(fleet.journal), str(fleet.early), "T", CHANGE + 20 * SECOND)


def test_events_that_do_not_reach_the_moment_are_passed_over_for_the_journal(
    of_journal: list[str], fleet: Fleet
) -> None:
    assert of_journal[0] == f"T at 2026-01-01T20:00:20.000Z, from {fleet.journal}"


def test_times_are_by_corrected_clocks(of_journal: list[str]) -> None:
    """By its own clock n2 knew of the change 27 s after the moment."""
    assert "  n2: its clock is +47 s off (from versions, known to 0 s)" in of_journal
    assert [line.strip() for line in of_journal if "read queues" in line] == [
        "broker-a: 8 read queues, 4 write queues, perm 6; 0 10.0.0.1:10911"
    ] * 2
    assert sum("since 2026-01-01T20:00:07.000Z (heartbeat" in line for line in of_journal) == 2


@pytest.mark.parametrize("by_spark", [False, True])
def test_ingested_events_give_the_same_answer(
    spark: SparkSession, fleet: Fleet, of_journal: list[str], *, by_spark: bool
) -> None:
    found = explained_route(spark if by_spark else None, None, str(fleet.out), "T", CHANGE + 20 * SECOND)
    assert found[0].endswith(f"from {fleet.out}/{EVENTS_FOLDER}")
    assert found[1:] == of_journal[1:]


def with_open_files(fleet: Fleet, folder: Path) -> Path:
    """The journal while the files of the change are still being written, each with half a line at its end."""
    shutil.copytree(fleet.journal, folder)
    for path in sorted(folder.rglob("*.jsonl")):
        number = int(path.stem.rpartition("-")[2])
        if number == 121:
            path.write_bytes(path.read_bytes() + b'{"boot":1,"se')
            path.rename(path.with_name(f".open-{path.stem}"))
        elif number > 121:
            path.unlink()
    return folder


def test_a_file_that_is_still_being_written_tells_too(fleet: Fleet, of_journal: list[str], tmp_path: Path) -> None:
    journal = with_open_files(fleet, tmp_path / "journal")
    found = explained_route(None, str(journal), str(fleet.early), "T", CHANGE + 20 * SECOND)
    assert found[1:] == of_journal[1:]


def test_a_day_after_the_last_run_is_corrected_by_the_clocks_of_its_last_day(fleet: Fleet, tmp_path: Path) -> None:
    rows = [
        ("2025-12-31", "n1", 0, 99, 0, "reference", "n1", 0),
        ("2025-12-31", "n2", 47 * SECOND, 9, 0, "versions", "n1", 0),
    ]
    (tmp_path / "results/r/clock_days").mkdir(parents=True)
    table = pa.Table.from_pylist([dict(zip(CLOCK_DAYS.names, row, strict=True)) for row in rows])
    pq.write_table(table, tmp_path / "results/r/clock_days/part.parquet")
    (tmp_path / "summary.json").write_text('{"run": "r"}')
    found = explained_route(None, str(fleet.journal), str(tmp_path), "T", CHANGE + 20 * SECOND)
    assert "  n2: its clock is +47 s off (from versions, known to 0 s)" in found
    assert sum("since 2026-01-01T20:00:07.000Z (heartbeat" in line for line in found) == 2


def test_lost_records_are_told_until_the_next_snapshot(fleet: Fleet, of_journal: list[str]) -> None:
    warning = "  records are missing since 2026-01-01T19:50:07.000Z, so this may be out of date"
    between = explained_route(None, None, str(fleet.out), "T", CHANGE - 300 * SECOND)
    assert between.count(warning) == 1
    assert between[between.index(warning) - 2].startswith("  broker-a: 4 read queues")
    assert warning not in of_journal


def test_a_time_without_records_is_wrong_usage(fleet: Fleet) -> None:
    for hours in (-30, 100):
        with pytest.raises(BadInput, match="no record of the time around"):
            explained_route(None, str(fleet.journal), None, "T", DAY_START + hours * HOUR_US)
