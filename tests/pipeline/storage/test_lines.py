"""Which lines of a file are records, and their values: the same by the plain reader, by Arrow and by Spark."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rocketns.journal.lines import records_of
from rocketns.journal.record import COLUMNS
from rocketns.pipeline.contract.schema import EVENTS
from rocketns.pipeline.storage.arrow import JUDGED_LINES, rows_of
from rocketns.pipeline.storage.ingest import judged, records
from tests.pipeline.journals import Record, random_journals
from tests.pipeline.tables import sorted_lines

LINE = b'{"boot":5,"seq":1,"ts":7,"ev":"hb"}\n'
GOOD = LINE.strip()
# Damage that copying, cutting and other writers do, and what readers of JSON understand differently.
PIECES = [
    b"\n", b"\r\n", b"{", b"}", b"}\n{", b"[", b"]", b",", b'"', b"\\", b"\0", b"\xff", b"\xc3\xa9", b"\\ud800", b"1e3",
    b"-0", b"01", b"1.0", b"NaN", b"null", b"true", b" ", b"//", b"'", b"9999999999", b"99999999999999999999",
    b'"seq":2,', b"\xef\xbb\xbf", b"+INF", b"Infinity",
]  # fmt: skip


def test_arrow_finds_the_records_that_the_plain_reader_finds() -> None:
    chance = random.Random(1)
    told = [record for journal in random_journals(1).values() for record in journal]
    texts = [damaged(told, chance) for _ in range(2000)]
    texts += [b"", b"\n", LINE + GOOD, LINE[:9], LINE + LINE.replace(b"7", b"07"), LINE.replace(b"7", b'"7"')]
    for text in texts:
        found, wanted = rows_of(text), list(records_of(text, "n1", "d"))
        names = found.records.column_names
        shown = [{name: row[name] for name in row if name in names} for row in wanted]
        assert sorted_lines(without_nulls(found.records.to_pylist())) == sorted_lines(without_nulls(shown))
        assert found.corrupt == sum(bool(line.strip()) for line in text.split(b"\n")) - len(wanted)
    assert sum(rows_of(text).corrupt > 0 for text in texts) > 200


def test_one_torn_line_among_many_is_found() -> None:
    found = rows_of(LINE * (2 * JUDGED_LINES) + LINE[:9] + b"\n" + LINE * JUDGED_LINES)
    assert (found.records.num_rows, found.corrupt) == (3 * JUDGED_LINES, 1)


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
    """The plain reader, which restore and local files use, and Spark, which a run uses."""
    chance = random.Random(seed)
    told = [record for journal in random_journals(7).values() for record in journal]
    folder = tmp_path / "v=1" / "dt=2026-01-01" / "ns=n1"
    folder.mkdir(parents=True)

    def by_spark(lines: list[bytes]) -> list[dict[str, Any]]:
        (folder / "5-000001.jsonl").write_bytes(b"\n".join([*lines, b""]))
        read = records(spark.read, f"{tmp_path}/v=1").json(str(folder)).coalesce(1)
        whole = judged(read).where("not corrupt").drop("corrupt")
        return [without_nulls(row.asDict(recursive=True)) for row in whole.collect()]

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
