"""Which files count as ingested: published in one step, from one journal, without reading the records again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.storage import ingest as ingesting
from rocketns.pipeline.storage.events.manifest import Manifest, State
from rocketns.pipeline.storage.events.stored import delivered, read_events
from rocketns.pipeline.storage.ingest import ingest
from tests.pipeline.frames import rows

LINE = '{"boot":5,"seq":%d,"ts":%d,"ev":"open"}\n'


def written(journal: Path, number: int, version: int = 1, ns: str = "n1") -> None:
    path = journal / f"v={version}" / "dt=2026-01-01" / f"ns={ns}" / f"5-{number:06}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(LINE % (number, number), "utf-8")


def seqs(spark: SparkSession, out: str) -> list[int]:
    return [row[0] for row in rows(read_events(spark, out).select("seq"))]


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, str]:
    """A journal of one record, and where it goes."""
    written(tmp_path / "journal", 1)
    return tmp_path / "journal", str(tmp_path / "out" / "events")


def test_the_manifest_alone_tells_new_files(spark: SparkSession, places: tuple[Path, str]) -> None:
    journal, out = places
    ingest(spark, str(journal), out)
    shutil.rmtree(Path(out) / "data")
    assert ingest(spark, str(journal), out).skipped == 1


def test_a_crash_before_publishing_leaves_what_was_there(
    spark: SparkSession, places: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, out = places
    ingest(spark, str(journal), out)
    written(journal, 2)

    def crash(_self: Manifest, _state: State) -> State:
        raise MemoryError

    with monkeypatch.context() as crashing:
        crashing.setattr(Manifest, "publish", crash)
        with pytest.raises(MemoryError):
            ingest(spark, str(journal), out)
    assert seqs(spark, out) == [1]
    assert ingest(spark, str(journal), out).files == 1
    assert seqs(spark, out) == [1, 2]


def test_two_ingests_at_once_store_each_record_once(
    spark: SparkSession, places: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one publishes while the first one has staged its files."""
    journal, out = places
    publish, others = Manifest.publish, [True]

    def late(self: Manifest, state: State) -> State | None:
        if state.parts and others:
            others.clear()
            ingest(spark, str(journal), out)
        return publish(self, state)

    monkeypatch.setattr(Manifest, "publish", late)
    assert ingest(spark, str(journal), out).skipped == 1
    assert seqs(spark, out) == [1]


def test_another_journal_is_refused(spark: SparkSession, places: tuple[Path, str], tmp_path: Path) -> None:
    journal, out = places
    ingest(spark, str(journal), out)
    assert ingest(spark, f"{journal}/v=1/", out).skipped == 1
    written(tmp_path / "other", 1)
    with pytest.raises(BadInput, match=r"belongs to the journal file:.*/journal, and --journal is .*/other\. Name"):
        ingest(spark, str(tmp_path / "other"), out)


def test_events_of_an_older_rocketns_are_refused(spark: SparkSession, places: tuple[Path, str]) -> None:
    journal, out = places
    (Path(out) / "dt=2026-01-01" / "ns=n1" / "segment=5-000001").mkdir(parents=True)
    with pytest.raises(BadInput, match="as an older rocketns stored them"):
        ingest(spark, str(journal), out)


def test_files_of_another_version_are_counted_and_left_out(spark: SparkSession, places: tuple[Path, str]) -> None:
    journal, out = places
    written(journal, 2, version=2)
    assert ingest(spark, str(journal), out).foreign == {"2": 1}
    assert delivered(spark, out).foreign == {"2": 1}
    assert seqs(spark, out) == [1]


def test_small_files_are_written_again_as_one(
    spark: SparkSession, places: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, out = places
    monkeypatch.setattr(ingesting, "SMALL_FILES_MAX", 2)
    for number in (2, 3, 4):
        ingest(spark, str(journal), out)
        written(journal, number)
    ingest(spark, str(journal), out)
    (merged, last) = sorted(Manifest(spark, out).state().parts, key=lambda part: part.first)
    assert (merged.files, merged.first, merged.last, last.first) == (1, 1, 3, 4)
    assert seqs(spark, out) == [1, 2, 3, 4]


def test_small_files_of_many_folders_are_written_again_by_one_query(
    spark: SparkSession, places: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, out = places
    monkeypatch.setattr(ingesting, "SMALL_FILES_MAX", 1)
    servers = ("n1", "n2", "n3")
    for number in (1, 2):
        for ns in servers:
            written(journal, number, ns=ns)
        ingest(spark, str(journal), out)
    state = Manifest(spark, out).state()
    assert [(part.ns, part.files, part.first, part.last) for part in state.parts] == [(ns, 1, 1, 2) for ns in servers]
    assert len({part.path.split("/")[1] for part in state.parts}) == 1, "all folders are of one query"
    assert seqs(spark, out) == [1, 1, 1, 2, 2, 2]
