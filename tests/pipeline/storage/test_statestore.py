"""The stream's memory: versions that count only when they are whole, and small files on Spark's paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.contract.frames import columns, frame_of
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.statestore import VERSIONS_KEPT, StateStore

SCHEMA = columns("n:long name:string")


def stored(spark: SparkSession, root: Path, batch: int, *numbers: int, seal: bool = True) -> None:
    store = StateStore(spark, str(root), {"t": SCHEMA})
    store.begin(batch)
    store.keep(batch, "t", frame_of(spark, [(n, "x") for n in numbers], SCHEMA))
    if seal:
        store.seal(batch, {"numbers": list(numbers)})


def last(spark: SparkSession, root: Path) -> tuple[int, list[int]]:
    """The number of the last version, and what is in its table."""
    batch, tables, plain = StateStore(spark, str(root), {"t": SCHEMA}).last()
    found = sorted(row["n"] for row in tables["t"].collect())
    assert plain == ({"numbers": found} if batch >= 0 else None)
    return batch, found


def test_the_last_version_counts(spark: SparkSession, tmp_path: Path) -> None:
    assert last(spark, tmp_path) == (-1, [])
    stored(spark, tmp_path, 0, 1, 2)
    stored(spark, tmp_path, 1, 3)
    assert last(spark, tmp_path) == (1, [3])


def test_a_version_that_was_not_sealed_does_not_count_and_is_made_anew(spark: SparkSession, tmp_path: Path) -> None:
    stored(spark, tmp_path, 0, 1)
    stored(spark, tmp_path, 1, 2, seal=False)
    assert last(spark, tmp_path) == (0, [1])
    stored(spark, tmp_path, 1, 3)
    assert last(spark, tmp_path) == (1, [3])


def test_lost_versions_are_told_from_none(spark: SparkSession, tmp_path: Path) -> None:
    stored(spark, tmp_path, 7, 1, seal=False)
    with pytest.raises(BadInput, match="memory is lost"):
        last(spark, tmp_path)


def test_versions_of_another_format_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    stored(spark, tmp_path, 0, 1)
    folder_at(spark, str(tmp_path)).write("batch=0000000000/plain.json", b'{"cut": 5}')
    with pytest.raises(BadInput, match="another version"):
        last(spark, tmp_path)


def test_a_table_that_did_not_change_is_not_written_again_and_not_forgotten(
    spark: SparkSession, tmp_path: Path
) -> None:
    schemas = {"steady": SCHEMA, "busy": SCHEMA}
    store = StateStore(spark, str(tmp_path), schemas)
    tables = store.last().tables
    tables["steady"] = frame_of(spark, [(1, "x")], SCHEMA)
    for batch in range(6):
        tables["busy"] = frame_of(spark, [(batch, "x")], SCHEMA)
        store.begin(batch)
        tables = {name: store.keep(batch, name, frame) for name, frame in tables.items()}
        store.seal(batch, None)
        store.forget(batch)
    written = sorted((int(path.parent.name[6:]), path.name) for path in tmp_path.glob("batch=*/*") if path.is_dir())
    assert written == [(0, "busy"), (0, "steady"), (3, "busy"), (4, "busy"), (5, "busy")]
    again = StateStore(spark, str(tmp_path), schemas).last()
    assert [row["n"] for name in ("steady", "busy") for row in again.tables[name].collect()] == [1, 5]


def test_versions_that_nothing_needs_are_deleted(spark: SparkSession, tmp_path: Path) -> None:
    for batch in range(VERSIONS_KEPT + 1):
        stored(spark, tmp_path, batch, batch)
    StateStore(spark, str(tmp_path), {"t": SCHEMA}).forget(VERSIONS_KEPT)
    assert folder_at(spark, str(tmp_path)).names() == [f"batch={batch:010d}" for batch in range(1, VERSIONS_KEPT + 1)]


def test_small_files_are_written_read_listed_and_deleted(spark: SparkSession, tmp_path: Path) -> None:
    folder = folder_at(spark, str(tmp_path / "new"))
    assert (folder.exists(), folder.names()) == (False, [])
    folder.write("a/b.json", "ü".encode())
    folder.write("a/b.json", "öö".encode())
    assert (folder.read("a/b.json").decode(), folder.names(), folder.names("a")) == ("öö", ["a"], ["b.json"])
    assert folder.here == tmp_path / "new"
    folder.delete("a")
    with pytest.raises(BadInput, match=r"a/b\.json is not there"):
        folder.read("a/b.json")
