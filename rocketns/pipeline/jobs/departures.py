"""Job (h): what the name servers together say of why a broker went.

The downs of a broker that follow one another within TOGETHER_US (a closed connection or an unregistration) or within
timeout and scan (an expiry) are one departure, unless the broker came back between. Closings that are no departure
(the address registered under another id, or lost its id to another) are left out.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.schema import DEPARTURES, Observation, conform
from rocketns.pipeline.jobs.brokers import FAILURES, GRACEFUL

TOGETHER_US = 10_000_000
SCAN_US = 5_000_000
TIMEOUT_MS_DEFAULT = 120_000
BIN_US = 300_000_000
CHANNEL = [cause for cause in FAILURES if cause.startswith("channel")]
BROKER = ["cluster", "broker"]


def departures(broker_intervals: DataFrame, events: DataFrame, seen: Observation) -> DataFrame:
    """DEPARTURES. ``t1`` is the first down, ``t2`` the last; ``bids`` who went. Where none of the four kinds is shown
    by all name servers, ``kind`` is ``unclear``: causes are mixed, or a name server that still listed the broker was
    not seen to hear it or to give it up."""
    downs = grouped_downs(broker_intervals, seen)
    groups = downs.groupBy(*BROKER, "departure").agg(
        F.min("t2").alias("d1"),
        F.max("t2").alias("d2"),
        F.sort_array(F.collect_set("ns")).alias("ns"),
        F.sort_array(F.collect_set("bid")).alias("bids"),
        F.collect_set("end_cause").alias("causes"),
        F.max(_expiry_us()).alias("horizon"),
    )
    stayed = who_stayed(groups, downs, broker_intervals)
    key = [*BROKER, "departure"]
    heard = heard_after(stayed, events, seen).select(*key, F.lit(True).alias("heard")).distinct()
    stayed_on = stayed.select(*key, F.lit(True).alias("stayed")).distinct()
    return conform(
        groups.join(stayed_on, key, "left")
        .join(heard, key, "left")
        .withColumns({"kind": _kind(), "t1": F.col("d1"), "t2": F.col("d2")}),
        DEPARTURES,
    )


def grouped_downs(broker_intervals: DataFrame, seen: Observation) -> DataFrame:
    """BROKER_INTERVALS that a departure closed within the observation; ``departure`` numbers those of a broker."""
    order = Window.partitionBy(*BROKER).orderBy("t2", "ns", "bid", "addr")
    before = F.lag("t2").over(order)
    far = F.col("t2") - F.col("before") > _wait_us()
    back_between = F.col("t1") > F.col("before")
    starts = F.col("before").isNull() | far | back_between
    return (
        broker_intervals.where(
            F.col("end_cause").isin(GRACEFUL + FAILURES) & (F.col("t2") >= seen.t0) & (F.col("t2") < seen.t1)
        )
        .withColumn("before", before)
        .withColumn(
            "departure", F.sum(F.when(starts, 1).otherwise(0)).over(order.rowsBetween(Window.unboundedPreceding, 0))
        )
    )


def who_stayed(groups: DataFrame, downs: DataFrame, broker_intervals: DataFrame) -> DataFrame:
    """The departure's columns with ``by``, ``bid`` and ``until``: the name servers that listed the same broker and id
    at the first down and did not take part in the departure."""
    listed = broker_intervals.select(*BROKER, F.col("ns").alias("by"), "bid", "t1", F.col("t2").alias("until"))
    candidates = groups.join(listed, BROKER, "inner").where(
        (F.col("t1") <= F.col("d1")) & (F.col("until") > F.col("d1")) & F.array_contains("bids", F.col("bid"))
    )
    took_part = downs.select(*BROKER, "departure", F.col("ns").alias("by"), "bid")
    return candidates.join(took_part, [*BROKER, "departure", "by", "bid"], "left_anti")


def heard_after(stayed: DataFrame, events: DataFrame, seen: Observation) -> DataFrame:
    """Rows of ``stayed`` whose name server took a heartbeat of the same broker and id after the first down and within
    timeout and scan of it. Joined by bins of time, so that each heartbeat meets the departures near it only."""
    bins = F.explode(F.sequence(F.expr(f"d1 div {BIN_US}"), F.expr(f"(d1 + horizon) div {BIN_US}")))
    beats = events.where((F.col("ev") == "hb") & (F.col("ts") >= seen.t0) & (F.col("ts") < seen.t1)).select(
        *BROKER, F.col("ns").alias("by"), "bid", "ts", F.expr(f"ts div {BIN_US}").alias("bin")
    )
    near = F.broadcast(stayed.withColumn("bin", bins))
    return beats.join(near, [*BROKER, "by", "bid", "bin"], "inner").where(
        (F.col("ts") > F.col("d1")) & (F.col("ts") <= F.col("d1") + F.col("horizon")) & (F.col("ts") < F.col("until"))
    )


def _wait_us() -> Column:
    """How long after the others a down may be seen by its cause."""
    return F.when(F.col("end_cause") == "expired", _expiry_us()).otherwise(F.lit(TOGETHER_US))


def _expiry_us() -> Column:
    """Timeout and scan: a name server that hears nothing for so long gives the broker up."""
    return F.coalesce("timeout_ms", F.lit(TIMEOUT_MS_DEFAULT)) * 1000 + SCAN_US


def _kind() -> Column:
    """Over the columns ``causes``, ``stayed`` and ``heard`` of a departure."""
    return (
        F.when(F.arrays_overlap("causes", _texts(GRACEFUL)), "graceful")
        .when(F.col("heard"), "partition")
        .when(F.col("stayed"), "unclear")
        .when(F.forall("causes", lambda cause: cause.isin(CHANNEL)), "crash")
        .when(F.forall("causes", lambda cause: cause == "expired"), "silent")
        .otherwise("unclear")
    )


def _texts(values: list[str]) -> Column:
    return F.array(*[F.lit(value) for value in values])
