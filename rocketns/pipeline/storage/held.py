"""Small frames whose rows are stored in the plans that use them: they need no file, and are not planned again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as Classic
from pyspark.sql.types import StructType

# Rows of a frame that plans contain: a few MB.
HELD_MAX = 10_000
# The same as Parquet, of all files together.
HELD_BYTES_MAX = 1 << 20


def held(frame: DataFrame) -> DataFrame | None:
    """Compute the frame and return its rows as a frame; None if there are more than HELD_MAX."""
    found = frame.limit(HELD_MAX + 1)._jdf.collectAsList()  # the rows stay in the Java process
    if found.size() > HELD_MAX:
        return None
    java = cast(Any, frame.sparkSession)._jsparkSession
    return Classic(java.createDataFrame(found, frame._jdf.schema()), frame.sparkSession)


def held_file(spark: SparkSession, folder: Path, schema: StructType) -> DataFrame | None:
    """The rows of a Parquet folder on this machine; None if they are too many."""
    files = [path for path in folder.iterdir() if path.suffix == ".parquet"]
    if not files or sum(path.stat().st_size for path in files) > HELD_BYTES_MAX:
        return None
    rows = sum(pq.read_metadata(path).num_rows for path in files)
    return None if rows > HELD_MAX else spark.createDataFrame(pq.read_table(folder, partitioning=None), schema)


def held_if_small(frame: DataFrame) -> DataFrame:
    """A Keep: the frame itself if it has too many rows."""
    small = held(frame)
    return frame if small is None else small
