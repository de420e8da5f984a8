"""DuckDB over the frames of a test: the second version of each job is SQL that shares no code with the first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import duckdb
from pyspark.sql import DataFrame


def query(sql: str, **frames: DataFrame) -> list[tuple[Any, ...]]:
    """The result's rows, sorted; each frame is a table of its keyword's name."""
    with duckdb.connect() as connection:
        for name, frame in frames.items():
            connection.register(name, frame.toArrow())
        return sorted(connection.execute(sql).fetchall(), key=repr)


def same(ours: Sequence[tuple[Any, ...]], theirs: Sequence[tuple[Any, ...]]) -> bool:
    """Whether the rows are equal, floating point numbers to 12 digits; the order of both is that of their values."""
    return [_rounded(row) for row in ours] == [_rounded(row) for row in theirs]


def _rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_digits(value) if isinstance(value, float) else value for value in row)


def _digits(value: float) -> float:
    return value if value == 0 or not math.isfinite(value) else round(value, 11 - math.floor(math.log10(abs(value))))
