"""Bursts of lookups of topics that do not exist.

A lookup counts in the hour of its interval's middle, so a small clock difference does not move it. A topic's history
begins with its first lookup, found or not, and has at most HISTORY_HOURS. Hours without a lookup count as 0 misses.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import conform
from rocketns.pipeline.contract.schema import MISSING_TOPICS
from rocketns.pipeline.contract.times import HOUR_US
from rocketns.pipeline.jobs.topics import with_kind

HISTORY_HOURS = 168
HISTORY_HOURS_MIN = 24
MISSES_MIN = 20
SPREADS = 5
# The standard deviation of a normal distribution is this multiple of its median absolute deviation.
MAD_SCALE = 1.4826


def missing_topics(hours: DataFrame, system_topics: DataFrame) -> DataFrame:
    """MISSING_TOPICS, of HOURS, a row for each flagged (topic, hour). Clients themselves look up system topics such as
    TBW102 where a topic is missing, so those are no finding."""
    order = Window.partitionBy("topic").orderBy("hour")
    judged = (
        with_history(hourly_misses(hours))
        .where(F.col("miss") >= MISSES_MIN)
        .withColumns({"hours": F.size("past"), "median": _median(F.col("past")), "place": F.row_number().over(order)})
        .withColumn("mad", _median(F.transform("past", lambda miss: F.abs(miss - F.col("median")))))
    )
    young = F.col("hours") < HISTORY_HOURS_MIN
    bound = F.col("median") + SPREADS * F.greatest(MAD_SCALE * F.col("mad"), F.lit(1.0))
    kind = F.when(young & (F.col("place") == 1), "new").when(~young & (F.col("miss") > F.col("bound")), "anomaly")
    flagged = judged.withColumn("bound", F.when(~young, bound)).withColumn("flag", kind).where("flag is not null")
    with_topic_kind = with_kind(flagged, system_topics).withColumnRenamed("kind", "topic_kind")
    return conform(
        with_topic_kind.withColumns({"kind": F.col("flag"), "hour": F.col("hour") * HOUR_US}), MISSING_TOPICS
    )


def hourly_misses(hours: DataFrame) -> DataFrame:
    """topic, hour, miss, n, ns. Only topics with an hour of MISSES_MIN misses are kept, since no other can be
    flagged."""
    most = F.max("miss").over(Window.partitionBy("topic"))
    return hours.withColumn("most", most).where(F.col("most") >= MISSES_MIN).drop("most")


def with_history(hours: DataFrame) -> DataFrame:
    """``hours`` with the missing hours filled in, each with ``past``: the misses of the hours before it."""
    span = hours.groupBy("topic").agg(F.explode(F.sequence(F.min("hour"), F.max("hour"))).alias("hour"))
    before = Window.partitionBy("topic").orderBy("hour").rowsBetween(-HISTORY_HOURS, -1)
    return (
        span.join(hours, ["topic", "hour"], "left")
        .withColumn("miss", F.coalesce("miss", F.lit(0)))
        .withColumn("past", F.collect_list("miss").over(before))
    )


def _median(values: Column) -> Column:
    """The median; of an even number of values the mean of the middle two; null of none."""
    ordered, size = F.sort_array(values), F.size(values)
    low, high = F.floor((size - 1) / 2).cast("int"), F.floor(size / 2).cast("int")
    return F.when(size > 0, (F.get(ordered, low) + F.get(ordered, high)) / 2)
