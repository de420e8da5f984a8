"""Finished files on this machine → Parquet, and what each file holds, by Arrow: no query to plan, and a fifth of
Spark's CPU.

A file is taken only if Spark would read the same rows from it: UTF-8, one object a line, each value of the type that
RECORD says, and nothing missing. Torn lines, which no reader of JSON takes, are counted. A file with a line of any
other kind is left to Spark, which judges each line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import groupby
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.json as pj  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql.pandas.types import to_arrow_schema

from rocketns.pipeline.storage.events.lines import LINE, REQUIRED
from rocketns.pipeline.storage.events.listing import JournalFile
from rocketns.pipeline.storage.paths import folder_at

# A file is in memory as a whole, as text and as columns of some 230 bytes a row. A name server closes one at 64 MiB by
# default, and then it has about 300,000 rows.
FILE_BYTES_MAX, FILE_ROWS_MAX = 128 << 20, 1 << 20
FOLDERS_AT_ONCE = min(4, os.cpu_count() or 1)
# The rows of a row group, the least that a task of Spark reads.
GROUP_ROWS = 1 << 17

FILE_NAME = "part-0.parquet"

_LINE = to_arrow_schema(LINE)
_PARSED = pj.ParseOptions(explicit_schema=_LINE, unexpected_field_behavior="ignore")
_OF_BOOT = {
    "lines": ("seq", "count"), "low": ("seq", "min"), "high": ("seq", "max"), "sum": ("seq", "sum"),
    "first": ("ts", "min"), "last": ("ts", "max"),
}  # fmt: skip
# Python's reader takes whatever Jackson takes, and more, but for these: quotes of the other kind and names of infinity.
_LENIENT = JSONDecoder(strict=False, parse_int=str, parse_float=str)
_ONLY_JACKSON = re.compile(rb"'|INF")


class Rows(NamedTuple):
    """What a file's text holds. ``torn``: how many lines are none of JSON."""

    records: pa.Table
    torn: int


class Taken(NamedTuple):
    """``boots``: for each boot its number of records (``lines``), the lowest, highest and sum of seq, the first and
    last ts; one more for torn lines, whose boot is None. ``repeats``: whether a record is in the file twice."""

    file: JournalFile
    boots: Sequence[Mapping[str, Any]]
    repeats: bool


def take(files: Sequence[JournalFile], bases: Sequence[str], to: Path) -> list[Taken]:
    """Write the rows of STORED, of those of the files that can be taken, below ``to`` by day and name server. ``files``
    are in that order."""
    folders = [list(same) for _, same in groupby(files, lambda file: (file.dt, file.ns))]
    with ThreadPoolExecutor(FOLDERS_AT_ONCE) as threads:
        return [one for taken in threads.map(partial(_take_folder, bases=bases, to=to), folders) for one in taken]


def _take_folder(files: Sequence[JournalFile], bases: Sequence[str], to: Path) -> list[Taken]:
    """Write the journal files of one day and name server as one file."""
    place = to.joinpath(*Path(files[0].path).parts[-3:-1])  # named as in the journal, where Spark read it
    taken = []
    with _Writer(place) as writer:
        for file in files:
            rows = read(file)
            if rows is not None:
                writer.add(rows, file.segment, bases.index(file.base))
                taken.append(_taken(file, rows))
    return taken


def read(file: JournalFile) -> Rows | None:
    """What it holds, or None if it is for Spark."""
    if not 0 < file.size <= FILE_BYTES_MAX:
        return None
    folder, _, name = file.path.rpartition("/")
    data = folder_at(None, folder).part(name, size=file.size)
    return None if data is None else rows_of(data)


