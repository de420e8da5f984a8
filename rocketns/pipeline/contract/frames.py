"""How frames are described and made: a schema from words, a frame from rows, a frame held to a schema, a function in
Python of rows with the same key.

A result table as plain rows, for the report: the important rows, and how many there are in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow  # type: ignore[import-untyped]
from pyspark.sql import Column, DataFrame, SparkSession, types
from pyspark.sql import functions as F  # noqa: N812  (the name under which everybody knows it)
from pyspark.sql.pandas.types import to_arrow_schema

SIMPLE: dict[str, types.DataType] = {
    "string": types.StringType(),
    "long": types.LongType(),
    "int": types.IntegerType(),
    "double": types.DoubleType(),
    "boolean": types.BooleanType(),
    "strings": types.ArrayType(types.StringType()),
}


class Observation(NamedTuple):
    """The time that a run looks at, [t0, t1) in epoch us."""

    t0: int
    t1: int


# What a job calls on a frame that several others are built on, to cut its lineage: write it and read it back, or
# ``DataFrame.localCheckpoint``. Repeated lineage makes planning slow.
Checkpoint = Callable[[DataFrame], DataFrame]


def columns(text: str, **nested: types.DataType) -> types.StructType:
    """A schema from ``name:type`` words; a type is one of SIMPLE or a name of ``nested``."""
    known = SIMPLE | nested
    schema = types.StructType()
    for word in text.split():
        name, kind = word.split(":")
        schema.add(name, known[kind])
    return schema


def frame_of(spark: SparkSession, rows: Sequence[tuple[Any, ...]], schema: types.StructType) -> DataFrame:
    """A frame of a few rows, passed to Java as one Arrow table. Python's rows would need processes to read them."""
    records = [dict(zip(schema.names, row, strict=True)) for row in rows]
    return spark.createDataFrame(pyarrow.Table.from_pylist(records, to_arrow_schema(schema)), schema)


def plain_rows(frame: DataFrame) -> list[dict[str, Any]]:
    """The rows of a small frame."""
    return [row.asDict(recursive=True) for row in frame.collect()]


def each(how: Callable[[str], Column], *names: str) -> list[Column]:
    """These columns of several rows become one each, under its own name."""
    return [how(name).alias(name) for name in names]


def any_of(conditions: Iterable[Column]) -> Column:
    """Whether any of them holds; false if there are none."""
    return reduce(Column.__or__, conditions, F.lit(False))


def conform(frame: DataFrame, schema: types.StructType) -> DataFrame:
    """The schema's columns, in its order and of its types. A missing column is an error of analysis."""
    return frame.select(*[F.col(field.name).cast(field.dataType).alias(field.name) for field in schema])


Row = Mapping[str, Any]
# A key and its rows in each of the frames, by their names -> rows of a result.
OfGroup = Callable[[str, Mapping[str, Sequence[Row]]], Iterable[Row]]
# Rows that a Python process passes on at once.
BATCH_ROWS = 4096


def by_group(key: str, work: OfGroup, schema: types.StructType, **frames: DataFrame) -> DataFrame:
    """What ``work`` returns (rows of ``schema``) for each value of a column that all ``frames`` have, in Python
    processes next to Spark's tasks. All rows with the value are in memory at once, in any order. Where SQL would need a
    window over a window, a loop over sorted rows is shorter, and a tenth of the CPU."""
    tagged = [frame.select(key, F.struct("*").alias(name)) for name, frame in frames.items()]
    together = reduce(partial(DataFrame.unionByName, allowMissingColumns=True), tagged)
    names, arrow = tuple(frames), to_arrow_schema(schema)

    def in_frames(same: Iterable[Row]) -> Mapping[str, Sequence[Row]]:
        found: dict[str, list[Row]] = {name: [] for name in names}
        for row in same:
            name = next(name for name in names if row[name] is not None)
            found[name].append(row[name])
        return found

    def run(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        rows = chain.from_iterable(batch.to_pylist() for batch in batches)
        groups = groupby(rows, itemgetter(key))
        results = chain.from_iterable(work(value, in_frames(same)) for value, same in groups)
        while some := list(islice(results, BATCH_ROWS)):
            yield pyarrow.RecordBatch.from_pylist(some, arrow)

    return together.repartition(key).sortWithinPartitions(key).mapInArrow(run, schema)


# The list of incidents is made from these rows; the page shows fewer of most tables, and charts need no more.
ROWS_COLLECTED_MAX = 10_000


@dataclass(frozen=True)
class Table:
    """Rows of one result table, the important ones first. ``total``: rows of the whole table; ``path``: its place
    relative to the page (Parquet), '' if it is nowhere."""

    rows: Sequence[Row] = ()
    total: int = 0
    path: str = ""

    @classmethod
    def of(cls, data: Iterable[Row], total: int | None = None, path: str = "") -> Table:
        """A table from its rows; without ``total`` they are all there are."""
        rows = tuple(data)
        return cls(rows, len(rows) if total is None else total, path)

    @property
    def is_whole(self) -> bool:
        """Whether all rows are here."""
        return len(self.rows) >= self.total

    def __bool__(self) -> bool:
        return self.total > 0
