"""From files to Parquet: every finished file once, and every line accounted for."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import EVENTS, FILES
from rocketns.pipeline.storage.events.lines import parsed, records
from rocketns.pipeline.storage.events.listing import journal_files
from rocketns.pipeline.storage.events.stored import read_events, read_files
from rocketns.pipeline.storage.ingest import Ingested, ingest
from tests.pipeline.duck import ingest as duck
from tests.pipeline.frames import rows
from tests.pipeline.journals import DAY_START, SECOND, Journal, events_frame, random_journals, topic, write_files

DAY = 86_400 * SECOND


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, str]:
    """Where the journal is and where it goes."""
    return tmp_path / "journal", str(tmp_path / "out" / "events")


def test_events_come_out_as_they_were_written(spark: SparkSession, places: tuple[Path, str]) -> None:
    journal, out = places
    journals = random_journals(11)
    paths = write_files(journals, journal)
    done = ingest(spark, str(journal), out)
    assert done == Ingested(len(paths), sum(path.stat().st_size for path in paths), 0)
    events = read_events(spark, out)
    assert events.schema.simpleString() == EVENTS.simpleString()
    wanted = rows(events_frame(spark, journals).drop("dt", "ns"))
    assert rows(events.drop("dt", "ns")) == wanted
    assert rows(events.groupBy("ns").count()) == [(ns, len(records)) for ns, records in sorted(journals.items())]
    assert rows(events) == duck.events(journal)


def test_a_file_that_was_ingested_is_not_read_again_and_new_ones_are(
    spark: SparkSession, places: tuple[Path, str]
) -> None:
    journal, out = places
    paths = write_files(random_journals(12), journal)
    late = paths[-1].rename(paths[-1].with_suffix(".late"))
    first = ingest(spark, str(journal), out)
    before = rows(read_events(spark, out))
    assert ingest(spark, str(journal), out) == Ingested(0, 0, first.files)
    assert rows(read_events(spark, out)) == before
    size = late.rename(paths[-1]).stat().st_size
    assert ingest(spark, str(journal), out) == Ingested(1, size, first.files)
    assert len(rows(read_events(spark, out))) == len(before) + len(paths[-1].read_text("utf-8").splitlines())


def test_a_file_that_grew_takes_its_own_place_and_leaves_the_others(
    spark: SparkSession, places: tuple[Path, str]
) -> None:
    journal, out = places
    for number in (1, 2):
        path = file_of(journal, "n1", f"5-00000{number}", f'{{"boot":5,"seq":{number},"ts":1,"ev":"open"}}\n')
    ingest(spark, str(journal), out)
    path.write_text('{"boot":5,"seq":2,"ts":1,"ev":"open"}\n{"boot":5,"seq":3,"ts":2,"ev":"stop"}\n', "utf-8")
    assert ingest(spark, str(journal), out).files == 1
    assert sorted(row[1:4] for row in rows(read_events(spark, out).select("boot", "seq", "ts", "ev"))) == [
        (1, 1, "open"), (2, 1, "open"), (3, 2, "stop"),
    ]  # fmt: skip
    assert [row[4:] for row in rows(read_files(spark, out))] == [(1, 0, 1, 1, False), (2, 0, 1, 2, False)]


def test_records_of_a_replaced_file_are_not_stored_again(spark: SparkSession, places: tuple[Path, str]) -> None:
    journal, out = places
    for name, seq in (("5-000001", 10), ("5-000001", 20), ("5-000002", 10)):
        file_of(journal, "n1", name, f'{{"boot":5,"seq":{seq},"ts":{seq},"ev":"open"}}\n')
        ingest(spark, str(journal), out)
    assert rows(read_events(spark, out).select("seq")) == [(10,), (20,)]


def test_lines_that_do_not_parse_are_counted_by_file_and_left_out(
    spark: SparkSession, places: tuple[Path, str]
) -> None:
    journal, out = places
    good = '{"boot":5,"seq":2,"ts":1700000000000000,"ev":"hb","novelty":{"a":1}}\n'
    torn, typed, empty, blank = '{"boot":5,"se\n', '{"boot":5,"seq":3,"ts":"soon","ev":"hb"}\n', "{}\n", "\n"
    file_of(journal, "n1", "5-000001", good + torn + good.replace("2", "4") + typed)
    file_of(journal, "n2", "6-000001", good + empty + blank + good)
    ingest(spark, str(journal), out)
    files = read_files(spark, out)
    assert files.schema.simpleString() == FILES.simpleString()
    assert [(r[1], r[2], r[4], r[5]) for r in rows(files)] == [("n1", "5-000001", 4, 2), ("n2", "6-000001", 3, 1)]
    assert rows(files.select("ns", "lines", "corrupt")) == duck.counts(journal)
    assert [r[:2] for r in rows(read_events(spark, out).select("ns", "seq"))] == [
        ("n1", 2), ("n1", 4), ("n2", 2),
    ]  # fmt: skip


def test_an_empty_file_is_read_and_holds_nothing(spark: SparkSession, places: tuple[Path, str]) -> None:
    journal, out = places
    file_of(journal, "n1", "5-000001", "")
    for skipped in (0, 1):
        assert ingest(spark, str(journal), out).skipped == skipped
    assert rows(read_events(spark, out)) == []
    assert [row[3:6] for row in rows(read_files(spark, out))] == [(0, 0, 0)]


def test_files_that_are_being_written_are_passed_over(spark: SparkSession, places: tuple[Path, str]) -> None:
    journal, out = places
    line = '{"boot":5,"seq":1,"ts":1,"ev":"open"}\n'
    file_of(journal, "n1", "5-000001", line)
    (journal / "v=1" / ".lock-n1").write_text("", "utf-8")
    for name in (".open-5-000002", ".5-000003.jsonl", "notes.txt"):
        (journal / "v=1" / "dt=2026-01-01" / "ns=n1" / name).write_text(line, "utf-8")
    assert [file.segment for file in journal_files(spark, [str(journal)]).closed] == ["5-000001"]
    assert ingest(spark, str(journal), out).files == 1


def test_journals_of_several_folders_go_together_and_a_file_in_two_counts_once(
    spark: SparkSession, places: tuple[Path, str]
) -> None:
    journal, out = places
    line = '{"boot":5,"seq":1,"ts":1,"ev":"open"}\n'
    for folder, ns in (("a", "n1"), ("b", "n2"), ("b", "n1")):
        file_of(journal / folder, ns, "5-000001", line)
    assert ingest(spark, [str(journal / "a"), str(journal / "b" / "v=1")], out).copies == 1
    assert [row[:3] for row in rows(read_files(spark, out))] == [
        ("2026-01-01", "n1", "5-000001"), ("2026-01-01", "n2", "5-000001"),
    ]  # fmt: skip
    assert rows(read_events(spark, out).select("ns", "dt")) == [("n1", "2026-01-01"), ("n2", "2026-01-01")]


def test_only_the_days_around_an_observation_are_read(spark: SparkSession, places: tuple[Path, str]) -> None:
    journal, out = places
    life = Journal(DAY_START, "n1")
    for day in range(1, 5):
        life.open_file(DAY_START + day * DAY)
    write_files({"n1": life.records}, journal)
    ingest(spark, str(journal), out)
    noon = Observation(DAY_START + 2 * DAY + DAY // 2, DAY_START + 2 * DAY + DAY // 2 + SECOND)
    assert {row[0] for row in rows(read_events(spark, out, noon).select("dt"))} == {"2026-01-02", "2026-01-03"}


def test_lines_of_a_stream_are_parsed_alike(spark: SparkSession, tmp_path: Path) -> None:
    """The folder's ns counts, whatever a record says."""
    line = '{"boot":5,"seq":2,"ts":7,"ev":"tput","ns":"other","topics":[{"t":"T","r":4,"w":4,"p":6,"s":0}]}'
    file_of(tmp_path, "n1", "5-000001", f"{line}\nbroken\n")
    base = str(tmp_path / "v=1")
    frame = parsed(records(spark.read, base).json(f"{base}/dt=*/ns=*/*.jsonl"))
    assert frame.schema.simpleString() == EVENTS.simpleString()
    found = rows(frame.select("ns", "dt", "seq", "topics"))
    assert found == [("n1", "2026-01-01", 2, [tuple(topic("T").values())])]


def test_a_missing_journal_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nowhere"):
        ingest(spark, str(tmp_path / "nowhere"), str(tmp_path / "out"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="no file of a journal"):
        ingest(spark, str(tmp_path / "empty"), str(tmp_path / "out"))
    path = tmp_path / "new" / "v=2" / "dt=2026-01-01" / "ns=n1" / "5-000001.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("{}\n", "utf-8")
    with pytest.raises(BadInput, match="version 2"):
        ingest(spark, str(tmp_path / "new"), str(tmp_path / "out"))


def file_of(journal: Path, ns: str, name: str, text: str) -> Path:
    path = journal / "v=1" / "dt=2026-01-01" / f"ns={ns}" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path
