"""Incidents: windows with the same broker and cause that begin close to each other.

A lost broker with 500 topics makes 500 windows and one incident. Windows that rest on lost records make incidents of
their own, which are listed apart and are no finding.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.causes import LOST_RECORDS
from rocketns.pipeline.contract.frames import conform
from rocketns.pipeline.contract.schema import INCIDENTS
from rocketns.pipeline.jobs.history.stalls import nobody, stalled_at

APART_US = 10_000_000  # a window that begins within 10 s of the one before joins its incident
SAMPLE_MAX = 5


KEYS = ["broker", "cause", "lost", "incident"]


def incidents(key_windows: DataFrame, events: DataFrame | None = None) -> DataFrame:
    """INCIDENTS. Without the events nobody is ``stalled``."""
    in_order = Window.partitionBy("broker", "cause", "lost").orderBy("t1")
    # a range, not rows: windows that begin at the same time are in one incident, in any order
    up_to_here = in_order.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    first = F.coalesce(F.col("t1") - F.lag("t1").over(in_order) > APART_US, F.lit(True))
    user = F.coalesce(F.col("kind") == "user", F.lit(True))
    numbered = (
        key_windows.withColumns({"lost": F.col("doubt").eqNullSafe(F.lit(LOST_RECORDS)), "user": user})
        .withColumn("first", first.cast("long"))
        .withColumn("incident", F.sum("first").over(up_to_here))
    )
    by_importance = F.array_sort(F.collect_set(F.struct((~F.col("user")).alias("other"), "topic")))
    found = numbered.groupBy(*KEYS).agg(
        F.min("t1").alias("t1"),
        F.max("t2").alias("t2"),
        F.count("*").alias("windows"),
        by_importance.alias("names"),
        F.collect_set(_without()).alias("without"),
        F.array_sort(F.collect_set("opened_by")).alias("opened_by"),
        F.max(F.col("t2") - F.col("t1")).alias("longest"),
        F.max("gap").alias("gap_max"),
        # every window's, or none's
        F.when(F.count("doubt") == F.count("*"), F.min("doubt")).alias("doubt"),
    )
    explained = found.withColumn("stalled", nobody()) if events is None else _explained(found, numbered, events)
    named = explained.select(
        "*",
        F.size("names").alias("topics"),
        F.size(F.filter("names", lambda name: ~name["other"])).alias("user_topics"),
        F.slice(F.col("names.topic"), 1, SAMPLE_MAX).alias("topic_sample"),
        F.array_sort(F.array_distinct(F.flatten("without"))).alias("ns_without"),
    )
    return conform(named, INCIDENTS)


def _explained(found: DataFrame, numbered: DataFrame, events: DataFrame) -> DataFrame:
    """The incidents with ``stalled``: of the name servers compared, those that stalled when a window began."""
    compared = F.explode(F.transform("values", lambda value: value["ns"])).alias("ns")
    suspects = numbered.select(*KEYS, F.col("t1").alias("t"), compared).distinct()
    stalled = stalled_at(suspects, events, KEYS).withColumnsRenamed({name: f"stalled_{name}" for name in KEYS})
    same = [F.col(name).eqNullSafe(F.col(f"stalled_{name}")) for name in KEYS]
    return found.join(stalled, same, "left").withColumn("stalled", F.coalesce("stalled", nobody()))


def _without() -> Column:
    """The name servers of a window's values where the broker was absent."""
    absent = F.filter("values", lambda value: ~value["present"])
    return F.transform(absent, lambda value: value["ns"])
