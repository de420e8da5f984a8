"""From lines of a journal to EVENTS, for whole files, for files still being written, and for the stream."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any, TypeVar

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import StringType, StructType

from rocketns.pipeline.contract.frames import columns
from rocketns.pipeline.contract.schema import EVENTS, RECORD

# They count, even if a record says otherwise.
FOLDERS = ("ns", "dt")
REQUIRED = ("boot", "seq", "ts", "ev")

# What is read of a line: its folder has the rest.
LINE = StructType([field for field in RECORD.fields if field.name not in FOLDERS])

_UNREADABLE = "unreadable"
_LINE = StructType([*LINE.fields]).add(_UNREADABLE, StringType())
_TEXT = columns("line:string")
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
    parsed = lines.withColumn("record", F.from_json("line", _LINE, how))
    return parsed.select("record.*", *[name for name in lines.columns if name != "line"])


def frame_of_lines(spark: SparkSession, texts: Iterable[tuple[bytes, tuple[Any, ...]]], kept: StructType) -> DataFrame:
    """The frame of ``records`` from texts of whole lines, each with the values of the columns ``kept`` of all its
    lines: dt, ns and others."""
    schema = to_arrow_schema(StructType([*_TEXT.fields, *kept.fields]))
    batches = []
    for text, values in texts:
        lines = [line.decode("utf-8", "replace") for line in text.split(b"\n") if line.strip()]
        same = [
            pa.repeat(pa.scalar(value, kind), len(lines)) for value, kind in zip(values, schema.types[1:], strict=True)
        ]
        batches.append(pa.RecordBatch.from_arrays([pa.array(lines, pa.string()), *same], schema=schema))
    table = pa.Table.from_batches(batches, schema)
    return records_of(spark.createDataFrame(table, StructType([*_TEXT.fields, *kept.fields])))


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
