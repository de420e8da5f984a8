"""The stream's memory: versions that count only when they are whole, and small files on Spark's paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.contract.frames import columns
from rocketns.pipeline.storage.paths import Folder
from rocketns.pipeline.storage.statestore import VERSIONS_KEPT, StateStore

SCHEMA = columns("n:long name:string")


def stored(spark: SparkSession, root: Path, batch: int, *numbers: int, seal: bool = True) -> None:
    store = StateStore(spark, str(root), {"t": SCHEMA})
    store.begin(batch)
    store.keep(batch, "t", spark.createDataFrame([(n, "x") for n in numbers], SCHEMA))
    if seal:
        store.seal(batch, {"numbers": list(numbers)})


def numbers(spark: SparkSession, root: Path, batch: int) -> list[int]:
    tables, plain = StateStore(spark, str(root), {"t": SCHEMA}).before(batch)
    found = sorted(row["n"] for row in tables["t"].collect())
    assert plain == ({"numbers": found} if batch else None)
    return found


def test_a_batch_sees_the_version_of_the_one_before(spark: SparkSession, tmp_path: Path) -> None:
    assert numbers(spark, tmp_path, 0) == []
    stored(spark, tmp_path, 0, 1, 2)
    stored(spark, tmp_path, 1, 3)
    assert (numbers(spark, tmp_path, 1), numbers(spark, tmp_path, 2)) == ([1, 2], [3])


def test_a_version_that_was_not_sealed_does_not_count_and_is_made_anew(spark: SparkSession, tmp_path: Path) -> None:
    stored(spark, tmp_path, 0, 1)
    stored(spark, tmp_path, 0, 2, seal=False)
    with pytest.raises(BadInput, match="its memory is lost"):
        numbers(spark, tmp_path, 1)
    stored(spark, tmp_path, 0, 3)
    assert numbers(spark, tmp_path, 1) == [3]


def test_versions_that_no_replay_can_ask_for_are_deleted(spark: SparkSession, tmp_path: Path) -> None:
    for batch in range(VERSIONS_KEPT + 1):
        stored(spark, tmp_path, batch, batch)
    StateStore(spark, str(tmp_path), {"t": SCHEMA}).forget(VERSIONS_KEPT)
    assert Folder(spark, str(tmp_path)).names() == [f"batch={batch:010d}" for batch in range(1, VERSIONS_KEPT + 1)]


def test_small_files_are_written_read_listed_and_deleted(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, str(tmp_path / "new"))
    assert (folder.exists(), folder.names()) == (False, [])
    folder.write("a/b.json", "ü".encode())
    folder.write("a/b.json", "öö".encode())
    assert (folder.read("a/b.json").decode(), folder.names(), folder.names("a")) == ("öö", ["a"], ["b.json"])
    assert folder.local() == tmp_path / "new"
    folder.delete("a")
    with pytest.raises(BadInput, match=r"a/b\.json is not there"):
        folder.read("a/b.json")
