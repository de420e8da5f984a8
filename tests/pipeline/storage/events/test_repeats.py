"""Records are one for each (ns, boot, seq), whatever files and folders they came in, and whenever."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.storage.events.manifest import Range
from rocketns.pipeline.storage.events.repeats import _among, _by_boot, _meets
from rocketns.pipeline.storage.events.staging import Held, Place
from rocketns.pipeline.storage.events.stored import delivered, read_events, read_files
from rocketns.pipeline.storage.ingest import ingest
from tests.pipeline.draws import seeds
from tests.pipeline.frames import rows
from tests.pipeline.journals import Record, events_frame, random_journals, write_files


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
    pieces = [(ns, piece) for ns, records in journals.items() for boot in boots(records) for piece in cut(boot, chance)]
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


def cut(records: list[Record], chance: random.Random) -> list[list[Record]]:
    """Pieces that hold all records, some of them more than once."""
    cuts = sorted({0, len(records), *(chance.randrange(len(records)) for _ in range(3))})
    pieces = []
    for low, high in pairwise(cuts):
        piece = records[max(0, low - chance.choice((0, 0, 5))) : high + chance.choice((0, 0, 3))]
        pieces.append(piece + piece[: chance.choice((0, 0, 2))])
    return pieces


@pytest.mark.parametrize("seed", range(20))
def test_overlaps_are_found_as_by_comparing_each_with_each(seed: int) -> None:
    chance = random.Random(seed)
    held = {place(number): one(chance) for number in range(chance.randint(1, 30))}
    pairs = [(a, b) for a in held for b in held if a < b and meets(held[a].ranges[0], held[b].ranges[0])]
    assert _among(held) == {one for pair in pairs for one in pair}
    wanted = one(chance).ranges[0]
    found = _meets(_by_boot(held).get(("n1", wanted.boot)), wanted)
    assert sorted(found) == [each for each in sorted(held) if meets(held[each].ranges[0], wanted)]


def place(number: int) -> Place:
    return 0, "2026-01-01", "n1", f"{number:06}"


def one(chance: random.Random) -> Held:
    low = chance.randint(1, 300)
    return Held(1, 0, 1, 1, 1, [Range(chance.choice((5, 6)), low, low + chance.choice((0, 3, 20, 150)))], False)


def meets(a: Range, b: Range) -> bool:
    return a.boot == b.boot and a.low <= b.high and b.low <= a.high
