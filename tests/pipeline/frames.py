"""Frames as plain rows, the same events for DuckDB, and how often tests draw at random."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rocketns.pipeline.contract.frames import frame_of
from tests.pipeline.journals import Record, events_table

Row = dict[str, Any]


def frame(spark: SparkSession, schema: StructType, rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Rows as a frame; a column that a row lacks is null."""
    return frame_of(spark, [tuple(row.get(name) for name in schema.names) for row in rows], schema)


def rows(data: DataFrame | Sequence[Mapping[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    """The rows' columns ``names`` (all of them without) as sorted tuples; nested rows become tuples as well."""
    if not isinstance(data, DataFrame):
        return sorted((tuple(row[name] for name in names or row) for row in data), key=repr)
    chosen = data.select(*names) if names else data
    return sorted((plain(row) for row in chosen.collect()), key=repr)


def duck_rows(db: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    """As ``rows``, so that the two can be compared."""
    return sorted((plain(row) for row in db.execute(query).fetchall()), key=repr)


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(map(plain, value.values()))
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return [plain(item) for item in value] if isinstance(value, list) else value


def duck_events(journals: Mapping[str, Sequence[Record]]) -> duckdb.DuckDBPyConnection:
    """A database with the journals in the table ``all_events``."""
    db = duckdb.connect()
    db.register("arrow_events", events_table(journals))
    db.execute("create temp table all_events as select * from arrow_events")
    return db


def rounded(value: Any) -> Any:
    """Numbers to 12 digits: sums of the same numbers in another order differ in the last one."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    return type(value)(map(rounded, value)) if isinstance(value, list | tuple) else value


def cut(frame: DataFrame) -> DataFrame:
    """The same rows without how they were made, as the run does by writing them."""
    return frame.localCheckpoint()


def seeds(first: int) -> range:
    """The seeds of a test, ``first`` alone by default."""
    begin = int(os.environ.get("ROCKETNS_SEED", first))
    return range(begin, begin + int(os.environ.get("ROCKETNS_DRAWS", "1")))
