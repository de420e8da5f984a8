"""From lines of a journal to EVENTS, for whole files, for files still being written, and for the stream."""

from __future__ import annotations

from functools import reduce
from typing import TypeVar

from pyspark.sql import Column, DataFrame, DataFrameReader
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import StringType, StructType

from rocketns.pipeline.contract.schema import EVENTS, RECORD

# They count, even if a record says otherwise.
FOLDERS = ("ns", "dt")
REQUIRED = ("boot", "seq", "ts", "ev")

# What is read of a line: its folder has the rest.
LINE = StructType([field for field in RECORD.fields if field.name not in FOLDERS])

_UNREADABLE = "unreadable"
_LINE = StructType([*LINE.fields]).add(_UNREADABLE, StringType())
_READ = StructType([*_LINE.fields]).add("dt", StringType()).add("ns", StringType())

Reader = TypeVar("Reader", DataFrameReader, DataStreamReader)


def records(reader: Reader, base: str) -> Reader:
    """A reader of journal files below the folder ``base`` (up to and with ``v=…``), for ``.json(…)``. Pass its frame to
    ``parsed`` or ``judged``."""
    return (
        reader.schema(_READ)
        .option("basePath", base)
        .option("mode", "PERMISSIVE")
        .option("columnNameOfCorruptRecord", _UNREADABLE)
        .option("lineSep", "\n")
    )


def records_of(lines: DataFrame) -> DataFrame:
    """The same from a frame with ``line``, dt, ns and other columns, which are kept."""
    how = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _UNREADABLE}
    told = lines.withColumn("record", F.from_json("line", _LINE, how))
    return told.select("record.*", *[name for name in lines.columns if name != "line"])


def parsed(read: DataFrame) -> DataFrame:
    """EVENTS; lines that do not parse are left out."""
    return judged(read).where("not corrupt").drop("corrupt")


def judged(read: DataFrame, *kept: str) -> DataFrame:
    """EVENTS of every line, with ``corrupt`` and the columns ``kept``.

    A line is corrupt if it is not JSON, has a value of a wrong type, or lacks a required column. It then has only the
    values of its folder.
    """
    lacking = [F.col(name).isNull() for name in REQUIRED]
    corrupt = reduce(Column.__or__, lacking, F.col(_UNREADABLE).isNotNull())
    values = [F.col(name) if name in FOLDERS else F.when(~corrupt, F.col(name)).alias(name) for name in EVENTS.names]
    return read.select(*values, corrupt.alias("corrupt"), *kept)
