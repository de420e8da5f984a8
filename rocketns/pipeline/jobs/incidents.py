"""Incidents: the windows of one broker and one cause whose beginnings follow each other closely. A broker that is lost
with its 500 topics makes 500 windows and one incident."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.schema import columns, conform

APART_US = 10_000_000  # windows that begin within 10 s of the one before belong together, as downs of a departure do
SAMPLE_MAX = 5

# topics: distinct ones, topic_sample: their first names; ns_without: name servers that lacked the broker for one of
# them (none if all had it with different queues or permissions); longest: us; gap_max: ms, null if none was noted.
INCIDENTS = columns(
    "cause:string broker:string t1:long t2:long windows:long topics:long topic_sample:strings ns_without:strings "
    "opened_by:strings longest:long gap_max:long"
)


def incidents(windows: DataFrame) -> DataFrame:
    """key_windows → INCIDENTS."""
    in_order = Window.partitionBy("broker", "cause").orderBy("t1")
    # a range, not rows: windows that begin together are in one incident whatever their order
    up_to_here = in_order.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    first = F.coalesce(F.col("t1") - F.lag("t1").over(in_order) > APART_US, F.lit(True))
    numbered = windows.withColumn("first", first.cast("long")).withColumn("incident", F.sum("first").over(up_to_here))
    found = numbered.groupBy("broker", "cause", "incident").agg(
        F.min("t1").alias("t1"),
        F.max("t2").alias("t2"),
        F.count("*").alias("windows"),
        F.array_sort(F.collect_set("topic")).alias("names"),
        F.collect_set(_without()).alias("without"),
        F.array_sort(F.collect_set("opened_by")).alias("opened_by"),
        F.max(F.col("t2") - F.col("t1")).alias("longest"),
        F.max("gap").alias("gap_max"),
    )
    named = found.select(
        "*",
        F.size("names").alias("topics"),
        F.slice("names", 1, SAMPLE_MAX).alias("topic_sample"),
        F.array_sort(F.array_distinct(F.flatten("without"))).alias("ns_without"),
    )
    return conform(named, INCIDENTS)


def _without() -> Column:
    """The name servers of a window's values where the broker was absent."""
    absent = F.filter("values", lambda value: ~value["present"])
    return F.transform(absent, lambda value: value["ns"])
