"""Job (g): bursts of look-ups of topics that do not exist.

A look-up counts in the hour of its interval's middle, which a small difference of clocks does not move. A topic's
history is the hours from its first look-up of any outcome on, at most HISTORY_HOURS; hours without a look-up count as 0
misses.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.schema import Observation, columns, conform
from rocketns.pipeline.jobs.topics import lookups

HOUR_US = 3_600_000_000
HISTORY_HOURS = 168
HISTORY_HOURS_MIN = 24
MISSES_MIN = 20
SPREADS = 5
# Of a normal distribution the standard deviation is this much of the median absolute deviation.
MAD_SCALE = 1.4826

# hour: its start; miss of n look-ups; kind: new (the first such hour in less than HISTORY_HOURS_MIN of history) |
# anomaly; ns: who was asked; median and mad of the misses in the ``hours`` of history; bound: what miss exceeds.
MISSING_TOPICS = columns(
    "topic:string hour:long kind:string miss:long n:long ns:strings hours:int median:double mad:double bound:double"
)


def missing_topics(events: DataFrame, seen: Observation) -> DataFrame:
    """MISSING_TOPICS, a row for each flagged (topic, hour)."""
    hours = hourly_misses(events, seen)
    order = Window.partitionBy("topic").orderBy("hour")
    judged = (
        with_history(hours)
        .where(F.col("miss") >= MISSES_MIN)
        .withColumns({"hours": F.size("past"), "median": _median(F.col("past")), "place": F.row_number().over(order)})
        .withColumn("mad", _median(F.transform("past", lambda miss: F.abs(miss - F.col("median")))))
    )
    young = F.col("hours") < HISTORY_HOURS_MIN
    bound = F.col("median") + SPREADS * F.greatest(MAD_SCALE * F.col("mad"), F.lit(1.0))
    kind = F.when(young & (F.col("place") == 1), "new").when(~young & (F.col("miss") > F.col("bound")), "anomaly")
    return conform(
        judged.withColumn("bound", F.when(~young, bound))
        .withColumns({"kind": kind, "hour": F.col("hour") * HOUR_US})
        .where(F.col("kind").isNotNull()),
        MISSING_TOPICS,
    )


def hourly_misses(events: DataFrame, seen: Observation) -> DataFrame:
    """topic, hour (since the epoch), miss, n, ns: of the hours in which a topic was asked for; only topics with an hour
    of MISSES_MIN misses, since no other can be flagged."""
    middle = F.floor((F.col("ts") - F.coalesce("iv_ms", F.lit(0)) * 500) / F.lit(HOUR_US))
    hourly = (
        lookups(events, seen)
        .groupBy("topic", middle.alias("hour"))
        .agg(
            F.sum("miss").alias("miss"),
            F.sum("n").alias("n"),
            F.sort_array(F.collect_set(F.when(F.col("miss") > 0, F.col("ns")))).alias("ns"),
        )
    )
    most = F.max("miss").over(Window.partitionBy("topic"))
    return hourly.withColumn("most", most).where(F.col("most") >= MISSES_MIN).drop("most")


def with_history(hours: DataFrame) -> DataFrame:
    """``hours`` without gaps between a topic's first and last, each with ``past``: the misses of those before it."""
    span = hours.groupBy("topic").agg(F.explode(F.sequence(F.min("hour"), F.max("hour"))).alias("hour"))
    before = Window.partitionBy("topic").orderBy("hour").rowsBetween(-HISTORY_HOURS, -1)
    return (
        span.join(hours, ["topic", "hour"], "left")
        .withColumn("miss", F.coalesce("miss", F.lit(0)))
        .withColumn("past", F.collect_list("miss").over(before))
    )


def _median(values: Column) -> Column:
    """The mean of the middle two of an even number; null of none."""
    ordered, size = F.sort_array(values), F.size(values)
    low, high = F.floor((size - 1) / 2).cast("int"), F.floor(size / 2).cast("int")
    return F.when(size > 0, (F.get(ordered, low) + F.get(ordered, high)) / 2)
