"""Files on this machine and elsewhere: written in one step, listed with their sizes and times."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.storage.files.folder import Folder
from rocketns.pipeline.storage.files.hadoop import Hadoop
from rocketns.pipeline.storage.paths import folder_at

# Elsewhere is played by Hadoop's file system of this machine, on the ways of HDFS and of an object store.
ELSEWHERE = ("hdfs", "s3a")


@pytest.fixture(params=["here", *ELSEWHERE])
def folder(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Folder:
    if request.param == "here":
        return folder_at(spark, str(tmp_path))
    elsewhere = Hadoop(spark, str(tmp_path))
    elsewhere.scheme = request.param
    return elsewhere


def test_a_file_is_written_replaced_and_read(folder: Folder) -> None:
    assert folder.part("a/b") is None
    with pytest.raises(BadInput, match="is not there"):
        folder.read("a/b")
    for data in (b"", b"one", b"another one"):
        folder.write("a/b", data)
        assert folder.read("a/b") == data
    assert folder.part("a/b", 0, 3) == b"ano"
    assert [name for name in folder.names("a") if not name.startswith(".")] == ["b"]


def test_a_published_file_is_not_replaced(folder: Folder) -> None:
    assert folder.publish("a/b", b"first")
    assert not folder.publish("a/b", b"second")
    assert folder.read("a/b") == b"first"


def test_files_are_listed_with_size_and_time(folder: Folder, tmp_path: Path) -> None:
    for name, size in (("x/.open-5-000001", 3), ("x/y z/5-000001.jsonl", 5)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"." * size)
        os.utime(tmp_path / name, (1_700_000_000, 1_700_000_000))
    found = sorted((path.partition(tmp_path.name)[2], *rest) for path, *rest in folder.files())
    at = 1_700_000_000_000
    assert found == [("/x/.open-5-000001", 3, at), ("/x/y z/5-000001.jsonl", 5, at)]


def test_files_and_folders_are_deleted(folder: Folder) -> None:
    for name in ("a/b", "c"):
        folder.write(name, b"x")
        folder.delete(name)
        assert not folder.exists(name)
    folder.delete("a")
    assert not folder.exists("a")
    assert folder.names("a") == []


def test_hadoop_reads_a_file_that_this_process_wrote(folder: Folder, spark: SparkSession, tmp_path: Path) -> None:
    """Hadoop checks what it reads with a sum that it wrote beside the file."""
    folder.write("a", b"one")
    folder_at(spark, str(tmp_path)).write("a", b"another one")
    assert folder.read("a") == b"another one"


@pytest.mark.parametrize("by_spark", [False, True])
def test_a_folder_has_a_name_for_any_working_directory(spark: SparkSession, *, by_spark: bool) -> None:
    assert folder_at(spark if by_spark else None, "my audit/").anywhere == f"{Path.cwd()}/my audit"
