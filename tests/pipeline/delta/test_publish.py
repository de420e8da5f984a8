"""The content of --out as tables of Delta Lake: every record once, whatever happens in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.contract.frames import frame_of
from rocketns.pipeline.contract.schema import EVENTS, QUALITY
from rocketns.pipeline.delta.publish import publish
from rocketns.pipeline.storage.events.stored import read_events
from rocketns.pipeline.storage.ingest import ingest
from rocketns.pipeline.storage.paths import Folder
from rocketns.pipeline.storage.results import PAGES, Results
from tests.pipeline.journals import random_journals, write_files

KEY = ("dt", "ns", "boot", "seq")


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture
def out(tmp_path: Path) -> str:
    return str(tmp_path / "out")


@pytest.fixture
def to(tmp_path: Path) -> str:
    return str(tmp_path / "tables")


def ingested(spark: SparkSession, journal: Path, out: str) -> list[dict[str, Any]]:
    """Ingest the journal. Returns all its records, sorted by their keys."""
    ingest(spark, str(journal), f"{out}/events")
    return ordered(read_events(spark, f"{out}/events").toArrow().to_pylist())


def table(uri: str) -> list[dict[str, Any]]:
    return DeltaTable(uri).to_pyarrow_table().to_pylist()


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: [row[name] for name in KEY])


def silent(_: str) -> None:
    """Progress that nobody looks at."""


def test_all_records_are_in_the_table_with_every_column(spark: SparkSession, journal: Path, out: str, to: str) -> None:
    write_files(random_journals(21), journal)
    records = ingested(spark, journal, out)
    assert publish(out, to, silent).records == len(records)
    rows = ordered(table(f"{to}/events"))
    assert [{name: row[name] for name in EVENTS.names} for row in rows] == records


def test_what_is_there_is_not_written_again_and_what_came_late_is(
    spark: SparkSession, journal: Path, out: str, to: str
) -> None:
    paths = write_files(random_journals(22), journal)
    late = paths[-1].rename(paths[-1].with_suffix(".late"))
    ingested(spark, journal, out)
    publish(out, to, silent)
    version = DeltaTable(f"{to}/events").version()
    assert publish(out, to, silent)[:3] == (0, 0, 0)
    assert DeltaTable(f"{to}/events").version() == version
    late.rename(paths[-1])
    records = ingested(spark, journal, out)
    done = publish(out, to, silent)
    assert (done.days, DeltaTable(f"{to}/events").version()) == (1, version + 1)
    assert len(table(f"{to}/events")) == len(records)


def test_after_an_end_in_the_middle_the_rest_is_written_once(
    spark: SparkSession, journal: Path, out: str, to: str
) -> None:
    class EndedError(Exception):
        pass

    def end_at_second(text: str) -> None:
        if "(2 of" in text:
            raise EndedError

    write_files(random_journals(23), journal)
    records = ingested(spark, journal, out)
    with pytest.raises(EndedError):
        publish(out, to, end_at_second)
    assert 0 < len(table(f"{to}/events")) < len(records)
    publish(out, to, silent)
    keys = [[row[name] for name in KEY] for row in ordered(table(f"{to}/events"))]
    assert keys == [[row[name] for name in KEY] for row in records]


def test_records_that_are_stored_in_other_files_later_are_not_inserted_again(
    spark: SparkSession, journal: Path, out: str, to: str
) -> None:
    """As if many small files had been rewritten as few."""
    write_files(random_journals(24), journal)
    count = len(ingested(spark, journal, out))
    publish(out, to, silent)
    data = Path(out, "events", "data")
    (batch,) = data.iterdir()
    batch.rename(data / f"{batch.name}x")
    for manifest in Path(out, "events", "manifest").glob("*.json"):
        manifest.write_text(manifest.read_text("utf-8").replace(batch.name, f"{batch.name}x"), "utf-8")
    done = publish(out, to, silent)
    assert done.records == 0
    assert done.days > 0
    assert len(table(f"{to}/events")) == count


def test_a_table_of_another_journal_is_refused(
    spark: SparkSession, journal: Path, out: str, to: str, tmp_path: Path
) -> None:
    write_files(random_journals(25), journal)
    ingested(spark, journal, out)
    publish(out, to, silent)
    write_files(random_journals(25), tmp_path / "other")
    ingested(spark, tmp_path / "other", f"{out}-2")
    with pytest.raises(BadInput, match="name another --to"):
        publish(f"{out}-2", to, silent)


def test_two_at_once_insert_nothing_twice(spark: SparkSession, journal: Path, out: str, to: str) -> None:
    """One of them fails with a message, because the other one makes a whole call in the middle of it."""
    write_files(random_journals(27), journal)
    records = ingested(spark, journal, out)
    others: list[int] = []

    def another(_: str) -> None:
        if not others:
            others.append(0)
            others.append(publish(out, to, silent).records)

    with pytest.raises(BadInput, match="start the command again"):
        publish(out, to, another)
    assert others[1] == len(records) == len(table(f"{to}/events"))


def test_without_records_it_says_what_to_start(out: str, to: str) -> None:
    with pytest.raises(BadInput, match="rocketns audit run"):
        publish(out, to, silent)
    assert not Path(to).exists()


def test_a_folder_elsewhere_is_refused(to: str) -> None:
    with pytest.raises(BadInput, match="not a folder of this machine"):
        publish("s3a://bucket/audit", to, silent)


def test_result_tables_are_those_of_the_last_run(spark: SparkSession, journal: Path, out: str, to: str) -> None:
    write_files(random_journals(26), journal)
    ingested(spark, journal, out)
    for number in (1, 2):
        results = Results(spark, Folder(spark, out))
        results.keep("quality", frame_of(spark, [("hole", "n1", number, 0, 0, 1, "")], QUALITY))
        results.publish({"run": results.run}, dict.fromkeys(PAGES, b""))
        assert publish(out, to, silent)[2:] == (1, results.run)
        assert [row["boot"] for row in table(f"{to}/results/quality")] == [number]
        assert publish(out, to, silent).tables == 0
