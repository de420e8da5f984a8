"""Small tables are read back into the plans that use them; large ones stay files."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import frame_of
from rocketns.pipeline.contract.schema import TOPIC_SEGMENTS
from rocketns.pipeline.storage import held
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.results import Results


def is_held(frame: DataFrame) -> bool:
    """Whether its plan has the rows themselves."""
    return not frame.inputFiles()


def test_the_rows_of_a_small_table_are_a_part_of_the_plan(spark: SparkSession, tmp_path: Path) -> None:
    """Nested columns, nulls and a table without a row included."""
    view = [{"ns": "n1", "view": [{"broker": "b", "r": 1, "w": 2, "p": None}]}, {"ns": "n2", "view": []}]
    results = Results(spark, folder_at(spark, str(tmp_path)))
    for rows in ([("t", 1, 2, view), (None, None, 3, None)], []):
        written = frame_of(spark, rows, TOPIC_SEGMENTS)
        kept = results.save("topic_segments", written)
        assert is_held(kept)
        assert kept.schema == TOPIC_SEGMENTS
        assert kept.collect() == written.collect() == spark.read.parquet(*files(tmp_path)).collect()


@pytest.mark.parametrize("limit", ["HELD_MAX", "HELD_BYTES_MAX"])
def test_a_large_table_stays_a_file(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(held, limit, 2)
    kept = Results(spark, folder_at(spark, str(tmp_path))).save("skew", spark.range(3))
    assert not is_held(kept)
    assert kept.agg(F.sum("id")).collect() == [(3,)]


def files(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*.parquet")]
