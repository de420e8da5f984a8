"""Frames of few rows whose rows are a part of the plans that use them: no file is needed, and nothing planned again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession, is_remote
from pyspark.sql.types import StructType

# Rows of a frame that plans contain: a few MB.
HELD_MAX = 10_000
# The same as Parquet, of all files together.
HELD_BYTES_MAX = 1 << 20


def held(frame: DataFrame) -> DataFrame | None:
    """Compute the frame and return its rows as a frame; None if there are more than HELD_MAX."""
    few = frame.limit(HELD_MAX + 1)
    return _through_client(few) if is_remote() else _within_java(few)


def _within_java(few: DataFrame) -> DataFrame | None:
    """The rows stay in the Java process."""
    from pyspark.sql.classic.dataframe import DataFrame as Classic

    found = few._jdf.collectAsList()
    if found.size() > HELD_MAX:
        return None
    spark = few.sparkSession
    return Classic(cast(Any, spark)._jsparkSession.createDataFrame(found, few._jdf.schema()), spark)


def _through_client(few: DataFrame) -> DataFrame | None:
    """A client of Spark Connect takes the rows from the server, and sends them with each plan."""
    found = few.toArrow()
    return None if found.num_rows > HELD_MAX else few.sparkSession.createDataFrame(found, few.schema)


def held_file(spark: SparkSession, folder: Path, schema: StructType) -> DataFrame | None:
    """The rows of a Parquet folder on this machine; None if they are too many. A client of Spark Connect would send
    them with each plan, so for it they stay in the folder."""
    if is_remote():
        return None
    files = [path for path in folder.iterdir() if path.suffix == ".parquet"]
    if not files or sum(path.stat().st_size for path in files) > HELD_BYTES_MAX:
        return None
    rows = sum(pq.read_metadata(path).num_rows for path in files)
    return None if rows > HELD_MAX else spark.createDataFrame(pq.read_table(folder, partitioning=None), schema)


def held_if_small(frame: DataFrame) -> DataFrame:
    """A Keep: the frame itself if it has too many rows."""
    small = held(frame)
    return frame if small is None else small
