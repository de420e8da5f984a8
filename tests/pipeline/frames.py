"""Frames as plain rows, and the same events for DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
from pyspark.sql import DataFrame

from tests.pipeline.journals import Record, events_table


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    """Sorted tuples; nested rows become tuples as well."""
    return sorted((plain(row) for row in frame.collect()), key=repr)


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
