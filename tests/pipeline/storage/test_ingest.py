"""From files to Parquet: every finished file, line and record once, whatever is delivered and whenever."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.contract.schema import EVENTS, FILES
from rocketns.pipeline.storage.events.manifest import Manifest, State
from rocketns.pipeline.storage.events.openfiles import open_texts, tail_of
from rocketns.pipeline.storage.events.stored import delivered, read_events, read_files
from rocketns.pipeline.storage.ingest import Ingested, ingest
from tests.pipeline.draws import seeds
from tests.pipeline.duck import ingest as duck
from tests.pipeline.frames import rows
from tests.pipeline.journals import (
    Record,
    events_frame,
    random_journals,
    write_files,
)


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


def test_journals_of_several_folders_go_together_and_a_file_in_two_counts_once(
    spark: SparkSession, places: tuple[Path, str]
) -> None:
    journal, out = places
    line = '{"boot":5,"seq":1,"ts":1,"ev":"open"}\n'
    for folder, ns in (("a", "n1"), ("b", "n2"), ("b", "n1")):
        file_of(journal / folder, ns, "5-000001", line)
    beside = journal / "a" / "v=1" / "dt=2026-01-01" / "ns=n1"
    for name in (".open-5-000002", ".5-000003.jsonl", "notes.txt"):  # being written, or not of a journal
        (beside / name).write_text(line, "utf-8")
    written(journal / "a", 2, version=2)
    done = ingest(spark, [str(journal / "a"), str(journal / "b" / "v=1")], out)
    assert (done.files, done.copies, done.foreign) == (3, 1, {"2": 1})
    assert delivered(spark, out).foreign == {"2": 1}
    assert [row[:3] for row in rows(read_files(spark, out))] == [
        ("2026-01-01", "n1", "5-000001"), ("2026-01-01", "n2", "5-000001"),
    ]  # fmt: skip
    assert rows(read_events(spark, out).select("ns", "dt")) == [("n1", "2026-01-01"), ("n2", "2026-01-01")]


def test_a_missing_or_another_journal_is_refused(spark: SparkSession, tmp_path: Path) -> None:
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
    written(tmp_path / "journal", 1)
    ingest(spark, str(tmp_path / "journal"), str(tmp_path / "out"))
    assert ingest(spark, f"{tmp_path}/journal/v=1/", str(tmp_path / "out")).skipped == 1
    written(tmp_path / "other", 1)
    with pytest.raises(BadInput, match=r"belongs to the journal file:.*/journal, and --journal is .*/other\. Name"):
        ingest(spark, str(tmp_path / "other"), str(tmp_path / "out"))


def file_of(journal: Path, ns: str, name: str, text: str, version: int = 1) -> Path:
    path = journal / f"v={version}" / "dt=2026-01-01" / f"ns={ns}" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def written(journal: Path, number: int, version: int = 1, ns: str = "n1") -> None:
    """A file of one record."""
    line = f'{{"boot":5,"seq":{number},"ts":{number},"ev":"open"}}\n'
    file_of(journal, ns, f"5-{number:06}", line, version)


def seqs(spark: SparkSession, out: str) -> list[int]:
    return [row[0] for row in rows(read_events(spark, out).select("seq"))]


def test_a_crash_before_publishing_leaves_what_was_there(
    spark: SparkSession, places: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, out = places
    written(journal, 1)
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
    written(journal, 1)
    publish, others = Manifest.publish, [True]

    def late(self: Manifest, state: State) -> State | None:
        if state.parts and others:
            others.clear()
            ingest(spark, str(journal), out)
        return publish(self, state)

    monkeypatch.setattr(Manifest, "publish", late)
    assert ingest(spark, str(journal), out).skipped == 1
    assert seqs(spark, out) == [1]


LINE = '{"boot":5,"seq":%d,"ts":%d,"ev":"hb","bid":3,"topics":[{"t":"T","r":4,"w":4,"p":6,"s":0}]}\n'


def test_an_open_file_is_read_up_to_its_last_whole_line(spark: SparkSession, tmp_path: Path) -> None:
    file_of(tmp_path, "n1", "5-000001", LINE % (1, 10))
    text = LINE % (2, 20) + "broken\n" + LINE % (4, 40) + "\n" + (LINE % (5, 50))[:-9]
    (tmp_path / "v=1" / "dt=2026-01-01" / "ns=n1" / ".open-5-000002").write_text(text, "utf-8")
    # Of copies the longest counts.
    copy = tmp_path / "copy" / "v=1" / "dt=2026-01-01" / "ns=n1" / ".open-5-000002"
    copy.parent.mkdir(parents=True)
    copy.write_text(text[:60], "utf-8")
    tail = tail_of(spark, open_texts(spark, [str(tmp_path), str(tmp_path / "copy")]))
    assert tail.events.schema.simpleString() == EVENTS.simpleString()
    assert tail.files.schema.simpleString() == FILES.simpleString()
    found = rows(tail.events.select("ns", "dt", "boot", "seq", "ts", "ev", "bid", "topics"))
    same = ("hb", 3, [("T", 4, 4, 6, 0)])
    assert found == [("n1", "2026-01-01", 5, 2, 20, *same), ("n1", "2026-01-01", 5, 4, 40, *same)]
    size = text.rindex("\n") + 1
    assert rows(tail.files) == [("2026-01-01", "n1", "5-000002", size, 3, 1, 20, 40, True)]


def test_a_file_that_is_delivered_twice_changes_nothing_and_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    journal, out = tmp_path / "journal", str(tmp_path / "out")
    first, *_ = write_files(random_journals(21), journal)
    with first.open("a", encoding="utf-8") as file:
        file.write("broken\n")
    ingest(spark, str(journal), out)
    before = rows(read_events(spark, out)), rows(read_files(spark, out))
    elsewhere = journal / "again" / "v=1" / "dt=2031-01-01" / first.parent.name / first.name
    elsewhere.parent.mkdir(parents=True)
    elsewhere.write_bytes(first.read_bytes())
    done = ingest(spark, str(journal), out)
    count = len(first.read_text("utf-8").splitlines()) - 1
    assert (done.files, done.copies, done.repeated) == (1, 1, count)
    assert (rows(read_events(spark, out)), rows(read_files(spark, out))) == before
    assert delivered(spark, out)[:2] == (1, count)
    assert ingest(spark, str(journal), out).files == 0


@pytest.mark.parametrize("seed", seeds(1))
def test_files_that_overlap_give_each_record_once(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Pieces of a journal under any name and date, some with lines twice, in any order, delivered in three parts."""
    journals, chance = random_journals(seed + 30), random.Random(seed)
    pieces = [
        (ns, piece) for ns, told in journals.items() for boot in boots(told) for piece in pieces_of(boot, chance)
    ]
    chance.shuffle(pieces)
    for number, (ns, piece) in enumerate(pieces):
        folder = tmp_path / "journal" / "v=1" / f"dt=2026-01-0{chance.randint(1, 3)}" / f"ns={ns}"
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(record) + "\n" for record in piece)
        (folder / f"{piece[0]['boot']}-{number:06}.jsonl").write_text(text, "utf-8")
        if number in (len(pieces) // 3, len(pieces) // 2, len(pieces) - 1):
            ingest(spark, str(tmp_path / "journal"), str(tmp_path / "out"))
    wanted = rows(events_frame(spark, journals).drop("dt"))
    found = rows(read_events(spark, str(tmp_path / "out")).drop("dt"))
    assert found == wanted


def boots(records: list[Record]) -> list[list[Record]]:
    return [[r for r in records if r["boot"] == boot] for boot in sorted({r["boot"] for r in records})]


def pieces_of(records: list[Record], chance: random.Random) -> list[list[Record]]:
    """Pieces that hold all records, some of them more than once."""
    cuts = sorted({0, len(records), *(chance.randrange(len(records)) for _ in range(3))})
    pieces = []
    for low, high in pairwise(cuts):
        piece = records[max(0, low - chance.choice((0, 0, 5))) : high + chance.choice((0, 0, 3))]
        pieces.append(piece + piece[: chance.choice((0, 0, 2))])
    return pieces
