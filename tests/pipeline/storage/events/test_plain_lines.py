"""Which lines are records: the plain reader, which restore and `explain` use, and Spark, which a run uses, agree."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from rocketns.journal.reading.lines import records_of
from rocketns.journal.record import COLUMNS
from rocketns.pipeline.contract.schema import EVENTS
from rocketns.pipeline.storage.events.lines import parsed, records
from tests.pipeline.journals import random_journals

DAY, NS = "2026-01-01", "n1"
GOOD = b'{"boot":5,"seq":1,"ts":7,"ev":"hb"}'
TOLD = [record for journal in random_journals(7).values() for record in journal]
ODD: list[Any] = [
    None, [], {}, "x", "", -1, 0, 1.5, True, 2**31 - 1, 2**31, 2**63 - 1, 2**63, [None], ["x"],
    [1, "x"], ["reg"], {"t": "T"}, [{"t": "T"}], [{"t": 1, "r": 2}], [{"r": 4}], [{"t": "T", "r": "4"}], [[1, [2]]],
    [{"t": "T", "ids": [[1, 2], None]}], [{"ids": [["1"]]}],
]  # fmt: skip
NO_OBJECTS = [b"", b" ", b"null", b"7", b'"x"', b"[]", b"{}", b"garbage", b"\0" * 9, b'{"boot":1}', GOOD + b" "]


def as_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A record's line, whole, cut, without a key, with a value of any type; or something else.

    Texts given as numbers beyond 64 bits, and keys given twice, are left out: no name server writes them, and the two
    readers differ."""
    record = dict(draw(st.sampled_from(TOLD)))
    how = draw(st.sampled_from(["whole", "cut", "without", "odd", "odd", "odd", "other"]))
    if how == "without":
        del record[draw(st.sampled_from(sorted(record)))]
    if how == "odd":
        record[draw(st.sampled_from([*COLUMNS, "ev", "dt", "x"]))] = draw(st.sampled_from(ODD))
    line = as_json(record)
    if how == "cut":
        return line[: draw(st.integers(0, len(line) - 1))]
    return draw(st.sampled_from(NO_OBJECTS)) if how == "other" else line


@settings(
    max_examples=5, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(st.lists(lines(), min_size=300, max_size=300))
def test_the_plain_reader_has_the_records_of_spark(spark: SparkSession, given_lines: list[bytes]) -> None:
    plain, sparks = plainly(given_lines), by_spark(spark, given_lines)
    assert [row for row in plain if row not in sparks][:1] == []
    assert [row for row in sparks if row not in plain][:1] == []
    assert plain == sparks


def test_lines_that_no_name_server_writes_are_records_to_spark_only(spark: SparkSession) -> None:
    odd = [
        b"\xef\xbb\xbf" + GOOD,  # first, since this is where a file may have it
        b"[" + GOOD + b"]",
        GOOD + GOOD,
        GOOD.replace(b"hb", b"\\ud800"),
        GOOD.replace(b'"hb"', b"'hb'"),
        GOOD.replace(b'"hb"', b'"hb","broker":' + b"[" * 300 + b"]" * 300),
    ]
    assert (plainly(odd), len(by_spark(spark, odd))) == ([], len(odd))


def plainly(given_lines: list[bytes]) -> list[dict[str, Any]]:
    found = records_of(b"\n".join([*given_lines, b""]), NS, DAY)
    return [without_nulls({name: value for name, value in row.items() if name in EVENTS.names}) for row in found]


def by_spark(spark: SparkSession, given_lines: list[bytes]) -> list[dict[str, Any]]:
    with TemporaryDirectory() as root:
        folder = Path(root, "v=1", f"dt={DAY}", f"ns={NS}")
        folder.mkdir(parents=True)
        (folder / "5-000001.jsonl").write_bytes(b"\n".join([*given_lines, b""]))
        read = records(spark.read, f"{root}/v=1").json(str(folder)).coalesce(1)
        return [without_nulls(row.asDict(recursive=True)) for row in parsed(read).collect()]


def without_nulls(value: Any) -> Any:
    """A missing column and null are the same."""
    if isinstance(value, dict):
        return {name: without_nulls(one) for name, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value
