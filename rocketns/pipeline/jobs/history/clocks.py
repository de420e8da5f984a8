"""How far the clocks of the name servers differ, estimated from events that all of them saw at the same time.

A broker sends each registration to all its name servers at once. Two kinds of samples are compared:

- versions: the first heartbeat in which a name server took a data version, if it had heard of the broker within the
  last minute and had taken another version before. No other heartbeat matches it, so any offset can be measured.
- heartbeats, used if fewer than SAMPLES_MIN versions changed: each is compared with the nearest heartbeat of the same
  member at the reference. That measures offsets of up to half a heartbeat period (15 s with RocketMQ's 30 s).

The offset is the median. It is accepted if at least half of the samples lie within AGREE_US of it. Without an accepted
offset the times of a name server stay as they are (method none). One offset holds for the whole observation. A clock
that drifts by more than the shortest window shows up as jitter and as ``spread``.

``uncertainty`` is by how much the offset may be wrong. Samples of versions that agree bound it by how far apart they
are. Heartbeats repeat: an offset of one period more fits them as well, so they leave a period of uncertainty, unless
the clocks are known to be closer. Nothing bounds an offset without samples.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.causes import MEMBER
from rocketns.pipeline.contract.frames import Keep, as_it_is, conform
from rocketns.pipeline.contract.schema import OFFSETS

REFERENCE, VERSIONS, HEARTBEATS, NONE = "reference", "versions", "heartbeats", "none"
SAMPLES_MIN = 3  # of versions
AGREE_US = 1_000_000
FRESH_MS = 60_000  # after a longer silence the version may be older than the heartbeat
FAR_US = 3_600_000_000
HALF_BEAT_US = 15_000_000
MEMBERS_MAX = 30  # used as samples

VERSION = ("dvt", "dvc", "dvs")


def clock_offsets(raw_events: DataFrame, keep: Keep = as_it_is, hold: Keep | None = None) -> DataFrame:
    """OFFSETS, one row per name server. The reference is the name server with the most heartbeats of the sampled
    members.

    ``keep`` is called on the frames that the rest is built on; they hold records of the sampled members only. ``hold``
    is called on those of few rows, by default ``keep``.
    """
    hold = hold or keep
    members = hold(_members(raw_events))
    heard = raw_events.where(F.col("ev").isin("reg", "hb")).select("ns", "ev", *MEMBER, *VERSION, "ts", "gap")
    told = keep(heard.join(F.broadcast(members), [*MEMBER], "left_semi"))
    firsts = hold(_first_heartbeats(told))
    servers = hold(_servers(raw_events, firsts))
    no_gap = F.lit(None).cast("long").alias("gap")
    versions = _version_differences(firsts, servers).select("*", no_gap, F.lit(VERSIONS).alias("method"))
    beats = _beat_differences(told, servers).select("*", F.lit(HEARTBEATS).alias("method"))
    judged = _judged(keep(versions.unionByName(beats)))
    # By name, heartbeats come before versions.
    best = Window.partitionBy("ns").orderBy(F.col("method").desc())
    chosen = judged.withColumn("rank", F.row_number().over(best)).where("rank = 1")
    told_all = servers.join(F.broadcast(chosen), ["ns"], "left").fillna(0, ["offset", "samples", "spread"])
    is_reference = F.col("ns") == F.col("reference")
    rests_on = F.when(is_reference, REFERENCE).otherwise(F.coalesce("method", F.lit(NONE)))
    uncertainty = F.when(is_reference, 0).otherwise(F.col("uncertainty"))
    return conform(told_all.withColumns({"method": rests_on, "uncertainty": uncertainty}), OFFSETS)


def corrected(events: DataFrame, clock_offsets: DataFrame) -> DataFrame:
    """The events with ``ts`` converted to the reference's clock."""
    shifted = F.col("ts") - F.coalesce("offset", F.lit(0))
    joined = events.join(F.broadcast(clock_offsets.select("ns", "offset")), "ns", "left")
    return joined.select(*[shifted.alias("ts") if name == "ts" else F.col(name) for name in events.columns])


