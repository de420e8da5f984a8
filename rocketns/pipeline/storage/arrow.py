"""Finished files on this machine → Parquet, and what each file holds, by Arrow: no query to plan, and a fifth of
Spark's CPU.

Arrow takes lines of which each is a record for certain: UTF-8, one object a line, each value of the type that RECORD
says, and nothing missing. Around others ``journal.lines`` judges each line, by the same rules as Spark.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import compress, groupby
from operator import not_
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.json as pj  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from rocketns.journal.lines import records_of
from rocketns.journal.record import KINDS
from rocketns.pipeline.contract.schema import EVENTS, RECORD
from rocketns.pipeline.storage.folders import folder_at
from rocketns.pipeline.storage.manifest import JournalFile

# They count, even if a record says otherwise.
FOLDERS = ("ns", "dt")
REQUIRED = ("boot", "seq", "ts", "ev")

# What is read of a line: its folder has the rest.
LINE = StructType([field for field in RECORD.fields if field.name not in FOLDERS])

# A file is in memory as a whole, as text and as columns of some 230 bytes a row. A name server closes one at 64 MiB by
# default, and then it has about 300,000 rows.
FILE_BYTES_MAX, FILE_ROWS_MAX = 128 << 20, 1 << 20
FOLDERS_AT_ONCE = min(4, os.cpu_count() or 1)
# The rows of a row group, the least that a task of Spark reads. Heartbeats, which are nearly all records, have groups
# of their own, so that whoever looks for another kind passes them over.
GROUP_ROWS = 1 << 17
# Names fit into such a dictionary. One of numbers and times would have as many values as there are rows.
DICTIONARY_BYTES = 1 << 15

FILE_NAME = "part-0.parquet"

_LINE, _ARROW_EVENTS = to_arrow_schema(LINE), to_arrow_schema(EVENTS)
_OF_BEAT = dict.fromkeys((*REQUIRED, *KINDS["hb"].columns))
_BEAT = pa.schema([_LINE.field(name) for name in _OF_BEAT])
_PARSED = pj.ParseOptions(explicit_schema=_LINE, unexpected_field_behavior="ignore")
# A fifth of the columns: that takes half the time.
_PARSED_BEAT = pj.ParseOptions(explicit_schema=_BEAT, unexpected_field_behavior="error")
_OF_BOOT = {
    "lines": ("seq", "count"), "low": ("seq", "min"), "high": ("seq", "max"), "sum": ("seq", "sum"),
    "first": ("ts", "min"), "last": ("ts", "max"),
}  # fmt: skip
# Around a line that Arrow does not take, so many are judged one by one.
JUDGED_LINES = 1000


class Rows(NamedTuple):
    """What a file's text holds: heartbeats, and the other records and the heartbeats beside a line that is none.
    ``corrupt``: how many lines are no records."""

    beats: pa.Table
    others: pa.Table
    corrupt: int

    @property
    def records(self) -> pa.Table:
        """All of them."""
        return pa.concat_tables([self.beats, self.others])


class Converted(NamedTuple):
    """``boots``: for each boot its number of records (``lines``), the lowest, highest and sum of seq, the first and
    last ts; one more for corrupt lines, whose boot is None. ``repeats``: whether a record is in the file twice."""

    file: JournalFile
    boots: Sequence[Mapping[str, Any]]
    repeats: bool


def convert(files: Sequence[JournalFile], bases: Sequence[str], to: Path) -> list[Converted]:
    """Write the rows of STORED, of those of the files that can be taken, below ``to`` by day and name server. ``files``
    are in that order."""
    folders = [list(same) for _, same in groupby(files, lambda file: (file.dt, file.ns))]
    with ThreadPoolExecutor(FOLDERS_AT_ONCE) as threads:
        return [
            one for converted in threads.map(partial(_convert_folder, bases=bases, to=to), folders) for one in converted
        ]


def _convert_folder(files: Sequence[JournalFile], bases: Sequence[str], to: Path) -> list[Converted]:
    """Write the journal files of one day and name server as one file."""
    place = to.joinpath(*Path(files[0].path).parts[-3:-1])  # named as in the journal, where Spark read it
    converted = []
    with _Writer(place) as writer:
        for file in files:
            rows = read(file)
            if rows is not None:
                writer.add(rows, file.segment, bases.index(file.base))
                converted.append(_converted(file, rows))
    return converted


def read(file: JournalFile) -> Rows | None:
    """What it holds, or None if it is too large or gone."""
    if not 0 < file.size <= FILE_BYTES_MAX:
        return None
    folder, _, name = file.path.rpartition("/")
    data = folder_at(None, folder).part(name, size=file.size)
    return None if data is None or data.count(b"\n") >= FILE_ROWS_MAX else rows_of(data)


def rows_of(data: bytes) -> Rows:
    """What the bytes of a file hold."""
    if (rows := _parsed(data)) is not None:
        return rows
    middle = data.find(b"\n", len(data) // 2) + 1
    if data.count(b"\n") > JUDGED_LINES and 0 < middle < len(data):
        halves = rows_of(data[:middle]), rows_of(data[middle:])
        beats, others, corrupt = zip(*halves, strict=True)
        return Rows(pa.concat_tables(beats), pa.concat_tables(others), sum(corrupt))
    records = pa.Table.from_pylist(list(records_of(data, "", "")), _LINE)
    corrupt = sum(bool(line.strip()) for line in data.split(b"\n")) - records.num_rows
    return Rows(_LINE.empty_table(), records, corrupt)


def _parsed(data: bytes) -> Rows | None:
    """The records if every line has one for certain."""
    lines = data.count(b"\n")
    # Then an object cannot go beyond its line: after the } of a value inside it a comma would have to come.
    if not (data[:1] == b"{" and data[-2:] == b"}\n" and data.count(b"}\n{") == lines - 1):
        return None
    with suppress(UnicodeDecodeError, pa.ArrowException):
        data.decode()
        every = data[:-1].split(b"\n")
        beats = [b'"ev":"hb"' in line for line in every]
        others = list(compress(every, map(not_, beats)))
        rows = Rows(_beats(list(compress(every, beats))), _table(others, _PARSED), 0)
        if len(rows.records) == lines and not any(rows.records[name].null_count for name in REQUIRED):
            return rows
    return None


def _beats(lines: Sequence[bytes]) -> pa.Table:
    """Lines of heartbeats, which are nearly all."""
    try:
        table = _table(lines, _PARSED_BEAT)
    except pa.ArrowInvalid:  # one has a column that heartbeats do not have
        return _table(lines, _PARSED)
    columns = [table[f.name] if f.name in _OF_BEAT else pa.nulls(len(table), f.type) for f in _LINE]
    return pa.table(columns, schema=_LINE)


def _table(lines: Sequence[bytes], options: pj.ParseOptions) -> pa.Table:
    if not lines:
        return options.explicit_schema.empty_table()
    data = b"\n".join(lines)
    return pj.read_json(pa.BufferReader(data), pj.ReadOptions(False, len(data) + 1), options)


def events_of(spark: SparkSession, parts: Iterable[tuple[str, str, Rows]]) -> DataFrame:
    """EVENTS of name servers, days (dt) and what their texts hold."""
    tables = [_ARROW_EVENTS.empty_table()]
    for ns, dt, rows in parts:
        table = rows.records
        for name, value in (("ns", ns), ("dt", dt)):
            table = table.append_column(name, pa.repeat(pa.scalar(value, pa.string()), table.num_rows))
        tables.append(table.select(_ARROW_EVENTS.names))
    # Spark reads no further than the first chunk without a row.
    return spark.createDataFrame(pa.concat_tables(tables).combine_chunks(), EVENTS)


def _converted(file: JournalFile, rows: Rows) -> Converted:
    boots = _boots(rows)
    once = all(map(is_plain, boots)) or len(rows.records) == len(rows.records.group_by(["boot", "seq"]).aggregate([]))
    return Converted(file, boots, not once)


def _boots(rows: Rows) -> list[dict[str, Any]]:
    found = rows.records.group_by("boot").aggregate(list(_OF_BOOT.values())).to_pylist()
    boots = [
        {"boot": row["boot"], "corrupt": 0} | {name: row["_".join(each)] for name, each in _OF_BOOT.items()}
        for row in found
    ]
    return [*boots, {"boot": None, "lines": rows.corrupt, "corrupt": rows.corrupt}] if rows.corrupt else boots


def is_plain(row: Any) -> bool:
    """Whether no number is missing or repeated, of a boot in a file (boot; low, high and sum of seq; lines). If as many
    are repeated as are missing, the sum tells. Copying and cutting of files does not bring about equal sums."""
    if row["boot"] is None:
        return True
    low, high, count = row["low"], row["high"], row["lines"]
    return bool(count == high - low + 1 and row["sum"] * 2 == (low + high) * count)


class _Writer:
    """One Parquet file in a folder; both are made for the first rows."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._file: pq.ParquetWriter | None = None
        # Heartbeats and other records.
        self._waiting: tuple[list[pa.Table], list[pa.Table]] = ([], [])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._write()
        if self._file is not None:
            self._file.close()

    def add(self, rows: Rows, segment: str, base: int) -> None:
        """``segment`` and ``base``: as in STORED."""
        same = {"corrupt": (False, pa.bool_()), "segment": (segment, pa.string()), "base": (base, pa.int32())}
        for waiting, table in zip(self._waiting, (rows.beats, rows.others), strict=True):
            for name, (value, kind) in same.items():
                table = table.append_column(name, pa.repeat(pa.scalar(value, kind), table.num_rows))
            waiting.append(table)
        if sum(table.num_rows for waiting in self._waiting for table in waiting) >= GROUP_ROWS:
            self._write()

    def _write(self) -> None:
        for waiting in filter(None, self._waiting):
            rows = pa.concat_tables(waiting)
            waiting.clear()
            if self._file is None:
                self._place.mkdir(parents=True)
                path = self._place / FILE_NAME
                self._file = pq.ParquetWriter(path, rows.schema, dictionary_pagesize_limit=DICTIONARY_BYTES)
            if rows.num_rows:
                self._file.write_table(rows, GROUP_ROWS)
