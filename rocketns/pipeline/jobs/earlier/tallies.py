"""Sums over records that can be joined with those of other days: heartbeat gaps, counts, lookups.

Each function takes the EVENTS of days that are not closed, with corrected times, and ``closing``: of these days, those
up to this one (``dt``) are closed by this run. The rows of both kinds are apart. ``joined`` makes one row of several.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.earlier import CALLERS, COUNTS, COVERED, FRAMES, GAPS, HOURS
from rocketns.pipeline.contract.frames import Observation, conform, each
from rocketns.pipeline.contract.times import HOUR_US

SENDER = ("ns", "broker", "bid", "addr")
NEVER = ""  # no day is closed

# How columns of several rows become one; the others are keys.
HOW: Mapping[str, Mapping[str, str]] = {
    "gaps": {"n": "sum"},
    "counts": {
        "events": "sum", "first": "min", "last": "max", "lost": "sum", "observed": "max", "members_early": "max",
        "topics_early": "max",
    },
    "callers": {"n": "sum", "miss": "sum", "iv_ms": "sum", "t1": "min", "t2": "max"},
    "hours": {"miss": "sum", "n": "sum", "ns": "sets"},
    "covered": {"first": "min", "last": "max"},
    "heard": {"ts": "min"},
}  # fmt: skip


def joined(name: str, rows: DataFrame) -> DataFrame:
    """One row for each key."""
    how = HOW[name]
    keys = [column for column in FRAMES[name].names if column not in how]
    return conform(rows.groupBy(*keys).agg(*[_joined(column, by) for column, by in how.items()]), FRAMES[name])


def _joined(column: str, by: str) -> Column:
    if by == "sets":
        return F.sort_array(F.array_distinct(F.flatten(F.collect_list(column)))).alias(column)
    joined: Column = getattr(F, by)(column)
    return joined.alias(column)


def gaps(events: DataFrame, observation: Observation, after: str = NEVER, closing: str = NEVER) -> DataFrame:
    """GAPS: the time from the previous registration or heartbeat to each heartbeat of a day later than ``after``.

    ``events`` may hold records of earlier days, at least the last one of each sender. Sorting by one hash of the five
    columns takes half the time of sorting by the columns.
    """
    order = Window.partitionBy("sender").orderBy("seq")
    tallied = (
        events.where(F.col("ev").isin("reg", "hb") & _inside(observation))
        .select(F.xxhash64("boot", *SENDER).alias("sender"), "seq", "ts", "ev", "dt", *SENDER)
        .withColumn("before", F.lag("ts").over(order))
        .where((F.col("ev") == "hb") & F.col("before").isNotNull() & ~_up_to(after))
        .groupBy(*SENDER, F.expr("(ts - before) div 1000").alias("gap_ms"), _closed(closing))
        .agg(F.count(F.lit(1)).alias("n"))
    )
    return conform(tallied, GAPS)


def counts(events: DataFrame, observation: Observation, closing: str = NEVER) -> DataFrame:
    """COUNTS of the observation."""
    watched = F.col("ev").isin("start", "open") & F.coalesce("observed", F.lit(False))

    def earliest(*kinds: str) -> Column:
        return F.max(F.when(F.col("ev").isin(*kinds), F.col("ts") - F.col("since")))

    tallied = (
        events.where(_inside(observation))
        .groupBy("ns", _closed(closing))
        .agg(
            F.count("*").alias("events"),
            F.min("ts").alias("first"),
            F.max("ts").alias("last"),
            F.coalesce(F.sum("lost"), F.lit(0)).alias("lost"),
            F.max(watched | F.col("since").isNotNull()).alias("observed"),
            earliest("reg", "down").alias("members_early"),
            earliest("tput", "tdel").alias("topics_early"),
        )
    )
    return conform(tallied, COUNTS)


def callers(lookups: DataFrame, observation: Observation, closing: str = NEVER) -> DataFrame:
    """CALLERS: what each caller asked each name server for."""
    begin = F.col("ts") - F.coalesce("iv_ms", F.lit(0)) * 1000
    asked = F.coalesce(F.col("n") > 0, F.lit(False)).alias("asked")
    tallied = (
        lookups.where("ev = 'lookup'")
        .groupBy("ns", "client", "lang", "cv", "topic", asked, _inside(observation).alias("inside"), _closed(closing))
        .agg(*each(F.sum, "n", "miss", "iv_ms"), F.min(begin).alias("t1"), F.max("ts").alias("t2"))
    )
    return conform(tallied, CALLERS)


def named(callers: DataFrame) -> DataFrame:
    """The callers of the observation that name a topic."""
    return callers.where("inside and topic is not null and topic <> '*'").withColumn(
        "miss", F.coalesce("miss", F.lit(0))
    )


def hours(lookups: DataFrame, observation: Observation, closing: str = NEVER) -> DataFrame:
    """HOURS: what was looked up in each hour. A lookup counts in the hour of its interval's middle."""
    middle = F.floor((F.col("ts") - F.coalesce("iv_ms", F.lit(0)) * 500) / F.lit(HOUR_US))
    miss = F.coalesce("miss", F.lit(0))
    tallied = (
        _named(lookups, observation)
        .groupBy("topic", middle.alias("hour"), _closed(closing))
        .agg(
            F.sum(miss).alias("miss"),
            F.sum("n").alias("n"),
            F.sort_array(F.collect_set(F.when(miss > 0, F.col("ns")))).alias("ns"),
        )
    )
    return conform(tallied, HOURS)


def covered(lookups: DataFrame, observation: Observation, closing: str = NEVER) -> DataFrame:
    """COVERED: when which name server journalled lookups."""
    hour = F.expr(f"ts div {HOUR_US}").alias("hour")
    grouped = _named(lookups, observation).groupBy("ns", hour, _closed(closing))
    return conform(grouped.agg(F.min("ts").alias("first"), F.max("ts").alias("last")), COVERED)


def _named(lookups: DataFrame, observation: Observation) -> DataFrame:
    is_named = F.col("topic").isNotNull() & (F.col("topic") != "*")
    return lookups.where((F.col("ev") == "lookup") & _inside(observation) & is_named)


def _inside(observation: Observation) -> Column:
    return (F.col("ts") >= observation.t0) & (F.col("ts") < observation.t1)


def _closed(closing: str) -> Column:
    return _up_to(closing).alias("closed")


def _up_to(day: str) -> Column:
    return F.coalesce(F.col("dt") <= day, F.lit(False))
