"""From files to Parquet: every finished file, line and record once, whatever is delivered and whenever; and which bytes
are new while files are still written."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.schema import EVENTS, ReadFile
from rocketns.pipeline.storage.folders import Local, folder_at
from rocketns.pipeline.storage.ingest import Ingested, ingest
from rocketns.pipeline.storage.manifest import Manifest, ManifestState
from rocketns.pipeline.storage.stored import Stored, open_texts, tail_of
from rocketns.pipeline.stream.reading import MISSING_LOOKS, JournalOffset, JournalPoll, look
from tests.pipeline.duck import ingest as duck
from tests.pipeline.frames import rows, seeds
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
    events = Stored(spark, out).events()
    assert events.schema.simpleString() == EVENTS.simpleString()
    wanted = rows(events_frame(spark, journals).drop("dt", "ns"))
    assert rows(events.drop("dt", "ns")) == wanted
    assert rows(events.groupBy("ns").count()) == [(ns, len(records)) for ns, records in sorted(journals.items())]
    assert rows(events) == duck.events(journal)


def test_lines_that_do_not_parse_are_counted_by_file_and_left_out(
    spark: SparkSession, places: tuple[Path, str]
) -> None:
    journal, out = places
    good = '{"boot":5,"seq":2,"ts":1700000000000000,"ev":"hb","novelty":{"a":1}}\n'
    torn, typed, empty, blank = '{"boot":5,"se\n', '{"boot":5,"seq":3,"ts":"soon","ev":"hb"}\n', "{}\n", "\n"
    file_of(journal, "n1", "5-000001", good + torn + good.replace("2", "4") + typed)
    file_of(journal, "n2", "6-000001", good + empty + blank + good)
    ingest(spark, str(journal), out)
    files = Stored(spark, out).files()
    assert [(one.ns, one.segment, one.corrupt) for one in files] == [("n1", "5-000001", 2), ("n2", "6-000001", 1)]
    assert [r[:2] for r in rows(Stored(spark, out).events().select("ns", "seq"))] == [
        ("n1", 2), ("n1", 4), ("n2", 2),
    ]  # fmt: skip


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
    return [row[0] for row in rows(Stored(spark, out).events().select("seq"))]


def test_a_crash_before_publishing_leaves_what_was_there(
    spark: SparkSession, places: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, out = places
    written(journal, 1)
    ingest(spark, str(journal), out)
    written(journal, 2)

    def crash(_self: Manifest, _state: ManifestState) -> ManifestState:
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

    def late(self: Manifest, state: ManifestState) -> ManifestState | None:
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
    tail = tail_of(spark, open_texts(spark, str(tmp_path)))
    assert tail.events.schema.simpleString() == EVENTS.simpleString()
    found = rows(tail.events.select("ns", "dt", "boot", "seq", "ts", "ev", "bid", "topics"))
    same = ("hb", 3, [("T", 4, 4, 6, 0)])
    assert found == [("n1", "2026-01-01", 5, 2, 20, *same), ("n1", "2026-01-01", 5, 4, 40, *same)]
    assert tail.files == [ReadFile("2026-01-01", "n1", "5-000002", 1, 20, 40, open=True)]


def test_a_file_that_is_delivered_twice_changes_nothing_and_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    journal, out = tmp_path / "journal", str(tmp_path / "out")
    first, *_ = write_files(random_journals(21), journal)
    with first.open("a", encoding="utf-8") as file:
        file.write("broken\n")
    ingest(spark, str(journal), out)
    before = rows(Stored(spark, out).events()), Stored(spark, out).files()
    elsewhere = journal / "again" / "v=1" / "dt=2031-01-01" / first.parent.name / first.name
    elsewhere.parent.mkdir(parents=True)
    elsewhere.write_bytes(first.read_bytes())
    assert ingest(spark, str(journal), out).files == 1
    count = len(first.read_text("utf-8").splitlines()) - 1
    assert (rows(Stored(spark, out).events()), Stored(spark, out).files()) == before
    assert Stored(spark, out).delivered()[:2] == (1, count)
    assert ingest(spark, str(journal), out).files == 0


@pytest.mark.parametrize("seed", seeds(1))
def test_files_that_overlap_give_each_record_once(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Pieces of a journal under any name and date, some with lines twice, in any order, delivered in three parts."""
    journals, chance = random_journals(seed + 30), random.Random(seed)
    pieces = [(ns, piece) for ns, told in journals.items() for boot in boots(told) for piece in pieces_of(boot, chance)]
    chance.shuffle(pieces)
    for number, (ns, piece) in enumerate(pieces):
        folder = tmp_path / "journal" / "v=1" / f"dt=2026-01-0{chance.randint(1, 3)}" / f"ns={ns}"
        folder.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(record) + "\n" for record in piece)
        (folder / f"{piece[0]['boot']}-{number:06}.jsonl").write_text(text, "utf-8")
        if number in (len(pieces) // 3, len(pieces) // 2, len(pieces) - 1):
            ingest(spark, str(tmp_path / "journal"), str(tmp_path / "out"))
    wanted = rows(events_frame(spark, journals).drop("dt"))
    found = rows(Stored(spark, str(tmp_path / "out")).events().drop("dt"))
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


DAY, NEXT, FAR = "2026-01-01", "2026-01-02", "2036-01-01"


class Journal:
    """Files of one boot of each name server, and the places up to which they were read."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.places: list[JournalOffset] = []

    def file(
        self, number: int, lines: str, *, ns: str = "n1", day: str = DAY, is_open: bool = False, boot: int = 5
    ) -> None:
        folder = self.root / "v=1" / f"dt={day}" / f"ns={ns}"
        folder.mkdir(parents=True, exist_ok=True)
        stem = f"{boot}-{number:06d}"
        (folder / f".open-{stem}").unlink(missing_ok=True)
        (folder / (f".open-{stem}" if is_open else f"{stem}.jsonl")).write_text(lines, "utf-8")

    def look(self, bytes_max: int = 1000) -> JournalPoll:
        found = look(folder_at(None, str(self.root)), self.places, bytes_max)
        self.places = [JournalOffset(*place) for place in found.offsets]
        return found

    def new(self, bytes_max: int = 1000) -> list[str]:
        return [text.data.decode() for text in self.look(bytes_max).texts]


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


def test_an_open_file_is_followed_over_its_end(journal: Journal) -> None:
    journal.file(1, "a\n", is_open=True)
    assert journal.new() == ["a\n"]
    again = journal.look()
    assert (again.texts, again.opened) == ([], {"n1"})
    journal.file(1, "a\nb\nc", is_open=True)
    assert journal.new() == ["b\n"]
    journal.file(1, "a\nb\ncc\n")
    journal.file(2, "d\n", is_open=True)
    assert journal.new() == ["cc\n", "d\n"]
    assert journal.new() == []


def test_a_missing_file_is_waited_for_and_then_passed_over(journal: Journal) -> None:
    journal.file(1, "a\n")
    journal.file(3, "c\n")
    assert journal.new() == ["a\n"]
    journal.file(2, "b\n")
    assert journal.new() == ["b\n", "c\n"]
    journal.file(9, "i\n")
    looks = [journal.new() for _ in range(MISSING_LOOKS)]
    assert looks == [[]] * (MISSING_LOOKS - 1) + [["i\n"]]


def test_only_the_days_that_can_change_are_listed(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    days = [f"2026-01-{day:02d}" for day in range(1, 31)]
    for number, day in enumerate(days, 1):
        journal.file(number, f"{number}\n", day=day)
        journal.look()
    listed: list[str] = []
    real = Local.names
    monkeypatch.setattr(Local, "names", lambda folder, name: (listed.append(name), real(folder, name))[1])
    journal.look()
    assert sorted({name.split("/")[1] for name in listed if "/" in name}) == ["dt=2026-01-29", "dt=2026-01-30"]


def test_a_clock_that_was_years_ahead_for_a_moment_does_not_end_it(journal: Journal) -> None:
    for number, day in ((1, DAY), (2, FAR), (3, DAY), (4, NEXT)):
        journal.file(number, f"{number}\n", day=day)
        assert journal.new() == [f"{number}\n"]
        assert [place.number for place in journal.places] == [number + 1], "only one place is remembered"


def test_another_boot_is_read_after_the_one_before(journal: Journal) -> None:
    journal.file(1, "a\n", is_open=True)
    assert journal.new() == ["a\n"]
    journal.file(1, "a\nb\n")
    journal.file(1, "c\n", boot=6, is_open=True)
    assert journal.new() == ["b\n", "c\n"]
    for boot in range(7, 20):
        journal.file(1, "x\n", boot=boot)
        journal.new()
    assert [place.boot for place in journal.places] == [16, 17, 18, 19]
    assert journal.new() == []


def test_journals_go_on_together_while_much_is_there_to_read(journal: Journal) -> None:
    """Each line is of its file's second; a look takes about two lines."""
    for number in range(1, 6):
        for ns in ("n1", "n2"):
            journal.file(number, f'{{"ts":{number}000000}}\n', ns=ns)
    seen = []
    while (found := journal.look(bytes_max=20)).texts:
        seen.append(([(text.ns, text.data[6:7]) for text in found.texts], sorted(found.pending)))
    assert seen[0] == ([("n1", b"1"), ("n2", b"1")], ["n1", "n2"])
    assert seen[-1] == ([("n1", b"5"), ("n2", b"5")], [])
    assert len(seen) == 5
