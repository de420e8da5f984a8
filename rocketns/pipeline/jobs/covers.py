"""The time in which anything differed, without overlaps."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812


def covers(windows: DataFrame) -> DataFrame:
    """The union of a topic's windows: topic, t1, t2. No cover begins where another one ends."""
    in_order = Window.partitionBy("topic").orderBy("t1", "t2")
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    begins = F.coalesce(F.col("t1") > F.max("t2").over(earlier), F.lit(True)).cast("int")
    return (
        windows.select("topic", "t1", "t2")
        .withColumn("begins", begins)
        .withColumn("cover", F.sum("begins").over(so_far))
        .groupBy("topic", "cover")
        .agg(F.min("t1").alias("t1"), F.max("t2").alias("t2"))
    )
