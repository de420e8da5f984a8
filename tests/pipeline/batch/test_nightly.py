"""A run that continues where earlier runs stopped has the same tables as a run over everything."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.batch.run import computed, ingest_only, read_part, stored_in
from rocketns.pipeline.storage.earlier import fingerprints, fitting
from rocketns.pipeline.storage.events.openfiles import open_texts
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.results import Results
from tests.pipeline.batch.runs import HOUR, MIDNIGHT, SEED, Whole, request_of
from tests.pipeline.frames import seeds
from tests.pipeline.journals import Journal, write_files
from tests.pipeline.tables import tables_in

DAY = "2026-01-01"

pytestmark = pytest.mark.slow


class Nights:
    """Runs over a journal that grows."""

    def __init__(self, spark: SparkSession, whole: Whole, folder: Path) -> None:
        self._spark, self._files = spark, whole.folder / "journal"
        self.journal, self.out = folder / "journal", folder / "out"
        self.said: list[str] = []

    def run(self, files: Sequence[Path]) -> dict[str, list[str]]:
        """The tables once these files are there as well."""
        for file in files:
            copy = self.journal / file.relative_to(self._files)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copy)
        request = request_of(self.journal, self.out)
        texts = open_texts(self._spark, [request.journal])
        ingest_only(self._spark, request.journal, request.out, self.said.append)
        results = Results(self._spark, folder_at(self._spark, request.out))
        computed(self._spark, read_part(self._spark, request, texts), results, self.said.append)
        return tables_in(self.out / results.place)

    def closed(self) -> list[str]:
        """The closed days from which a run over the present files may go on."""
        ingest_only(self._spark, str(self.journal), str(self.out), self.said.append)
        out = folder_at(self._spark, str(self.out))
        return [each.day for each in fitting(out, fingerprints(self._spark, stored_in(out.root), []))]

    @property
    def known(self) -> list[str]:
        """The day from which each run continued."""
        return [text.split()[3].rstrip(":") for text in self.said if text.startswith("going on")]


@pytest.mark.parametrize("seed", seeds(SEED))
def test_the_night_after_a_closed_day_has_the_tables_of_one_run_over_everything(
    spark: SparkSession, whole: Whole, tmp_path: Path, seed: int
) -> None:
    """Eight hours around midnight, cut at a random time after it. The first night closes the first day, and the second
    one goes on from there, until a file of that day comes late."""
    cut = MIDNIGHT + 2 * HOUR + random.Random(seed).randrange(3 * HOUR)
    before = [file for file in whole.files if begin_of(file) < cut]
    nights = Nights(spark, whole, tmp_path)
    nights.run(before)
    found = nights.run([file for file in whole.files if file not in before])
    assert nights.known == [DAY]
    assert not any("computed again" in text for text in nights.said)
    assert found == tables_in(whole.tables)
    assert nights.closed() == [DAY]
    write_files({"late": Journal(MIDNIGHT - HOUR, "late").records}, nights.journal)
    assert nights.closed() == []


def begin_of(file: Path) -> int:
    """The time of its first record."""
    with file.open("rb") as lines:
        return int(orjson.loads(lines.readline())["ts"])