def _members(events: DataFrame) -> DataFrame:
    """The members that most name servers mention in registrations, downs and snapshots. Such records are few, so this
    is cheap."""
    return (
        events.where(F.col("ev").isin("reg", "down", "snap") & F.col("addr").isNotNull())
        .groupBy(*MEMBER)
        .agg(F.count_distinct("ns").alias("servers"))
        .orderBy(F.col("servers").desc(), *MEMBER)
        .limit(MEMBERS_MAX)
        .select(*MEMBER)
    )


def _first_heartbeats(told: DataFrame) -> DataFrame:
    """Per name server, member and version: first_ts, the gap before it, and the count of records."""
    return told.groupBy("ns", *MEMBER, *VERSION).agg(
        F.min("ts").alias("first_ts"), F.min_by("gap", "ts").alias("gap"), F.count("*").alias("count")
    )


def _servers(events: DataFrame, firsts: DataFrame) -> DataFrame:
    """ns, reference."""
    counts = firsts.groupBy("ns").agg(F.sum("count").alias("count"))
    chosen = counts.agg(F.min(F.struct((-F.col("count")).alias("least"), "ns")).alias("first"))
    names = events.select("ns").distinct()
    return names.join(F.broadcast(chosen), how="cross").select("ns", F.col("first.ns").alias("reference"))


def _version_differences(firsts: DataFrame, servers: DataFrame) -> DataFrame:
    """ns, difference."""
    fresh = (
        firsts.where("dvc is not null")
        .withColumn("earliest", F.min("first_ts").over(Window.partitionBy("ns", *MEMBER)))
        .where((F.col("first_ts") > F.col("earliest")) & (F.col("gap") <= FRESH_MS))
        .join(F.broadcast(servers), "ns", "inner")
    )
    reference = fresh.where("ns = reference").select(*MEMBER, *VERSION, F.col("first_ts").alias("reference_ts"))
    same = [F.col(f"a.{name}").eqNullSafe(F.col(f"b.{name}")) for name in (*MEMBER, *VERSION)]
    return (
        fresh.where("ns <> reference")
        .alias("a")
        .join(reference.alias("b"), same, "inner")
        .select("ns", (F.col("first_ts") - F.col("reference_ts")).alias("difference"))
        .where(F.abs("difference") <= FAR_US)
    )


def _beat_differences(told: DataFrame, servers: DataFrame) -> DataFrame:
    """ns, difference, gap (ms since the heartbeat before)."""
    of_reference = F.when(F.col("ns") == F.col("reference"), F.col("ts"))
    # Two sorts: Spark recomputes a frame that looks forward for each row.
    upwards = Window.partitionBy(*MEMBER).orderBy("ts", "ns").rowsBetween(Window.unboundedPreceding, -1)
    downwards = (
        Window.partitionBy(*MEMBER)
        .orderBy(F.col("ts").desc(), F.col("ns").desc())
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    return (
        told.where("ev = 'hb'")
        .select("ns", *MEMBER, "ts", "gap")
        .join(F.broadcast(servers), "ns", "inner")
        .withColumn("before", F.col("ts") - F.last(of_reference, ignorenulls=True).over(upwards))
        .withColumn("after", F.col("ts") - F.last(of_reference, ignorenulls=True).over(downwards))
        .where("ns <> reference")
        .select("ns", _nearer("before", "after").alias("difference"), "gap")
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
    """ns, method, offset, samples, spread, uncertainty; no row where samples are too few or disagree."""
    by = ["ns", "method"]
    middle = differences.groupBy(*by).agg(F.round(F.median("difference")).cast("long").alias("offset"))
    away = F.abs(F.col("difference") - F.col("offset"))
    needed = F.when(F.col("method") == VERSIONS, SAMPLES_MIN).otherwise(1)
    period = F.round(F.median("gap") * 1000).cast("long")
    agreed = F.max(F.when((F.col("method") == VERSIONS) & (away <= AGREE_US), away))
    return (
        differences.join(F.broadcast(middle), by, "inner")
        .groupBy(*by, "offset")
        .agg(
            F.count("*").alias("samples"),
            F.round(F.median(away)).cast("long").alias("spread"),
            F.count_if(away <= AGREE_US).alias("agreeing"),
            F.coalesce(period, agreed).alias("uncertainty"),
        )
        .where((F.col("samples") >= needed) & (F.col("agreeing") * 2 >= F.col("samples")))
    )
