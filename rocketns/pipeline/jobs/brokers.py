"""How steadily each name server saw each broker.

One row per (ns, broker, bid, addr): time up and away, availability, failures, flaps, time between failures, heartbeat
gaps.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.record import MEMBER
from rocketns.pipeline.contract.causes import FAILURES, GRACEFUL, OBSERVED
from rocketns.pipeline.contract.frames import Observation, conform
from rocketns.pipeline.contract.schema import BROKER_STATS

KEY = ["ns", "broker", "bid", "addr"]
FLAP_US = 600_000_000
QUANTILES = (0.5, 0.95, 0.99)


def broker_stats(
    broker_intervals: DataFrame, gaps: DataFrame, ns_uptime: DataFrame, observation: Observation
) -> DataFrame:
    """BROKER_STATS. ``gaps``: GAPS of the observation. Times are those in which the name server was up; availability is
    null if the broker was neither listed nor away after a failure."""
    up = broker_uptime(broker_intervals, ns_uptime, observation)
    ends = broker_ends(broker_intervals, observation)
    quantiles = heartbeat_gaps(gaps)
    away = broker_away(broker_intervals, ns_uptime, observation)
    frame = ends.join(up, KEY, "left").join(away, KEY, "left").join(quantiles, KEY, "left")
    up_s, failed_s, planned_s = (F.coalesce(name, F.lit(0.0)) for name in ("up_s", "failed_s", "planned_s"))
    return conform(
        frame.withColumns(
            {
                "up_s": up_s,
                "failed_s": failed_s,
                "planned_s": planned_s,
                "availability": F.try_divide(up_s, up_s + failed_s),
                "mtbf_s": F.when(F.col("failures") > 0, up_s / F.col("failures")),
                "gaps": F.coalesce(F.col("gaps"), F.lit(0)),
            }
        ),
        BROKER_STATS,
    )


def broker_uptime(broker_intervals: DataFrame, ns_uptime: DataFrame, observation: Observation) -> DataFrame:
    """KEY, up_s. An interval counts while its name server is known to be up: a killed name server wrote no record of
    when its brokers went."""
    boots = F.broadcast(ns_uptime.select("ns", F.col("t1").alias("up1"), F.col("t2").alias("up2")))
    start = F.greatest(_clip(observation, "t1"), _clip(observation, "up1"))
    end = F.least(_clip(observation, "t2"), _clip(observation, "up2"))
    return broker_intervals.join(boots, "ns", "inner").groupBy(*KEY).agg(F.sum(_overlap_s(start, end)).alias("up_s"))


def broker_away(broker_intervals: DataFrame, ns_uptime: DataFrame, observation: Observation) -> DataFrame:
    """KEY, failed_s, planned_s: from an end until the next interval of the address, or the end of the observation,
    while the name server was up. After its own start nothing counts until the broker is back."""
    boots = F.broadcast(ns_uptime.select("ns", F.col("t1").alias("up1"), F.col("t2").alias("up2")))
    in_order = Window.partitionBy(*KEY).orderBy("t1")
    back = F.coalesce(F.lead("t1").over(in_order), F.lit(observation.t1))
    away = broker_intervals.withColumn("back", back).where(F.col("end_cause").isin(*FAILURES, *GRACEFUL))
    start = F.greatest(_clip(observation, "t2"), _clip(observation, "up1"))
    end = F.least(_clip(observation, "back"), _clip(observation, "up2"))

    def seconds(*causes: str) -> Column:
        return F.sum(F.when(F.col("end_cause").isin(*causes), _overlap_s(start, end)).otherwise(0.0))

    return (
        away.join(boots, "ns", "inner")
        .groupBy(*KEY)
        .agg(seconds(*FAILURES).alias("failed_s"), seconds(*GRACEFUL).alias("planned_s"))
    )


def broker_ends(broker_intervals: DataFrame, observation: Observation) -> DataFrame:
    """KEY, failures, graceful, flaps, observed: how the intervals ended. A flap is a failure followed by a registration
    of the same address within FLAP_US. What observers saw is none of the others, whatever it was."""
    order = Window.partitionBy("ns", *MEMBER).orderBy("t1")
    next_t1 = F.lead("t1").over(order)
    inside = (F.col("t2") >= observation.t0) & (F.col("t2") < observation.t1)
    failed = inside & F.col("end_cause").isin(*FAILURES)
    flapped = failed & F.col("back_in").isNotNull() & (F.col("back_in") <= FLAP_US)
    return (
        broker_intervals.withColumn("back_in", F.when(next_t1 < observation.t1, next_t1 - F.col("t2")))
        .where((F.col("t1") < observation.t1) & (F.col("t2") >= observation.t0))
        .groupBy(*KEY)
        .agg(
            F.count_if(failed).alias("failures"),
            F.count_if(inside & F.col("end_cause").isin(*GRACEFUL)).alias("graceful"),
            F.count_if(flapped).alias("flaps"),
            F.count_if(inside & F.col("end_cause").isin(*OBSERVED)).alias("observed"),
        )
    )


def heartbeat_gaps(gaps: DataFrame) -> DataFrame:
    """KEY, exact quantiles of the heartbeat gaps, and their number, of GAPS."""
    quantile = F.percentile("gap_ms", F.array(*[F.lit(q) for q in QUANTILES]), F.col("n"))
    return (
        gaps.groupBy(*KEY)
        .agg(quantile.alias("q"), F.max("gap_ms").alias("gap_max"), F.sum("n").alias("gaps"))
        .select(
            *KEY,
            F.col("q")[0].alias("gap_p50"),
            F.col("q")[1].alias("gap_p95"),
            F.col("q")[2].alias("gap_p99"),
            "gap_max",
            "gaps",
        )
    )


def _clip(observation: Observation, column: str) -> Column:
    return F.least(F.greatest(F.col(column), F.lit(observation.t0)), F.lit(observation.t1))


def _overlap_s(start: Column, end: Column) -> Column:
    return F.greatest(end - start, F.lit(0)) / F.lit(1e6)
