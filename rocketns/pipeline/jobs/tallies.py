"""Sums over records that several jobs use: heartbeat gaps, counts, lookups. EVENTS have corrected times."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Observation, columns, conform, each
from rocketns.pipeline.contract.terms import HOUR_US

SENDER = ("ns", "broker", "bid", "addr")
# What is read of lookups.
LOOKUP = ("ns", "ev", "ts", "client", "lang", "cv", "topic", "n", "miss", "iv_ms")
# n: how many heartbeats of an address came gap_ms after the previous one.
GAPS = columns("ns:string broker:string bid:int addr:string gap_ms:long n:long")
# observed, members_early, topics_early: as in SOURCES.
COUNTS = columns(
    "ns:string events:long first:long last:long lost:long observed:boolean members_early:long topics_early:long"
)
# asked: rows with n > 0; inside: of the observation; t1: the beginning of the first interval; t2: the last record.
CALLERS = columns(
    "ns:string client:string lang:string cv:int topic:string asked:boolean inside:boolean n:long miss:long iv_ms:long "
    "t1:long t2:long"
)
# hour: since the epoch, of the interval's middle; ns: name servers with a miss.
HOURS = columns("topic:string hour:long miss:long n:long ns:strings")
# The first and the last record of the lookups of an hour.
COVERED = columns("ns:string hour:long first:long last:long")


def gaps(events: DataFrame, observation: Observation) -> DataFrame:
    """GAPS, as the name servers measured them."""
    beats = events.where((F.col("ev") == "hb") & F.col("gap").isNotNull() & _inside(observation))
    return conform(beats.groupBy(*SENDER, F.col("gap").alias("gap_ms")).agg(F.count("*").alias("n")), GAPS)


def counts(events: DataFrame, observation: Observation) -> DataFrame:
    """COUNTS of the observation."""
    watched = F.col("ev").isin("start", "open") & F.coalesce("observed", F.lit(False))

    def earliest(*kinds: str) -> Column:
        return F.max(F.when(F.col("ev").isin(*kinds), F.col("ts") - F.col("since")))

    tallied = (
        events.where(_inside(observation))
        .groupBy("ns")
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


def callers(lookups: DataFrame, observation: Observation) -> DataFrame:
    """CALLERS: what each caller asked each name server for."""
    begin = F.col("ts") - F.coalesce("iv_ms", F.lit(0)) * 1000
    asked = F.coalesce(F.col("n") > 0, F.lit(False)).alias("asked")
    tallied = (
        lookups.where("ev = 'lookup'")
        .groupBy("ns", "client", "lang", "cv", "topic", asked, _inside(observation).alias("inside"))
        .agg(*each(F.sum, "n", "miss", "iv_ms"), F.min(begin).alias("t1"), F.max("ts").alias("t2"))
    )
    return conform(tallied, CALLERS)


def named(callers: DataFrame) -> DataFrame:
    """The callers of the observation that name a topic."""
    return callers.where("inside and topic is not null and topic <> '*'").withColumn(
        "miss", F.coalesce("miss", F.lit(0))
    )


def hours(lookups: DataFrame, observation: Observation) -> DataFrame:
    """HOURS: what was looked up in each hour. A lookup counts in the hour of its interval's middle."""
    middle = F.floor((F.col("ts") - F.coalesce("iv_ms", F.lit(0)) * 500) / F.lit(HOUR_US))
    miss = F.coalesce("miss", F.lit(0))
    tallied = (
        _named(lookups, observation)
        .groupBy("topic", middle.alias("hour"))
        .agg(
            F.sum(miss).alias("miss"),
            F.sum("n").alias("n"),
            F.sort_array(F.collect_set(F.when(miss > 0, F.col("ns")))).alias("ns"),
        )
    )
    return conform(tallied, HOURS)


def covered(lookups: DataFrame, observation: Observation) -> DataFrame:
    """COVERED: when which name server journalled lookups."""
    hour = F.expr(f"ts div {HOUR_US}").alias("hour")
    grouped = _named(lookups, observation).groupBy("ns", hour)
    return conform(grouped.agg(F.min("ts").alias("first"), F.max("ts").alias("last")), COVERED)


def _named(lookups: DataFrame, observation: Observation) -> DataFrame:
    is_named = F.col("topic").isNotNull() & (F.col("topic") != "*")
    return lookups.where((F.col("ev") == "lookup") & _inside(observation) & is_named)


def _inside(observation: Observation) -> Column:
    return (F.col("ts") >= observation.t0) & (F.col("ts") < observation.t1)
