"""By how much the clocks of the name servers differ, told by what all of them saw at the same time; and its correction.

A broker sends each registration to all its name servers at once. Two kinds of sight are compared:

- versions: a data version that a name server takes in a heartbeat, where it had heard of the broker within a minute and
  had taken another version before. Each is unmistakable, so any difference can be told.
- heartbeats, where fewer than SAMPLES_MIN versions changed: each is compared with the nearest of the same member at the
  reference, so a difference can be told up to half the time between two (15 s with RocketMQ's 30 s).

The offset is the median. It is believed if at least half of the samples lie within AGREE_US of it. A name server with
no believable offset is left as it is (method none). One offset holds for the whole observation: a clock that drifts by
more than the shortest window shows as jitter, and as ``spread``.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.schema import OFFSETS, Keep, as_it_is, conform

VERSIONS, HEARTBEATS = "versions", "heartbeats"
SAMPLES_MIN = 3  # of versions
AGREE_US = 1_000_000
FRESH_MS = 60_000  # a version that comes after a longer silence may have been there for long
FAR_US = 3_600_000_000
HALF_BEAT_US = 15_000_000
MEMBERS_MAX = 30  # that are looked at

MEMBER = ("cluster", "broker", "bid", "addr")
VERSION = ("dvt", "dvc", "dvs")


def clock_offsets(events: DataFrame, keep: Keep = as_it_is) -> DataFrame:
    """OFFSETS, a row for each name server; the reference is the one that took the most heartbeats of the
    members that are looked at.

    ``keep`` is called on the frames that the rest is made of; none has more than the sights of
    the members that are looked at.
    """
    members = _members(events)
    heard = events.where(F.col("ev").isin("reg", "hb")).select("ns", "ev", *MEMBER, *VERSION, "ts", "gap")
    told = keep(heard.join(F.broadcast(members), [*MEMBER], "left_semi"))
    sights = keep(_sights(told))
    servers = keep(_servers(events, sights))
    versions = _version_differences(sights, servers).select("*", F.lit(VERSIONS).alias("method"))
    beats = _beat_differences(told, servers).select("*", F.lit(HEARTBEATS).alias("method"))
    judged = _judged(keep(versions.unionByName(beats)))
    # By name, heartbeats come before versions.
    best = Window.partitionBy("ns").orderBy(F.col("method").desc())
    chosen = judged.withColumn("rank", F.row_number().over(best)).where("rank = 1")
    told_all = servers.join(F.broadcast(chosen), ["ns"], "left").fillna(0, ["offset", "samples", "spread"])
    return conform(told_all.fillna("none", ["method"]), OFFSETS)


def corrected(events: DataFrame, offsets: DataFrame) -> DataFrame:
    """The events with ``ts`` as the reference's clock would have shown it."""
    shifted = F.col("ts") - F.coalesce("offset", F.lit(0))
    joined = events.join(F.broadcast(offsets.select("ns", "offset")), "ns", "left")
    return joined.select(*[shifted.alias("ts") if name == "ts" else F.col(name) for name in events.columns])


def _members(events: DataFrame) -> DataFrame:
    """Those whose coming, going or snapshot most name servers tell of; such records are few, so this costs little."""
    return (
        events.where(F.col("ev").isin("reg", "down", "snap") & F.col("addr").isNotNull())
        .groupBy(*MEMBER)
        .agg(F.count_distinct("ns").alias("servers"))
        .orderBy(F.col("servers").desc(), *MEMBER)
        .limit(MEMBERS_MAX)
        .select(*MEMBER)
    )


def _sights(told: DataFrame) -> DataFrame:
    """What each name server saw of each version of each member: seen (first), the gap before that, count."""
    return told.groupBy("ns", *MEMBER, *VERSION).agg(
        F.min("ts").alias("seen"), F.min_by("gap", "ts").alias("gap"), F.count("*").alias("count")
    )


def _servers(events: DataFrame, sights: DataFrame) -> DataFrame:
    """ns, reference."""
    counts = sights.groupBy("ns").agg(F.sum("count").alias("count"))
    chosen = counts.agg(F.min(F.struct((-F.col("count")).alias("least"), "ns")).alias("first"))
    names = events.select("ns").distinct()
    return names.join(F.broadcast(chosen), how="cross").select("ns", F.col("first.ns").alias("reference"))


def _version_differences(sights: DataFrame, servers: DataFrame) -> DataFrame:
    """ns, difference."""
    first = (
        sights.where("dvc is not null")
        .withColumn("earliest", F.min("seen").over(Window.partitionBy("ns", *MEMBER)))
        .where((F.col("seen") > F.col("earliest")) & (F.col("gap") <= FRESH_MS))
        .join(F.broadcast(servers), "ns", "inner")
    )
    reference = first.where("ns = reference").select(*MEMBER, *VERSION, F.col("seen").alias("reference_seen"))
    same = [F.col(f"a.{name}").eqNullSafe(F.col(f"b.{name}")) for name in (*MEMBER, *VERSION)]
    return (
        first.where("ns <> reference")
        .alias("a")
        .join(reference.alias("b"), same, "inner")
        .select("ns", (F.col("seen") - F.col("reference_seen")).alias("difference"))
        .where(F.abs("difference") <= FAR_US)
    )


def _beat_differences(told: DataFrame, servers: DataFrame) -> DataFrame:
    """ns, difference."""
    of_reference = F.when(F.col("ns") == F.col("reference"), F.col("ts"))
    # Two sorts: a frame that looks forward would be computed anew for each row.
    upwards = Window.partitionBy(*MEMBER).orderBy("ts", "ns").rowsBetween(Window.unboundedPreceding, -1)
    downwards = (
        Window.partitionBy(*MEMBER)
        .orderBy(F.col("ts").desc(), F.col("ns").desc())
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    return (
        told.where("ev = 'hb'")
        .select("ns", *MEMBER, "ts")
        .join(F.broadcast(servers), "ns", "inner")
        .withColumn("before", F.col("ts") - F.last(of_reference, ignorenulls=True).over(upwards))
        .withColumn("after", F.col("ts") - F.last(of_reference, ignorenulls=True).over(downwards))
        .where("ns <> reference")
        .select("ns", _nearer("before", "after").alias("difference"))
        .where(F.abs("difference") <= HALF_BEAT_US)
    )


def _nearer(before: str, after: str) -> Column:
    return (
        F.when(F.col(after).isNull(), F.col(before))
        .when(F.col(before).isNull(), F.col(after))
        .when(F.abs(before) <= F.abs(after), F.col(before))
        .otherwise(F.col(after))
    )


def _judged(differences: DataFrame) -> DataFrame:
    """ns, method, offset, samples, spread; nothing where there are too few samples or they disagree."""
    by = ["ns", "method"]
    middle = differences.groupBy(*by).agg(F.round(F.median("difference")).cast("long").alias("offset"))
    away = F.abs(F.col("difference") - F.col("offset"))
    needed = F.when(F.col("method") == VERSIONS, SAMPLES_MIN).otherwise(1)
    return (
        differences.join(F.broadcast(middle), by, "inner")
        .groupBy(*by, "offset")
        .agg(
            F.count("*").alias("samples"),
            F.round(F.median(away)).cast("long").alias("spread"),
            F.count_if(away <= AGREE_US).alias("agreeing"),
        )
        .where((F.col("samples") >= needed) & (F.col("agreeing") * 2 >= F.col("samples")))
    )
