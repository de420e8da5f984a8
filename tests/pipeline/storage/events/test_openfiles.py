"""Files that are still being written: read up to their last whole line."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from rocketns.pipeline.contract.schema import EVENTS, FILES
from rocketns.pipeline.storage.events.openfiles import Tail, open_texts, tail_of
from tests.pipeline.frames import rows

LINE = '{"boot":5,"seq":%d,"ts":%d,"ev":"hb","bid":3,"topics":[{"t":"T","r":4,"w":4,"p":6,"s":0}]}\n'
OPEN, CLOSED = ".open-5-000002", "5-000001.jsonl"


def written(journal: Path, name: str, text: str, dt: str = "2026-01-01", ns: str = "n1") -> None:
    path = journal / "v=1" / f"dt={dt}" / f"ns={ns}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def read_open(spark: SparkSession, journals: str) -> Tail:
    return tail_of(spark, open_texts(spark, [journals]))


def test_an_open_file_is_read_up_to_its_last_whole_line(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path, CLOSED, LINE % (1, 10))
    text = LINE % (2, 20) + "broken\n" + LINE % (4, 40) + "\n" + (LINE % (5, 50))[:-9]
    written(tmp_path, OPEN, text)
    tail = read_open(spark, str(tmp_path))
    assert tail.events.schema.simpleString() == EVENTS.simpleString()
    assert tail.files.schema.simpleString() == FILES.simpleString()
    found = rows(tail.events.select("ns", "dt", "boot", "seq", "ts", "ev", "bid", "topics"))
    same = ("hb", 3, [("T", 4, 4, 6, 0)])
    assert found == [("n1", "2026-01-01", 5, 2, 20, *same), ("n1", "2026-01-01", 5, 4, 40, *same)]
    size = text.rindex("\n") + 1
    assert rows(tail.files) == [("2026-01-01", "n1", "5-000002", size, 3, 1, 20, 40, True)]


def test_the_longest_copy_of_an_open_file_counts(spark: SparkSession, tmp_path: Path) -> None:
    for folder, count in (("a", 2), ("b", 3), ("c", 1)):
        written(tmp_path / folder, OPEN, "".join(LINE % (seq, seq) for seq in range(1, count + 1)))
    assert rows(read_open(spark, str(tmp_path / "*")).events.select("seq")) == [(1,), (2,), (3,)]


def test_without_open_files_there_is_nothing(spark: SparkSession, tmp_path: Path) -> None:
    written(tmp_path, CLOSED, LINE % (1, 10))
    written(tmp_path, OPEN, (LINE % (2, 20))[:-1])
    tail = read_open(spark, str(tmp_path))
    assert (rows(tail.events), rows(tail.files)) == ([], [])