def rows_of(data: bytes) -> Rows | None:
    """What the bytes of a file hold, or None if it is for Spark."""
    if data.count(b"\n") >= FILE_ROWS_MAX:
        return None
    records = _parsed(data)
    if records is not None:
        return Rows(records, 0)
    lines = [line for line in data.split(b"\n") if line]
    whole = [line + b"\n" for line in lines if not _is_torn(line)]
    records = _parsed(b"".join(whole)) if whole else _LINE.empty_table()
    return None if records is None else Rows(records, len(lines) - len(whole))


def _parsed(data: bytes) -> pa.Table | None:
    """The records if every line has one, as Spark would read it."""
    lines = data.count(b"\n")
    # Then an object cannot go beyond its line: after the } of a value inside it a comma would have to come.
    if not (data[:1] == b"{" and data[-2:] == b"}\n" and data.count(b"}\n") == lines == data.count(b"\n{") + 1):
        return None
    with suppress(UnicodeDecodeError, pa.ArrowException):
        data.decode()
        table = pj.read_json(pa.BufferReader(data), pj.ReadOptions(False, len(data) + 1), _PARSED)
        if table.num_rows == lines and not any(table[name].null_count for name in REQUIRED):
            return table
    return None


def _is_torn(line: bytes) -> bool:
    """Whether Spark, too, cannot read it as JSON; False if that is not certain."""
    if line[:1] != b"{" or _ONLY_JACKSON.search(line):
        return False
    with suppress(UnicodeDecodeError, RecursionError):
        text = line.decode()
        try:
            _LENIENT.raw_decode(text)
        except JSONDecodeError:
            return True
    return False


def _taken(file: JournalFile, rows: Rows) -> Taken:
    boots = _boots(rows)
    return Taken(file, boots, not all(map(is_plain, boots)) and _repeats(rows.records))


def _boots(rows: Rows) -> list[dict[str, Any]]:
    found = rows.records.group_by("boot").aggregate(list(_OF_BOOT.values())).to_pylist()
    boots = [
        {"boot": row["boot"], "corrupt": 0} | {name: row["_".join(each)] for name, each in _OF_BOOT.items()}
        for row in found
    ]
    return [*boots, {"boot": None, "lines": rows.torn, "corrupt": rows.torn}] if rows.torn else boots


def is_plain(row: Any) -> bool:
    """Whether no number is missing or repeated, of a boot in a file (boot; low, high and sum of seq; lines). If as many
    are repeated as are missing, the sum tells. Copying and cutting of files does not bring about equal sums."""
    if row["boot"] is None:
        return True
    low, high, count = row["low"], row["high"], row["lines"]
    return bool(count == high - low + 1 and row["sum"] * 2 == (low + high) * count)


def _repeats(table: pa.Table) -> bool:
    return bool(table.group_by(["boot", "seq"]).aggregate([]).num_rows < table.num_rows)


class _Writer:
    """One Parquet file in a folder; both are made for the first rows."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._file: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._waiting:
            self._write()
        if self._file is not None:
            self._file.close()

    def add(self, rows: Rows, segment: str, base: int) -> None:
        """``segment`` and ``base``: as in STORED."""
        for table, corrupt in ((rows.records, False), (_nothing(rows.torn), True)):
            same = {"corrupt": (corrupt, pa.bool_()), "segment": (segment, pa.string()), "base": (base, pa.int32())}
            for name, (value, kind) in same.items():
                table = table.append_column(name, pa.repeat(pa.scalar(value, kind), table.num_rows))
            self._waiting.append(table)
        if sum(table.num_rows for table in self._waiting) >= GROUP_ROWS:
            self._write()

    def _write(self) -> None:
        rows = pa.concat_tables(self._waiting)
        if self._file is None:
            self._place.mkdir(parents=True)
            self._file = pq.ParquetWriter(self._place / FILE_NAME, rows.schema)
        self._file.write_table(rows, GROUP_ROWS)
        self._waiting = []


def _nothing(rows: int) -> pa.Table:
    """So many rows of nulls."""
    return pa.table([pa.nulls(rows, field.type) for field in _LINE], _LINE)
