"""Job (e): how steadily each name server saw each broker.

A row per (ns, broker, bid, addr): time up, availability, failures, flaps, mean time between failures, heartbeat gaps.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.schema import BROKER_STATS, Observation, conform

KEY = ["ns", "broker", "bid", "addr"]
FAILURES = ["expired", "channel_close", "channel_exception", "channel_idle"]
GRACEFUL = ["unregister"]
FLAP_US = 600_000_000
QUANTILES = (0.5, 0.95, 0.99)


def broker_stats(broker_intervals: DataFrame, events: DataFrame, ns_uptime: DataFrame, seen: Observation) -> DataFrame:
    """BROKER_STATS. Availability counts only the time that the name server was up; it is null if that is none."""
    up = broker_uptime(broker_intervals, ns_uptime, seen)
    ends = broker_ends(broker_intervals, seen)
    gaps = heartbeat_gaps(events, seen)
    known = ns_seconds(ns_uptime, seen)
    frame = ends.join(up, KEY, "left").join(gaps, KEY, "left").join(F.broadcast(known), "ns", "left")
    up_s = F.coalesce(F.col("up_s"), F.lit(0.0))
    return conform(
        frame.withColumns(
            {
                "up_s": up_s,
                "availability": F.when(F.col("ns_s") > 0, up_s / F.col("ns_s")),
                "mtbf_s": F.when(F.col("failures") > 0, up_s / F.col("failures")),
                "gaps": F.coalesce(F.col("gaps"), F.lit(0)),
            }
        ),
        BROKER_STATS,
    )


def ns_seconds(ns_uptime: DataFrame, seen: Observation) -> DataFrame:
    """ns, ns_s: how long each name server was up within the observation."""
    return ns_uptime.groupBy("ns").agg(F.sum(_overlap_s(_clip(seen, "t1"), _clip(seen, "t2"))).alias("ns_s"))


def broker_uptime(broker_intervals: DataFrame, ns_uptime: DataFrame, seen: Observation) -> DataFrame:
    """KEY, up_s. An interval counts as far as its name server is known to have been up: one that was killed has
    no record of when its brokers went."""
    boots = F.broadcast(ns_uptime.select("ns", F.col("t1").alias("up1"), F.col("t2").alias("up2")))
    start = F.greatest(_clip(seen, "t1"), _clip(seen, "up1"))
    end = F.least(_clip(seen, "t2"), _clip(seen, "up2"))
    return broker_intervals.join(boots, "ns", "inner").groupBy(*KEY).agg(F.sum(_overlap_s(start, end)).alias("up_s"))


def broker_ends(broker_intervals: DataFrame, seen: Observation) -> DataFrame:
    """KEY, failures, graceful, flaps: how the intervals ended. A flap is a failure with a registration of the same
    address within FLAP_US."""
    order = Window.partitionBy("ns", "cluster", "broker", "bid", "addr").orderBy("t1")
    next_t1 = F.lead("t1").over(order)
    inside = (F.col("t2") >= seen.t0) & (F.col("t2") < seen.t1)
    failed = inside & F.col("end_cause").isin(FAILURES)
    flapped = failed & F.col("back_in").isNotNull() & (F.col("back_in") <= FLAP_US)
    return (
        broker_intervals.withColumn("back_in", F.when(next_t1 < seen.t1, next_t1 - F.col("t2")))
        .where((F.col("t1") < seen.t1) & (F.col("t2") >= seen.t0))
        .groupBy(*KEY)
        .agg(
            F.count_if(failed).alias("failures"),
            F.count_if(inside & F.col("end_cause").isin(GRACEFUL)).alias("graceful"),
            F.count_if(flapped).alias("flaps"),
        )
    )


def heartbeat_gaps(events: DataFrame, seen: Observation) -> DataFrame:
    """KEY, exact quantiles of the whole ms from the registration or heartbeat before to each heartbeat, and how many.

    Whole ms, so that the quantiles are counted over few distinct values however long the journal is. Sorted by a number
    in place of the five columns that it stands for, which takes half the time.
    """
    order = Window.partitionBy("sender").orderBy("seq")
    gap = F.expr("(ts - before) div 1000")
    quantile = F.percentile("gap_ms", F.array(*[F.lit(q) for q in QUANTILES]))
    return (
        events.where(F.col("ev").isin("reg", "hb") & (F.col("ts") >= seen.t0) & (F.col("ts") < seen.t1))
        .select(F.xxhash64("boot", *KEY).alias("sender"), "seq", "ts", "ev", *KEY)
        .withColumn("before", F.lag("ts").over(order))
        .where((F.col("ev") == "hb") & F.col("before").isNotNull())
        .withColumn("gap_ms", gap)
        .groupBy(*KEY)
        .agg(quantile.alias("q"), F.max("gap_ms").alias("gap_max"), F.count(F.lit(1)).alias("gaps"))
        .select(
            *KEY,
            F.col("q")[0].alias("gap_p50"),
            F.col("q")[1].alias("gap_p95"),
            F.col("q")[2].alias("gap_p99"),
            "gap_max",
            "gaps",
        )
    )


def _clip(seen: Observation, column: str) -> Column:
    return F.least(F.greatest(F.col(column), F.lit(seen.t0)), F.lit(seen.t1))


def _overlap_s(start: Column, end: Column) -> Column:
    return F.greatest(end - start, F.lit(0)) / F.lit(1e6)
