"""Time stamps that cannot be right: after the end of the observation, and followed by records from before it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

Suspects = Mapping[tuple[str, int], int]


def late_days(files: DataFrame, clock_days: DataFrame, end: int) -> list[str]:
    """The days of FILES with a record at or after ``end``: the last ones, and those with a stray record."""
    of_days = F.broadcast(clock_days.select(F.col("day").alias("dt"), "ns", "offset"))
    joined = files.join(of_days, ["dt", "ns"], "left")
    late = joined.where(F.col("last") - F.coalesce("offset", F.lit(0)) >= end)
    return sorted(row["dt"] for row in late.select("dt").distinct().collect())


def suspects(events: DataFrame, end: int) -> Suspects:
    """By name server and boot: the last seq before ``end``, where an earlier record is not before it."""
    is_before = F.col("ts") < end
    found = (
        events.groupBy("ns", "boot")
        .agg(
            F.max(F.when(is_before, F.col("seq"))).alias("last"),
            F.min(F.when(~is_before, F.col("seq"))).alias("stray"),
        )
        .where("stray < last")
    )
    return {(row["ns"], row["boot"]): row["last"] for row in found.collect()}


def steadied(events: DataFrame, found: Suspects, end: int) -> DataFrame:
    """The events, where each stray record has the time of the record before it in the order of seq."""
    if not found:
        return events
    last = reduce(_or_else, (_last_of(ns, boot, seq) for (ns, boot), seq in sorted(found.items())))
    marked = events.withColumn("last_before", last)
    suspected = marked.where("last_before is not null")
    in_order = Window.partitionBy("ns", "boot").orderBy("seq")
    right = F.when(F.col("ts") < end, F.col("ts"))
    before = F.last(right, ignorenulls=True).over(in_order.rowsBetween(Window.unboundedPreceding, 0))
    after = F.first(right, ignorenulls=True).over(in_order.rowsBetween(0, Window.unboundedFollowing))
    is_stray = (F.col("ts") >= end) & (F.col("seq") < F.col("last_before"))
    repaired = suspected.withColumn("ts", F.when(is_stray, F.coalesce(before, after)).otherwise(F.col("ts")))
    others = marked.where("last_before is null")
    return others.unionByName(repaired).select(*events.columns)


def _last_of(ns: str, boot: int, seq: int) -> Column:
    return F.when((F.col("ns") == ns) & (F.col("boot") == boot), F.lit(seq))


def _or_else(one: Column, other: Column) -> Column:
    return F.coalesce(one, other)
