"""Files in S3 without Java: written in one step, listed with their sizes and times, deleted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.storage.files import bucket
from rocketns.pipeline.storage.files.bucket import Bucket
from tests.pipeline.elsewhere.s3 import Store, in_environment, s3_store


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with s3_store() as running, pytest.MonkeyPatch.context() as environment:
        for name, value in in_environment(running).items():
            environment.setenv(name, value)
        bucket._store.cache_clear()
        yield running
        bucket._store.cache_clear()


@pytest.fixture
def folder(store: Store, request: pytest.FixtureRequest) -> Bucket:
    return Bucket(f"s3a://{store.name}/{request.node.name}")


def test_a_file_is_written_replaced_and_read(folder: Bucket) -> None:
    assert folder.read("a/b") is None
    for data in (b"", b"one", b"another one"):
        folder.write("a/b", data)
        assert folder.read("a/b") == data
    assert folder.read("a/b", 0, 3) == b"ano"
    assert folder.read("a/b", 8) == b"one"
    assert folder.names("a") == ["b"]


def test_a_published_file_is_not_replaced(folder: Bucket) -> None:
    assert folder.publish("a/b", b"first")
    assert not folder.publish("a/b", b"second")
    assert folder.read("a/b") == b"first"


def test_files_are_listed_as_spark_names_them_with_size_and_time(folder: Bucket) -> None:
    names = ("v=1/dt=1/.open-5-000001", "v=1/dt=1/ns=10.0.0.1%3A9876/5-000001.jsonl", "v=1/dt=2/6 7.jsonl", "x")
    for size, name in enumerate(names):
        folder.write(name, b"." * size)
    found = sorted((path.removeprefix(f"{folder.absolute}/"), size) for path, size, _ in folder.files())
    assert found == sorted((name, size) for size, name in enumerate(names))
    assert all(path.startswith("s3a://") and 1_700_000_000_000 < at < 2**45 for path, _, at in folder.files())
    days = Bucket(f"{folder.absolute}/v=*/dt=1")
    assert [path.rpartition("/")[2] for path, _, _ in days.files()] == [".open-5-000001", "5-000001.jsonl"]


def test_files_and_folders_are_deleted(folder: Bucket) -> None:
    for name in ("a/b", "c"):
        folder.write(name, b"x")
        folder.delete(name)
        assert not folder.exists(name)
    folder.write("a/d/e", b"x")
    folder.delete("a")
    assert not folder.exists("a")
    folder.delete("a")


def test_what_is_not_in_s3_is_refused() -> None:
    with pytest.raises(BadInput, match="hdfs://host/out: through Spark Connect"):
        Bucket("hdfs://host/out")
