"""Time stamps that cannot be right: after the end of the observation, and followed by records from before it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.jobs.history.holes import BOOT, STRETCH

PIECE = (*BOOT, "stretch")

Suspects = Mapping[tuple[str, int], int]


def late_days(files: DataFrame, clock_days: DataFrame, end: int) -> list[str]:
    """The days of FILES with a record at or after ``end``: the last ones, and those with a stray record."""
    of_days = F.broadcast(clock_days.select(F.col("day").alias("dt"), "ns", "offset"))
    joined = files.join(of_days, ["dt", "ns"], "left")
    late = joined.where(F.col("last") - F.coalesce("offset", F.lit(0)) >= end)
    return sorted(row["dt"] for row in late.select("dt").distinct().collect())


def suspects(events: DataFrame, end: int) -> Suspects:
    """By name server and boot with a stray record: the last seq whose time is before ``end``."""
    is_before = F.col("ts") < end
    boots = (
        events.groupBy("ns", "boot")
        .agg(
            F.max(F.when(is_before, F.col("seq"))).alias("last"), F.min(F.when(~is_before, F.col("seq"))).alias("stray")
        )
        .where("stray < last")
    )
    return {(row["ns"], row["boot"]): row["last"] for row in boots.collect()}


def with_repaired_times(events: DataFrame, strays: Suspects, end: int) -> DataFrame:
    """The events, where each stray record has the time of the record before it in the order of seq.

    A boot may have any number of records, so they are sorted in stretches. If no right time is before a record in its
    stretch, the first and last right times of the other stretches give one."""
    if not strays:
        return events
    last = reduce(F.coalesce, (_last_of(ns, boot, seq) for (ns, boot), seq in sorted(strays.items())))
    marked = events.withColumn("last_before", last)
    affected = marked.where("last_before is not null").withColumns(
        {"stretch": F.expr(f"seq div {STRETCH}"), "right": F.when(F.col("ts") < end, F.col("ts"))}
    )
    before = _nearest("right", PIECE, F.col("seq"), 0)
    after = _nearest("right", PIECE, F.col("seq").desc(), 0)
    nearest = F.coalesce(before, "earlier", after, "later")
    is_stray = (F.col("ts") >= end) & (F.col("seq") < F.col("last_before"))
    repaired = affected.join(F.broadcast(_outside(affected)), [*PIECE], "left").withColumn(
        "ts", F.when(is_stray, nearest).otherwise(F.col("ts"))
    )
    others = marked.where("last_before is null").select(*events.columns)
    return others.unionByName(repaired.select(*events.columns))


def _outside(affected: DataFrame) -> DataFrame:
    """PIECE, earlier, later: of each stretch the last right time before it and the first one after it."""
    place = F.when(F.col("right").isNotNull(), F.col("seq"))
    ends = affected.groupBy(*PIECE).agg(F.min_by("right", place).alias("first"), F.max_by("right", place).alias("last"))
    earlier = _nearest("last", BOOT, F.col("stretch"), -1)
    later = _nearest("first", BOOT, F.col("stretch").desc(), -1)
    return ends.select(*PIECE, earlier.alias("earlier"), later.alias("later"))


def _nearest(column: str, by: tuple[str, ...], order: Column, last: int) -> Column:
    """The last value of the column before a row in this order. Spark recomputes a window that looks forward for each
    row, so what follows is looked for in the opposite order."""
    before = Window.partitionBy(*by).orderBy(order).rowsBetween(Window.unboundedPreceding, last)
    return F.last(column, ignorenulls=True).over(before)


def _last_of(ns: str, boot: int, seq: int) -> Column:
    return F.when((F.col("ns") == ns) & (F.col("boot") == boot), F.lit(seq))
