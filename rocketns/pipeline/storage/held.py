"""Frames of few rows whose rows are a part of the plans that use them: no file is needed, and nothing planned again."""

from __future__ import annotations

from typing import Any, cast

from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as _DataFrame

# Rows of a frame that plans contain: a few MB.
HELD_MAX = 10_000


def held(frame: DataFrame) -> DataFrame | None:
    """Compute the frame and return its rows as a frame; None if there are more than HELD_MAX."""
    found = frame.limit(HELD_MAX + 1)._jdf.collectAsList()
    if found.size() > HELD_MAX:
        return None
    spark = frame.sparkSession
    return _DataFrame(cast(Any, spark)._jsparkSession.createDataFrame(found, frame._jdf.schema()), spark)


def held_if_small(frame: DataFrame) -> DataFrame:
    """A Keep: the frame itself if it has too many rows."""
    small = held(frame)
    return frame if small is None else small
