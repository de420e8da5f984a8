"""Files here and elsewhere, and what is kept in them: results, the memory of the stream, small tables."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import columns, frame_of
from rocketns.pipeline.contract.terms import BadInput
from rocketns.pipeline.storage import results as storing
from rocketns.pipeline.storage.folders import Folder, Hadoop, folder_at
from rocketns.pipeline.storage.results import Results
from rocketns.pipeline.stream.statestore import StateStore

# Elsewhere is played by Hadoop's file system of this machine, on the ways of HDFS and of an object store.
ELSEWHERE = ("hdfs", "s3a")


@pytest.fixture(params=["here", *ELSEWHERE])
def folder(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Folder:
    if request.param == "here":
        return folder_at(spark, str(tmp_path))
    elsewhere = Hadoop(spark, str(tmp_path))
    elsewhere.scheme = request.param
    return elsewhere


def test_files_are_written_in_one_step_read_listed_and_deleted(
    folder: Folder, spark: SparkSession, tmp_path: Path
) -> None:
    assert folder.part("a/b") is None
    with pytest.raises(BadInput, match="is not there"):
        folder.read("a/b")
    for data in (b"", b"one", b"another one"):
        folder.write("a/b", data)
        assert folder.read("a/b") == data
    assert folder.part("a/b", 0, 3) == b"ano"
    # Hadoop checks what it reads with a sum that it wrote beside the file, which this process does not.
    folder_at(spark, str(tmp_path)).write("a/b", b"by this process")
    assert folder.read("a/b") == b"by this process"
    assert (folder.publish("x/c", b"first"), folder.publish("x/c", b"second")) == (True, False)
    assert folder.read("x/c") == b"first"
    for name, size in (("x/.open-5-000001", 3), ("x/y z/5-000001.jsonl", 5), ("x/c", 5)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"." * size)
        os.utime(tmp_path / name, (1_700_000_000, 1_700_000_000))
    folder.delete("a")
    assert (folder.exists("a"), folder.names("a")) == (False, [])
    found = sorted((path.partition(tmp_path.name)[2], *rest) for path, *rest in folder.files() if ".crc" not in path)
    at = 1_700_000_000_000
    assert found == [("/x/.open-5-000001", 3, at), ("/x/c", 5, at), ("/x/y z/5-000001.jsonl", 5, at)]


def run_of(spark: SparkSession, out: Path, name: str) -> Results:
    """A run with one table, which is not published."""
    results = Results(spark, folder_at(spark, str(out)), f"20260101T000000-{name:0>8}")
    results.save("topics", spark.range(int(name, 16)))
    return results


def publish(results: Results, page: bytes = b"") -> None:
    pages = dict.fromkeys(storing.PAGES, page or results.run.encode())
    results.publish({"run": results.run, "results": results.place}, pages)


def shown(out: Path) -> tuple[str, str]:
    """The run that counts, and the one whose page is shown."""
    return json.loads((out / "summary.json").read_text("utf-8"))["run"], (out / "report.html").read_text("utf-8")


def test_a_run_that_crashes_leaves_the_results_of_the_run_before(spark: SparkSession, tmp_path: Path) -> None:
    publish(run_of(spark, tmp_path, "1"))
    run_of(spark, tmp_path, "2")
    folder = folder_at(spark, str(tmp_path))
    found = Results(spark, folder, storing.current(folder)["run"])
    assert (found.run[-1], found.frame("topics").count()) == ("1", 1)


def test_two_runs_at_once_show_the_page_of_the_one_that_counts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run finishes between the summary and the page of the first run."""
    first, second = run_of(spark, tmp_path, "1"), run_of(spark, tmp_path, "2")
    show = storing.show_pages

    def late(out: Folder) -> None:
        monkeypatch.setattr(storing, "show_pages", show)
        publish(second)
        show(out)

    monkeypatch.setattr(storing, "show_pages", late)
    publish(first)
    assert shown(tmp_path) == (second.run, second.run)


SCHEMA = columns("n:long name:string")


def stored(spark: SparkSession, root: Path, batch: int, *numbers: int, seal: bool = True) -> None:
    store = StateStore(spark, str(root), {"t": SCHEMA})
    store.begin(batch)
    store.write(batch, "t", frame_of(spark, [(n, "x") for n in numbers], SCHEMA))
    if seal:
        store.seal(batch, {"numbers": list(numbers)})


def last(spark: SparkSession, root: Path) -> tuple[int, list[int]]:
    """The number of the last version, and what is in its table."""
    batch, tables, plain = StateStore(spark, str(root), {"t": SCHEMA}).last()
    found = sorted(row["n"] for row in tables["t"].collect())
    assert plain == ({"numbers": found} if batch >= 0 else None)
    return batch, found


def test_a_version_that_was_not_sealed_does_not_count_and_is_made_anew(spark: SparkSession, tmp_path: Path) -> None:
    stored(spark, tmp_path, 0, 1)
    stored(spark, tmp_path, 1, 2, seal=False)
    assert last(spark, tmp_path) == (0, [1])
    stored(spark, tmp_path, 1, 3)
    assert last(spark, tmp_path) == (1, [3])
    stored(spark, tmp_path / "lost", 7, 1, seal=False)
    with pytest.raises(BadInput, match="memory is lost"):
        last(spark, tmp_path / "lost")


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
        tables = {name: store.write(batch, name, frame) for name, frame in tables.items()}
        store.seal(batch, None)
        store.forget(batch)
    written = sorted((int(path.parent.name[6:]), path.name) for path in tmp_path.glob("batch=*/*") if path.is_dir())
    assert written == [(0, "busy"), (0, "steady"), (3, "busy"), (4, "busy"), (5, "busy")]
    again = StateStore(spark, str(tmp_path), schemas).last()
    assert [row["n"] for name in ("steady", "busy") for row in again.tables[name].collect()] == [1, 5]
