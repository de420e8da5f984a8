"""DuckDB over the frames of a test: the second version of each job is SQL that shares no code with the first."""

from __future__ import annotations

from typing import Any

import duckdb
from pyspark.sql import DataFrame


def query(sql: str, **frames: DataFrame) -> list[tuple[Any, ...]]:
    """The result's rows, sorted; each frame is a table of its keyword's name."""
    with duckdb.connect() as connection:
        for name, frame in frames.items():
            connection.register(name, frame.toArrow())
        return sorted(connection.execute(sql).fetchall(), key=repr)
