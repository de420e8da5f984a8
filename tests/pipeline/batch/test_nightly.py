"""A run that continues where earlier runs stopped has the same tables as a run over everything."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.batch import run
from rocketns.pipeline.batch.inputs import inputs_of
from rocketns.pipeline.batch.run import Request, computed, ingest_only, options, read_part, stored_in
from rocketns.pipeline.contract.catalogue import BY_NAME, JOBS
from rocketns.pipeline.contract.job import Job
from rocketns.pipeline.storage.earlier import fingerprints, fitting
from rocketns.pipeline.storage.events.openfiles import open_texts
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.results import Results
from tests.pipeline.batch.runs import HOUR, MIDNIGHT, SEED, Whole, request_of
from tests.pipeline.frames import plain, rounded, seeds
from tests.pipeline.journals import Journal, write_files

Tables = Mapping[str, list[Any]]
DAY = "2026-01-01"

pytestmark = pytest.mark.slow


# Inputs that come from tables or options, not from records.
FROM_TABLES = {"system_topics", "read_segments", "sizes"}
NO_RECORDS = {"observation", "keep", "hold", *options(Request("", "")), *FROM_TABLES, *BY_NAME}


def with_inputs(tables: Iterable[str]) -> list[Job]:
    """The jobs of these tables, and of the tables they are computed from."""
    wanted = set(tables)
    todo = list(wanted)
    while todo:
        more = set(inputs_of(BY_NAME[todo.pop()])) & BY_NAME.keys() - wanted
        wanted |= more
        todo += more
    return [job for job in JOBS if job.name in wanted]


def reading_records() -> list[str]:
    """The tables whose jobs read more than tables and options."""
    return [job.name for job in JOBS if set(inputs_of(job)) - NO_RECORDS]


class Nights:
    """Runs of some jobs over a journal that grows."""

    def __init__(self, spark: SparkSession, whole: Whole, folder: Path, only: pytest.MonkeyPatch) -> None:
        self._spark, self._files, self._only = spark, whole.folder / "journal", only
        self.journal, self.out = folder / "journal", folder / "out"
        self.said: list[str] = []

    def run(self, files: Sequence[Path], jobs: Sequence[Job]) -> Tables:
        """The tables of these jobs once these files are there as well."""
        self._only.setattr(run, "JOBS", jobs)
        for file in files:
            copy = self.journal / file.relative_to(self._files)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copy)
        request = request_of(self.journal, self.out)
        texts = open_texts(self._spark, [request.journal])
        ingest_only(self._spark, request.journal, request.out, self.said.append)
        results = Results(self._spark, folder_at(self._spark, request.out))
        computed(self._spark, read_part(self._spark, request, texts), results, self.said.append)
        return tables_in(self.out / results.place, jobs)

    def closed(self) -> list[str]:
        """The closed days from which a run over the present files may go on."""
        ingest_only(self._spark, str(self.journal), str(self.out), self.said.append)
        out = folder_at(self._spark, str(self.out))
        return [each.day for each in fitting(out, fingerprints(self._spark, stored_in(out.root), []))]

    @property
    def known(self) -> list[str]:
        """The day from which each run continued."""
        return [text.split()[3].rstrip(":") for text in self.said if text.startswith("going on")]


def tables_in(folder: Path, jobs: Sequence[Job]) -> Tables:
    return {job.name: rows_of(folder / job.name) for job in jobs}


def rows_of(path: Path) -> list[Any]:
    return sorted((rounded(plain(row)) for row in pyarrow.parquet.read_table(path).to_pylist()), key=repr)


@pytest.mark.parametrize("seed", seeds(SEED))
def test_the_night_after_a_closed_day_has_the_tables_of_one_run_over_everything(
    spark: SparkSession, whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Eight hours around midnight, cut at a random time after it. The first night closes the first day, and the second
    one goes on from there, until a file of that day comes late. Jobs that read only tables get the same tables, so they
    are left out; the first night needs only the tables that are kept of a closed day."""
    cut = MIDNIGHT + 2 * HOUR + random.Random(seed).randrange(3 * HOUR)
    before = [file for file in whole.files if begin_of(file) < cut]
    closing = with_inputs(["topic_segments", "imbalance", "group_members", "clock_offsets"])
    nights = Nights(spark, whole, tmp_path, monkeypatch)
    nights.run(before, closing)
    compared = with_inputs(reading_records())
    found = nights.run([file for file in whole.files if file not in before], compared)
    assert nights.known == [DAY]
    assert not any("computed again" in text for text in nights.said)
    for name, rows in tables_in(whole.tables, compared).items():
        assert found[name] == rows, name
    assert nights.closed() == [DAY]
    write_files({"late": Journal(MIDNIGHT - HOUR, "late").records}, nights.journal)
    assert nights.closed() == []


def begin_of(file: Path) -> int:
    """The time of its first record."""
    with file.open("rb") as lines:
        return int(orjson.loads(lines.readline())["ts"])
