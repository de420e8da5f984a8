"""What the clocks of a run are judged by (``pipeline.clocks``), and events by the reference's clock.

A clock that drifts within a day by more than the shortest window shows up as jitter and as ``spread``.
"""

from __future__ import annotations

from collections import defaultdict

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.record import DATA_VERSION, MEMBER
from rocketns.pipeline.clocks import Day, Server, clock_rows
from rocketns.pipeline.contract.frames import frame_of
from rocketns.pipeline.contract.schema import CLOCK_DAYS

FRESH_MS = 60_000  # after a longer silence a version may be older than the heartbeat that names it
SAMPLES_MAX = 20_000


def clock_days(raw_events: DataFrame, within: int | None = None) -> DataFrame:
    """CLOCK_DAYS of EVENTS. ``within``: by how much clocks differ at most (--clocks, us)."""
    servers: defaultdict[str, dict[str, Server]] = defaultdict(dict)
    for row in _servers(raw_events).collect():
        servers[row["dt"]][row["ns"]] = Server(row["observed"], row["heard"])
    samples: defaultdict[str, list[dict[str, int]]] = defaultdict(list)
    for row in _samples(raw_events).collect():
        samples[row["dt"]].append({one["ns"]: one["ts"] for one in row["firsts"]})
    days = (Day(dt, known, samples[dt]) for dt, known in servers.items())
    return frame_of(raw_events.sparkSession, list(clock_rows(days, within)), CLOCK_DAYS)


def corrected(events: DataFrame, clock_days: DataFrame) -> DataFrame:
    """The events with ``ts`` and ``since`` converted to the reference's clock, by CLOCK_DAYS."""
    of_days = F.broadcast(clock_days.select(F.col("day").alias("dt"), "ns", "offset"))
    joined = events.join(of_days, ["dt", "ns"], "left")

    def shifted(name: str) -> Column:
        return (F.col(name) - F.coalesce("offset", F.lit(0))).alias(name)

    return joined.select(*[shifted(name) if name in ("ts", "since") else F.col(name) for name in events.columns])


def _servers(events: DataFrame) -> DataFrame:
    """dt, ns, observed, heard."""
    watched = F.coalesce("observed", F.lit(False)) | F.col("since").isNotNull()
    heard = F.count_if(F.col("ev").isin("reg", "hb") & F.col("since").isNull())
    return events.groupBy("dt", "ns").agg(F.max(watched).alias("observed"), heard.alias("heard"))


def _samples(events: DataFrame) -> DataFrame:
    """dt, firsts (ns, ts): the first heartbeats of versions that several name servers heard. The first one of a broker
    on a day may be of any age, and does not count."""
    of_broker, version = ("dt", "ns", *MEMBER), (*MEMBER, *DATA_VERSION)
    told = events.where(F.col("ev").isin("reg", "hb") & F.col("since").isNull() & F.col("dvc").isNotNull())
    firsts = told.groupBy(*of_broker, *DATA_VERSION).agg(F.min("ts").alias("ts"), F.min_by("gap", "ts").alias("gap"))
    earliest = F.min("ts").over(Window.partitionBy(*of_broker))
    fresh = firsts.withColumn("earliest", earliest).where(
        (F.col("ts") > F.col("earliest")) & (F.col("gap") <= FRESH_MS)
    )
    heard = fresh.groupBy("dt", *version).agg(F.collect_list(F.struct("ns", "ts")).alias("firsts"))
    some = heard.where(F.size("firsts") > 1).orderBy(F.xxhash64("dt", *version)).limit(SAMPLES_MAX)
    return some.select("dt", "firsts")
