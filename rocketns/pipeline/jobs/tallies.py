"""Sums over records that several jobs use: counts, lookups. EVENTS have corrected times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Observation, Row, columns, conform, each
from rocketns.pipeline.contract.terms import HOUR_US

# What is read of lookups.
LOOKUP = ("ns", "ev", "ts", "client", "lang", "cv", "topic", "n", "miss", "iv_ms")
# asked: rows with n > 0; inside: of the observation; t1: the beginning of the first interval; t2: the last record.
CALLERS = columns(
    "ns:string client:string lang:string cv:int topic:string asked:boolean inside:boolean n:long miss:long iv_ms:long "
    "t1:long t2:long"
)
# hour: since the epoch, of the interval's middle; ns: name servers with a miss.
HOURS = columns("topic:string hour:long miss:long n:long ns:strings")
# The first and the last record of the lookups of an hour.
COVERED = columns("ns:string hour:long first:long last:long")


def of_stretch(observation: Observation) -> Column:
    """``inside``: what ``counts`` takes of a stretch, of the records of the observation."""
    inside = _inside(observation)
    watched = F.col("ev").isin("start", "open") & F.coalesce("observed", F.lit(False))

    def earliest(*kinds: str) -> Column:
        return F.max(F.when(inside & F.col("ev").isin(*kinds), F.col("ts") - F.col("since")))

    counted = {
        "events": F.count_if(inside),
        "first": F.min(F.when(inside, F.col("ts"))),
        "last": F.max(F.when(inside, F.col("ts"))),
        "lost": F.sum(F.when(inside, F.col("lost"))),
        "observed": F.max(inside & (watched | F.col("since").isNotNull())),
        "members_early": earliest("reg", "down"),
        "topics_early": earliest("tput", "tdel"),
    }
    return F.struct(*[value.alias(name) for name, value in counted.items()]).alias("inside")


def counts(stretches: Iterable[Row]) -> dict[str, Row]:
    """By name server: events, first, last, lost; observed, members_early and topics_early as in SOURCES."""
    of_servers: defaultdict[str, list[Row]] = defaultdict(list)
    for row in stretches:
        of_servers[row["ns"]].append(row["inside"])

    def together(name: str, rows: Iterable[Row]) -> Any:
        values = [row[name] for row in rows if row[name] is not None]
        if name in ("events", "lost"):
            return sum(values)
        return (min if name == "first" else max)(values, default=None)

    return {ns: {name: together(name, rows) for name in rows[0]} for ns, rows in of_servers.items()}


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
