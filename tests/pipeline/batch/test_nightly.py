"""A run that continues where earlier runs stopped has the same tables as a run over everything."""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.batch import run
from rocketns.pipeline.batch.run import Request, computed, ingest_only, stored_in
from rocketns.pipeline.contract.job import Job
from rocketns.pipeline.storage.earlier import fingerprints, fitting
from rocketns.pipeline.storage.events.openfiles import open_texts
from rocketns.pipeline.storage.paths import Folder
from rocketns.pipeline.storage.results import Results
from tests.pipeline.chosen import reading_records, with_inputs
from tests.pipeline.frames import plain, rounded
from tests.pipeline.journals import DAY_START, SECOND, random_journals, write_files

HOUR = 3600 * SECOND
MIDNIGHT = DAY_START + 24 * HOUR
SEED = 1
Tables = Mapping[str, list[Any]]


class Nights:
    """Runs of some jobs over a journal that grows."""

    def __init__(self, spark: SparkSession, folder: Path, only: pytest.MonkeyPatch) -> None:
        self._spark, self._folder, self._only = spark, folder, only
        self.said: list[str] = []

    def run(self, files: list[Path], jobs: Sequence[Job], *, whole: bool = False) -> Tables:
        """The tables of these jobs once these files are there as well."""
        self._only.setattr(run, "JOBS", jobs)
        journal, out = self._folder / "journal", self._folder / ("whole" if whole else "nightly")
        for file in files:
            place = journal / file.relative_to(self._folder / "all")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, place)
        request = Request(str(journal), str(out), min_window=1, dead_days=2, whole=whole)
        texts = open_texts(self._spark, [request.journal])
        ingest_only(self._spark, request.journal, request.out, self.said.append)
        results = Results(self._spark, Folder(self._spark, request.out))
        computed(self._spark, request, results, self.said.append, texts)
        return {job.name: rows_of(out / results.place / job.name) for job in jobs}

    @property
    def known(self) -> list[str]:
        """The day from which each run continued."""
        return [text.split()[3].rstrip(":") for text in self.said if text.startswith("going on")]


def rows_of(path: Path) -> list[Any]:
    return sorted((rounded(plain(row)) for row in pyarrow.parquet.read_table(path).to_pylist()), key=repr)


def test_a_second_night_has_the_tables_of_one_run_over_everything(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten hours around midnight, cut at random times after it. Jobs that read only tables get the same tables, so they
    are left out; the first night needs only the tables that are kept of a closed day."""
    chance = random.Random(SEED)
    journals = random_journals(SEED, start_us=MIDNIGHT - 2 * HOUR, seconds=10 * 3600)
    files = write_files(journals, tmp_path / "all")
    cut = MIDNIGHT + 2 * HOUR + chance.randrange(4 * HOUR)
    before = [file for file in files if begin_of(file) < cut]
    nights = Nights(spark, tmp_path, monkeypatch)
    nights.run(before, with_inputs(["topic_segments", "imbalance", "group_members", "clock_offsets"]))
    compared = with_inputs(reading_records())
    found = nights.run([file for file in files if file not in before], compared)
    assert nights.known == ["2026-01-01"]
    assert not any("computed again" in text for text in nights.said)
    wanted = nights.run([], compared, whole=True)
    for name, rows in wanted.items():
        assert found[name] == rows, name
    out = Folder(spark, str(tmp_path / "nightly"))
    days = fingerprints(spark, stored_in(out.root), [])
    kept = [each.day for each in fitting(out, days)]
    assert kept == ["2026-01-01"]
    assert [each.day for each in fitting(out, days | {"2026-01-02": "has other records"})] == kept
    assert fitting(out, days | {"2026-01-01": "has other records"}) == []
    assert fitting(out, days | {"2025-12-31": "came late"}) == []


def begin_of(file: Path) -> int:
    """The time of its first record."""
    with file.open("rb") as lines:
        return int(orjson.loads(lines.readline())["ts"])
