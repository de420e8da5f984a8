"""Incidents: windows with the same broker and cause that begin close to each other.

A lost broker with 500 topics makes 500 windows and one incident. Windows in doubt make incidents of their own, which
are listed apart and are no finding.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import conform, each
from rocketns.pipeline.contract.schema import DIVERGENCES
from rocketns.pipeline.jobs.departures import nobody, stalled_at

APART_US = 10_000_000  # a window that begins within 10 s of the one before joins its incident
SAMPLE_MAX = 5


KEYS = ["broker", "cause", "doubt", "incident"]


def divergences(key_windows: DataFrame, events: DataFrame | None = None) -> DataFrame:
    """DIVERGENCES. Without the events nobody is ``stalled``."""
    in_order = Window.partitionBy("broker", "cause", "doubt").orderBy("t1")
    # a range, not rows: windows that begin at the same time are in one incident, in any order
    up_to_here = in_order.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    first = F.coalesce(F.col("t1") - F.lag("t1").over(in_order) > APART_US, F.lit(True))
    user = F.coalesce(F.col("kind") == "user", F.lit(True))
    numbered = (
        key_windows.withColumn("user", user)
        .withColumn("first", first.cast("long"))
        .withColumn("incident", F.sum("first").over(up_to_here))
    )
    topics = numbered.groupBy(*KEYS, "topic", "user").agg(
        *each(F.min, "t1"),
        *each(F.max, "t2"),
        F.count("*").alias("windows"),
        F.max(_hidden()).alias("hidden"),
        F.flatten(F.collect_list(_without())).alias("without"),
        F.collect_set("opened_by").alias("opened_by"),
        F.max(F.col("t2") - F.col("t1")).alias("longest"),
        F.max("gap").alias("gap_max"),
        F.min(F.struct("t1", (-F.coalesce("t1_early", F.lit(0))).alias("early"))).alias("begins"),
        F.max(F.struct("t2", F.coalesce("t2_early", F.lit(0)).alias("early"))).alias("ends"),
    )
    by_importance = F.sort_array(F.collect_list(F.struct((~F.col("user")).alias("other"), "topic")))
    grouped = topics.groupBy(*KEYS).agg(
        *each(F.min, "t1"),
        *each(F.max, "t2", "longest", "gap_max"),
        (-F.min("begins").early).alias("t1_early"),
        F.max("ends").early.alias("t2_early"),
        *each(F.sum, "windows"),
        F.count("*").alias("topics"),
        F.count_if("user").alias("user_topics"),
        F.slice(by_importance, 1, SAMPLE_MAX)["topic"].alias("topic_sample"),
        F.coalesce(F.sum(F.when(F.col("user"), F.col("hidden"))), F.lit(0)).alias("queues"),
        _names("without").alias("ns_without"),
        _names("opened_by").alias("opened_by"),
    )
    explained = grouped.withColumn("stalled", nobody()) if events is None else _explained(grouped, numbered, events)
    return conform(explained, DIVERGENCES)


def _explained(grouped: DataFrame, numbered: DataFrame, events: DataFrame) -> DataFrame:
    """The incidents with ``stalled``: of the name servers compared, those that stalled when a window began."""
    compared = F.explode(F.transform("values", lambda value: value["ns"])).alias("ns")
    suspects = numbered.select(*KEYS, F.col("t1").alias("t"), compared).distinct()
    stalled = stalled_at(suspects, events, KEYS).withColumnsRenamed({name: f"stalled_{name}" for name in KEYS})
    same = [F.col(name).eqNullSafe(F.col(f"stalled_{name}")) for name in KEYS]
    return grouped.join(stalled, same, "left").withColumn("stalled", F.coalesce("stalled", nobody()))


def _without() -> Column:
    """The name servers of a window's values where the broker was absent."""
    absent = F.filter("values", lambda value: ~value["present"])
    return F.transform(absent, lambda value: value["ns"])


def _hidden() -> Column:
    """How many read queues of a window one name server showed and another did not."""
    shown = F.transform("values", lambda value: F.when(value["present"], value["r"]).otherwise(0))
    return F.array_max(shown) - F.array_min(shown)


def _names(lists: str) -> Column:
    return F.sort_array(F.array_distinct(F.flatten(F.collect_list(lists))))
