"""Which lines of a file are records, and their values: the same by the plain reader, by Arrow and by Spark."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.lines import records_of
from rocketns.journal.record import COLUMNS
from rocketns.pipeline.contract.schema import EVENTS, RECORD
from rocketns.pipeline.storage.events.arrow import FILE_ROWS_MAX, rows_of
from rocketns.pipeline.storage.events.lines import judged, parsed, records
from tests.pipeline.journals import Record, random_journals

LINE = b'{"boot":5,"seq":1,"ts":7,"ev":"hb"}\n'
GOOD = LINE.strip()
READ = [name for name in RECORD.names if name != "ns"]
# Damage that copying, cutting and other writers do, and what readers of JSON understand differently.
PIECES = [
    b"\n", b"\r\n", b"{", b"}", b"}\n{", b"[", b"]", b",", b'"', b"\\", b"\0", b"\xff", b"\xc3\xa9", b"\\ud800", b"1e3",
    b"-0", b"01", b"1.0", b"NaN", b"null", b"true", b" ", b"//", b"'", b"9999999999", b"99999999999999999999",
    b'"seq":2,', b"\xef\xbb\xbf", b"+INF", b"Infinity",
]  # fmt: skip
AMBIGUOUS = [
    LINE + b"broken\n", LINE.replace(b'"ts":7,', b""), LINE.replace(b"7", b"null"), LINE.replace(b"7", b'"7"'),
    LINE.replace(b"7", b"7.0"), LINE.replace(b"7", b"9223372036854775808"), LINE.replace(b'"hb"', b"1"),
    LINE.replace(b'"hb"', b"'hb'"), LINE.replace(b'"hb"', b'"h\xff"'), LINE.replace(b'"hb"', b'"\\ud800"'),
    LINE.replace(b'"hb"', b'"h\nb"'), LINE.replace(b'"hb"', b'"hb","bid":2147483648'),
    LINE.replace(b'"hb"', b'"hb","ev":"hb"'), LINE.replace(b"}", b"}" + GOOD), LINE.replace(b",", b",\n", 1),
    LINE.replace(b"}\n", b"}\r\n"), b" " + LINE, b"\xef\xbb\xbf" + LINE, b"[" + GOOD + b"]\n", b" \n", LINE + b" \n",
    LINE.replace(b"}", b',"x":INF}'), LINE.replace(b"}", b',"x":' + b"[" * 99_999), LINE * (FILE_ROWS_MAX + 1),
]  # fmt: skip


def test_arrow_leaves_ambiguous_lines_to_spark_and_counts_torn_ones() -> None:
    for data in AMBIGUOUS:
        assert rows_of(data) is None, data[:60]
    counts = {
        LINE + LINE: (2, 0), LINE + b"\n" + LINE: (2, 0), LINE + GOOD: (2, 0), LINE[:9]: (0, 1), b"\n": (0, 0),
        LINE[:9] + b"\n" + LINE + LINE[:20]: (1, 2), LINE.replace(b"7", b"07"): (0, 1),
    }  # fmt: skip
    for data, (whole, torn) in counts.items():
        found = rows_of(data)
        assert found is not None
        assert (found.records.num_rows, found.torn) == (whole, torn), data


def test_rows_of_damaged_files_equal_those_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(1)
    told = [record for journal in random_journals(1).values() for record in journal]
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


def damaged(told: Sequence[Record], chance: random.Random) -> bytes:
    """Some records as text, with up to two changes."""
    text = b"".join(as_json(record) + b"\n" for record in chance.sample(told, 2))
    for _ in range(chance.randint(0, 2)):
        begin = chance.randrange(len(text))
        end = chance.choice([begin, begin + 1, begin + chance.randint(1, 9)])
        text = text[:begin] + chance.choice([b"", *PIECES, bytes([chance.randrange(256)])]) + text[end:]
    return text


def as_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


ODD: list[Any] = [
    None, [], {}, "x", "", -1, 0, 1.5, True, 2**31 - 1, 2**31, 2**63 - 1, 2**63, [None], ["x"],
    [1, "x"], ["reg"], {"t": "T"}, [{"t": "T"}], [{"t": 1, "r": 2}], [{"r": 4}], [{"t": "T", "r": "4"}], [[1, [2]]],
    [{"t": "T", "ids": [[1, 2], None]}], [{"ids": [["1"]]}],
]  # fmt: skip
NO_OBJECTS = [b"", b" ", b"null", b"7", b'"x"', b"[]", b"{}", b"garbage", b"\0" * 9, b'{"boot":1}', GOOD + b" "]
# Records to Spark only. No name server writes them.
NOT_WRITTEN = [
    b"\xef\xbb\xbf" + GOOD, b"[" + GOOD + b"]", GOOD + GOOD, GOOD.replace(b"hb", b"\\ud800"),
    GOOD.replace(b'"hb"', b"'hb'"), GOOD.replace(b'"hb"', b'"hb","broker":' + b"[" * 300 + b"]" * 300),
]  # fmt: skip


def a_line(told: Sequence[Record], chance: random.Random) -> bytes:
    """A record's line, whole, cut, without a key, with a value of any type; or something else.

    Texts given as numbers beyond 64 bits, and keys given twice, are left out: no name server writes them, and the two
    readers differ."""
    record = dict(chance.choice(told))
    how = chance.choice(["whole", "cut", "without", "odd", "odd", "odd", "other"])
    if how == "without":
        del record[chance.choice(sorted(record))]
    if how == "odd":
        record[chance.choice([*COLUMNS, "ev", "dt", "x"])] = chance.choice(ODD)
    line = as_json(record)
    if how == "cut":
        return line[: chance.randrange(len(line))]
    return chance.choice(NO_OBJECTS) if how == "other" else line


@pytest.mark.parametrize("seed", range(3))
def test_the_plain_reader_has_the_records_of_spark(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """The plain reader, which restore and `explain` use, and Spark, which a run uses."""
    chance = random.Random(seed)
    told = [record for journal in random_journals(7).values() for record in journal]
    folder = tmp_path / "v=1" / "dt=2026-01-01" / "ns=n1"
    folder.mkdir(parents=True)

    def by_spark(lines: list[bytes]) -> list[dict[str, Any]]:
        (folder / "5-000001.jsonl").write_bytes(b"\n".join([*lines, b""]))
        read = records(spark.read, f"{tmp_path}/v=1").json(str(folder)).coalesce(1)
        return [without_nulls(row.asDict(recursive=True)) for row in parsed(read).collect()]

    def plainly(lines: list[bytes]) -> list[dict[str, Any]]:
        found = records_of(b"\n".join([*lines, b""]), "n1", "2026-01-01")
        return [without_nulls({name: value for name, value in row.items() if name in EVENTS.names}) for row in found]

    lines = [a_line(told, chance) for _ in range(600)]
    assert plainly(lines) == by_spark(lines)
    assert (plainly(NOT_WRITTEN), len(by_spark(NOT_WRITTEN))) == ([], len(NOT_WRITTEN))


def without_nulls(value: Any) -> Any:
    """A missing column and null are the same."""
    if isinstance(value, dict):
        return {name: without_nulls(one) for name, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value
