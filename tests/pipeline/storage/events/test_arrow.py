"""What Arrow reads of a journal's file, Spark reads as well; what it may read otherwise is left to Spark."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.schema import RECORD
from rocketns.pipeline.storage.events import staging
from rocketns.pipeline.storage.events.arrow import FILE_ROWS_MAX, rows_of, take
from rocketns.pipeline.storage.events.lines import judged, records
from rocketns.pipeline.storage.events.listing import journal_files
from rocketns.pipeline.storage.events.stored import read_events, read_files
from rocketns.pipeline.storage.ingest import ingest
from tests.pipeline.frames import rows
from tests.pipeline.journals import Record, random_journals, write_files

LINE = b'{"boot":5,"seq":1,"ts":7,"ev":"hb"}\n'
READ = [name for name in RECORD.names if name != "ns"]
# Damage that copying, cutting and other writers do, and what readers of JSON understand differently.
PIECES = [
    b"\n", b"\r\n", b"{", b"}", b"}\n{", b"[", b"]", b",", b'"', b"\\", b"\0", b"\xff", b"\xc3\xa9", b"\\ud800", b"1e3",
    b"-0", b"01", b"1.0", b"NaN", b"null", b"true", b" ", b"//", b"'", b"9999999999", b"99999999999999999999",
    b'"seq":2,', b"\xef\xbb\xbf", b"+INF", b"Infinity",
]  # fmt: skip


def repr_of(data: bytes) -> str:
    """At most 60 characters."""
    return repr(data[:60])


@pytest.mark.parametrize(
    "data",
    [
        LINE + b"broken\n",
        LINE.replace(b'"ts":7,', b""),
        LINE.replace(b"7", b"null"),
        LINE.replace(b"7", b'"7"'),
        LINE.replace(b"7", b"7.0"),
        LINE.replace(b"7", b"9223372036854775808"),
        LINE.replace(b'"hb"', b"1"),
        LINE.replace(b'"hb"', b"'hb'"),
        LINE.replace(b'"hb"', b'"h\xff"'),
        LINE.replace(b'"hb"', b'"\\ud800"'),
        LINE.replace(b'"hb"', b'"h\nb"'),
        LINE.replace(b'"hb"', b'"hb","bid":2147483648'),
        LINE.replace(b'"hb"', b'"hb","ev":"hb"'),
        LINE.replace(b"}", b"}" + LINE.strip()),
        LINE.replace(b",", b",\n", 1),
        LINE.replace(b"}\n", b"}\r\n"),
        b" " + LINE,
        b"\xef\xbb\xbf" + LINE,
        b"[" + LINE.strip() + b"]\n",
        b" \n",
        LINE + b" \n",
        LINE.replace(b"}", b',"x":INF}'),
        LINE.replace(b"}", b',"x":' + b"[" * 99_999),
        LINE * (FILE_ROWS_MAX + 1),
    ],
    ids=repr_of,
)
def test_arrow_leaves_ambiguous_lines_to_spark(data: bytes) -> None:
    assert rows_of(LINE) is not None
    assert rows_of(data) is None


@pytest.mark.parametrize("seed", [1, 2])
def test_rows_of_damaged_files_equal_those_of_spark(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    told = [record for journal in random_journals(seed).values() for record in journal]
    texts = [damaged(told, chance) for _ in range(2000)]
    by_arrow = {str(number): rows_of(text) for number, text in enumerate(texts)}
    taken = {name: found for name, found in by_arrow.items() if found is not None}
    assert 500 < len(taken) < 1900
    assert sum(found.torn > 0 for found in taken.values()) > 200
    folder = tmp_path / "v=1" / "dt=2026-01-01" / "ns=n1"
    folder.mkdir(parents=True)
    for name in taken:
        (folder / f"{name}.jsonl").write_bytes(texts[int(name)])
    name = F.substring_index("_metadata.file_name", ".jsonl", 1).alias("name")
    read = records(spark.read, str(tmp_path / "v=1")).json(str(folder)).select("*", name)
    by_spark: dict[str, list[Any]] = {name: [] for name in taken}
    for row in judged(read, "name").collect():
        by_spark[row["name"]].append(None if row["corrupt"] else row.asDict(recursive=True))
    for name, found in taken.items():
        whole = [{key: row[key] for key in READ} for row in by_spark[name] if row is not None]
        assert (whole, by_spark[name].count(None)) == (found.records.select(READ).to_pylist(), found.torn)


@pytest.mark.parametrize(
    ("data", "records", "torn"),
    [
        (LINE + LINE, 2, 0),
        (LINE + b"\n" + LINE, 2, 0),
        (LINE + LINE.strip(), 2, 0),
        (LINE[:9], 0, 1),
        (LINE[:9] + b"\n" + LINE + LINE[:20], 1, 2),
        (LINE.replace(b"7", b"07"), 0, 1),
        (b"\n", 0, 0),
    ],
    ids=repr,
)
def test_torn_lines_are_counted_without_spark(data: bytes, records: int, torn: int) -> None:
    found = rows_of(data)
    assert found is not None
    assert (found.records.num_rows, found.torn) == (records, torn)


def test_arrow_and_spark_store_the_same(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file of a journal with damage by the one that should, and then all by Spark."""
    paths = write_files(random_journals(17), tmp_path / "journal")
    with paths[0].open("a", encoding="utf-8") as file:
        file.write("broken\n")
    taken = take(
        journal_files(spark, [str(tmp_path / "journal")]).closed,
        [f"file:{tmp_path}/journal/v=1"],
        tmp_path / "taken",
    )
    assert len(taken) == len(paths) - 1
    ingest(spark, str(tmp_path / "journal"), str(tmp_path / "both"))
    monkeypatch.setattr(staging, "runs_here", lambda _: False)
    ingest(spark, str(tmp_path / "journal"), str(tmp_path / "spark"))
    for frame in (read_events, read_files):
        assert rows(frame(spark, str(tmp_path / "both"))) == rows(frame(spark, str(tmp_path / "spark")))


def damaged(told: Sequence[Record], chance: random.Random) -> bytes:
    """Some records as text, with up to two changes."""
    text = b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in chance.sample(told, 2))
    for _ in range(chance.randint(0, 2)):
        begin = chance.randrange(len(text))
        end = chance.choice([begin, begin + 1, begin + chance.randint(1, 9)])
        text = text[:begin] + chance.choice([b"", *PIECES, bytes([chance.randrange(256)])]) + text[end:]
    return text
