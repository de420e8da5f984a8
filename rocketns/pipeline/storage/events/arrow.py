"""Finished files on this machine → Parquet, and what each file holds, by Arrow: no query to plan, and a fifth of
Spark's CPU.

A file is taken only if Spark would read the same rows from it: UTF-8, one object a line, each value of the type that
RECORD says, and nothing missing. All others are left to Spark, which judges each line.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.json as pj  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from rocketns.pipeline.contract.schema import RECORD
from rocketns.pipeline.storage.events.lines import FOLDERS, REQUIRED
from rocketns.pipeline.storage.events.listing import JournalFile

# A file is in memory as a whole, as text and as columns of some 230 bytes a row. A name server closes one at 64 MiB by
# default, and then it has about 300,000 rows.
FILE_BYTES_MAX, FILE_ROWS_MAX = 128 << 20, 1 << 20
FOLDERS_AT_ONCE = min(4, os.cpu_count() or 1)
# The rows of a row group, the least that a task of Spark reads.
GROUP_ROWS = 1 << 17

FILE_NAME = "part-0.parquet"

_LINE = to_arrow_schema(StructType([field for field in RECORD.fields if field.name not in FOLDERS]))
_PARSED = pj.ParseOptions(explicit_schema=_LINE, unexpected_field_behavior="ignore")
_OF_BOOT = {
    "lines": ("seq", "count"), "low": ("seq", "min"), "high": ("seq", "max"), "sum": ("seq", "sum"),
    "first": ("ts", "min"), "last": ("ts", "max"),
}  # fmt: skip


class Taken(NamedTuple):
    """``boots``: for each boot its number of records (``lines``), the lowest, highest and sum of seq, the first and
    last ts; ``repeats``: whether a record is in the file twice."""

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
    """Those of one day and name server become one file."""
    place = to.joinpath(*Path(files[0].path).parts[-3:-1])  # named as in the journal, where Spark read it
    taken = []
    with _Writer(place) as writer:
        for file in files:
            table = read(file)
            if table is not None:
                writer.add(table, file.segment, bases.index(file.base))
                taken.append(Taken(file, _boots(table), _repeats(table)))
    return taken


def read(file: JournalFile) -> pa.Table | None:
    """Its records, or None if it is for Spark."""
    if not 0 < file.size <= FILE_BYTES_MAX:
        return None
    with suppress(OSError), Path(file.path.removeprefix("file:")).open("rb") as text:
        return parsed(text.read(file.size))
    return None


def parsed(data: bytes) -> pa.Table | None:
    """The records of a file's bytes, or None if they are for Spark."""
    lines = data.count(b"\n")
    if lines > FILE_ROWS_MAX:
        return None
    # Then an object cannot go beyond its line: after the } of a value inside it a comma would have to come.
    if not (data[:1] == b"{" and data[-2:] == b"}\n" and data.count(b"}\n") == lines == data.count(b"\n{") + 1):
        return None
    with suppress(UnicodeDecodeError, pa.ArrowException):
        data.decode()
        table = pj.read_json(pa.BufferReader(data), pj.ReadOptions(False, len(data) + 1), _PARSED)
        if table.num_rows == lines and not any(table[name].null_count for name in REQUIRED):
            return table
    return None


def _boots(table: pa.Table) -> list[dict[str, Any]]:
    found = table.group_by("boot").aggregate(list(_OF_BOOT.values())).to_pylist()
    return [
        {"boot": row["boot"], "corrupt": 0} | {name: row["_".join(each)] for name, each in _OF_BOOT.items()}
        for row in found
    ]


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

    def add(self, records: pa.Table, segment: str, base: int) -> None:
        """``segment`` and ``base``: as in STORED."""
        rows = records.num_rows
        same = {"corrupt": (False, pa.bool_()), "segment": (segment, pa.string()), "base": (base, pa.int32())}
        for name, (value, kind) in same.items():
            records = records.append_column(name, pa.repeat(pa.scalar(value, kind), rows))
        self._waiting.append(records)
        if sum(table.num_rows for table in self._waiting) >= GROUP_ROWS:
            self._write()

    def _write(self) -> None:
        rows = pa.concat_tables(self._waiting)
        if self._file is None:
            self._place.mkdir(parents=True)
            self._file = pq.ParquetWriter(self._place / FILE_NAME, rows.schema)
        self._file.write_table(rows, GROUP_ROWS)
        self._waiting = []
