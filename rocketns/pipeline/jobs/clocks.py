"""How far the clocks of the name servers differ, estimated from events that all of them saw at the same time.

A broker sends each registration to all its name servers at once. Two kinds of samples are compared:

- versions: the first heartbeat in which a name server took a data version, if it had heard of the broker within the
  last minute and had taken another version before. No other heartbeat matches it, so any offset can be measured.
- heartbeats, where the versions of a name server on a day are too few or do not agree: each is compared with the
  nearest heartbeat of the same member at the reference. That measures offsets of up to half a heartbeat period (15 s
  with RocketMQ's 30 s).

The offset is the median. It is accepted if at least half of the samples lie within AGREE_US of it. Without an accepted
offset the times of a name server stay as they are (method none). Each day of the journal has its own estimate, from
its own records; ``pipeline.clocks.days`` makes the offsets of a run of days from them. A clock that drifts within
a day by more than the shortest window shows up as jitter and as ``spread``.

Name servers that were observed from outside have no heartbeats and no versions, and all of them the observer's clock. A
third kind of samples, of all of them together, is for that clock: changes that the observer saw, and that brokers sent
to the reference too (``pipeline.clocks.looks``). The reference is never an observed one.

``uncertainty`` is by how much the offset may be wrong. Samples of versions that agree bound it by how far apart they
are. Heartbeats repeat: an offset of any number of periods more fits them as well, so it is the period. Looks bound it
by the time between two of them. Nothing bounds an offset without samples, but a word of the operator (method given,
``pipeline.clocks.bounds``). ``unsure`` says what jobs reckon with.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.record import DATA_VERSION, MEMBER
from rocketns.pipeline.clocks.bounds import bounded_days
from rocketns.pipeline.clocks.days import Clocks, chained
from rocketns.pipeline.clocks.estimates import (
    FRESH_MS,
    HALF_BEAT_US,
    HEARTBEATS,
    MEMBERS_MAX,
    OBSERVED,
    SAMPLES_MIN,
    SHOWS_OBSERVED,
    VERSIONS,
)
from rocketns.pipeline.clocks.looks import AGREE_US, FAR_US
from rocketns.pipeline.contract.frames import Keep, as_it_is, columns, conform, frame_of
from rocketns.pipeline.contract.schema import CLOCK_DAYS, LONGS
from rocketns.pipeline.jobs.looks import looks, met

DAY = "dt"
# A row for each day, name server and method; one with a null method for a name server without samples on the day. Where
# versions tell the offset there is none for heartbeats.
# reference: the name server with the most heartbeats of the sampled members on that day; agreeing: samples near the
# offset; latest: the last SAMPLES_MIN differences of versions, us, the last one first.
ESTIMATES = columns(
    "dt:string ns:string reference:string method:string offset:long samples:long spread:long agreeing:long "
    "uncertainty:long latest:longs", longs=LONGS,
)  # fmt: skip


def estimates(raw_events: DataFrame, keep: Keep = as_it_is, hold: Keep | None = None) -> DataFrame:
    """ESTIMATES of EVENTS.

    ``keep`` is called on the frames that the rest is built on; they hold records of the sampled members only. ``hold``
    is called on those of few rows, by default ``keep``.
    """
    hold = hold or keep
    members = hold(_members(raw_events))
    told = raw_events.where(F.col("ev").isin("reg", "hb")).join(F.broadcast(members), [DAY, *MEMBER], "left_semi")
    sampled = keep(told.where("since is null").select(DAY, "ns", "ev", *MEMBER, *DATA_VERSION, "ts", "gap"))
    firsts = hold(_first_heartbeats(sampled))
    servers = hold(_servers(raw_events, firsts))
    no_gap = F.lit(None).cast("long").alias("gap")
    versions = _version_differences(firsts, servers).select("*", no_gap, F.lit(VERSIONS).alias("method"))
    judged = hold(_judged(hold(versions)))
    observed = hold(_observed(raw_events))
    if observed.collect():
        others = judged.join(F.broadcast(observed), [DAY, "ns"], "left_anti")
        judged = hold(others.unionByName(_of_observer(met(hold(looks(raw_events, members, servers))), observed)))
    unsure = hold(_unsure(servers, judged))
    if unsure.collect():
        beats = _beat_differences(sampled, unsure).select("*", F.lit(HEARTBEATS).alias("method"))
        judged = judged.unionByName(_judged(keep(beats)))
    return conform(servers.join(F.broadcast(judged), [DAY, "ns"], "left"), ESTIMATES)


def _unsure(servers: DataFrame, by_versions: DataFrame) -> DataFrame:
    """The ``servers`` whose clocks do not follow from data versions, and the reference of each such day. Heartbeats are
    compared for these only."""
    # As days.py accepts a row of versions.
    agree = (F.col("samples") >= SAMPLES_MIN) & (F.col("agreeing") * 2 >= F.col("samples"))
    known = by_versions.where(agree | (F.col("method") == OBSERVED))
    others = servers.where("ns <> reference")
    left = others.join(F.broadcast(known), [DAY, "ns"], "left_anti")
    references = servers.where("ns = reference").join(F.broadcast(left.select(DAY).distinct()), DAY, "left_semi")
    return left.unionByName(references)


def clock_days(estimates: DataFrame, clocks_within_us: int | None = None) -> DataFrame:
    """CLOCK_DAYS of ESTIMATES. ``clocks_within_us``: by how much they differ at most, as the operator says."""
    rows = [row.asDict() for row in estimates.collect()]
    days = bounded_days(chained(rows, Clocks()).days, clocks_within_us)
    return frame_of(estimates.sparkSession, days, CLOCK_DAYS)


def corrected(events: DataFrame, clock_days: DataFrame) -> DataFrame:
    """The events with ``ts`` and ``since`` converted to the reference's clock, by CLOCK_DAYS."""
    of_days = F.broadcast(clock_days.select(F.col("day").alias(DAY), "ns", "offset"))
    joined = events.join(of_days, [DAY, "ns"], "left")

    def shifted(name: str) -> Column:
        return (F.col(name) - F.coalesce("offset", F.lit(0))).alias(name)

    return joined.select(*[shifted(name) if name in ("ts", "since") else F.col(name) for name in events.columns])


def _members(events: DataFrame) -> DataFrame:
    """The members that most name servers mention on a day in registrations, downs and snapshots. Such records are few,
    so this is cheap."""
    in_order = Window.partitionBy(DAY).orderBy(F.col("servers").desc(), *MEMBER)
    return (
        events.where(F.col("ev").isin("reg", "down", "snap") & F.col("addr").isNotNull())
        .groupBy(DAY, *MEMBER)
        .agg(F.count_distinct("ns").alias("servers"))
        .withColumn("place", F.row_number().over(in_order))
        .where(F.col("place") <= MEMBERS_MAX)
        .select(DAY, *MEMBER)
    )


def _first_heartbeats(sampled: DataFrame) -> DataFrame:
    """Per day, name server, member and version: first_ts, the gap before it, and the count of records."""
    return sampled.groupBy(DAY, "ns", *MEMBER, *DATA_VERSION).agg(
        F.min("ts").alias("first_ts"), F.min_by("gap", "ts").alias("gap"), F.count("*").alias("count")
    )


def _servers(events: DataFrame, firsts: DataFrame) -> DataFrame:
    """DAY, ns, reference."""
    counts = firsts.groupBy(DAY, "ns").agg(F.sum("count").alias("count"))
    chosen = counts.groupBy(DAY).agg(F.min(F.struct((-F.col("count")).alias("least"), "ns")).alias("first"))
    names = events.select(DAY, "ns").distinct()
    return names.join(F.broadcast(chosen), DAY, "left").select(DAY, "ns", F.col("first.ns").alias("reference"))


def _version_differences(firsts: DataFrame, servers: DataFrame) -> DataFrame:
    """DAY, ns, at, difference."""
    fresh = (
        firsts.where("dvc is not null")
        .withColumn("earliest", F.min("first_ts").over(Window.partitionBy(DAY, "ns", *MEMBER)))
        .where((F.col("first_ts") > F.col("earliest")) & (F.col("gap") <= FRESH_MS))
        .join(F.broadcast(servers), [DAY, "ns"], "inner")
    )
    reference = fresh.where("ns = reference").select(
        DAY, *MEMBER, *DATA_VERSION, F.col("first_ts").alias("reference_ts")
    )
    same = [F.col(f"a.{name}").eqNullSafe(F.col(f"b.{name}")) for name in (DAY, *MEMBER, *DATA_VERSION)]
    difference = F.col("first_ts") - F.col("reference_ts")
    return (
        fresh.where("ns <> reference")
        .alias("a")
        .join(reference.alias("b"), same, "inner")
        .select(f"a.{DAY}", "ns", F.col("first_ts").alias("at"), difference.alias("difference"))
        .where(F.abs("difference") <= FAR_US)
    )


def _beat_differences(sampled: DataFrame, servers: DataFrame) -> DataFrame:
    """DAY, ns, at, difference, gap (ms since the heartbeat before)."""
    of_reference = F.when(F.col("ns") == F.col("reference"), F.col("ts"))
    # Two sorts: Spark recomputes a frame that looks forward for each row.
    upwards = Window.partitionBy(DAY, *MEMBER).orderBy("ts", "ns").rowsBetween(Window.unboundedPreceding, -1)
    downwards = (
        Window.partitionBy(DAY, *MEMBER)
        .orderBy(F.col("ts").desc(), F.col("ns").desc())
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    return (
        sampled.where("ev = 'hb'")
        .select(DAY, "ns", *MEMBER, "ts", "gap")
        .join(F.broadcast(servers), [DAY, "ns"], "inner")
        .withColumn("before", F.col("ts") - F.last(of_reference, ignorenulls=True).over(upwards))
        .withColumn("after", F.col("ts") - F.last(of_reference, ignorenulls=True).over(downwards))
        .where("ns <> reference")
        .select(DAY, "ns", F.col("ts").alias("at"), _nearer("before", "after").alias("difference"), "gap")
        .where(F.abs("difference") <= HALF_BEAT_US)
    )


def _observed(events: DataFrame) -> DataFrame:
    """DAY, ns: whose records of the day say that it was observed."""
    watched = F.col("observed") | F.col("since").isNotNull()
    return events.where(F.col("ev").isin(*SHOWS_OBSERVED) & watched).select(DAY, "ns").distinct()


def _of_observer(found: DataFrame, observed: DataFrame) -> DataFrame:
    """The row of each observed name server, of what was found of all of them; null where nothing was."""
    return observed.join(F.broadcast(found), DAY, "left").withColumn("method", F.lit(OBSERVED))


def _nearer(before: str, after: str) -> Column:
    return (
        F.when(F.col(after).isNull(), F.col(before))
        .when(F.col(before).isNull(), F.col(after))
        .when(F.abs(before) <= F.abs(after), F.col(before))
        .otherwise(F.col(after))
    )


def _judged(differences: DataFrame) -> DataFrame:
    """DAY, ns, method, offset, samples, spread, agreeing, uncertainty, latest."""
    by = [DAY, "ns", "method"]
    is_version = F.col("method") == VERSIONS
    middle = differences.groupBy(*by).agg(F.round(F.median("difference")).cast("long").alias("offset"))
    away = F.abs(F.col("difference") - F.col("offset"))
    period = F.round(F.median("gap") * 1000).cast("long")
    agreed = F.max(F.when(is_version & (away <= AGREE_US), away))
    versions = F.sort_array(F.collect_list(F.when(is_version, F.struct("at", "difference"))), asc=False)
    return (
        differences.join(F.broadcast(middle), by, "inner")
        .groupBy(*by, "offset")
        .agg(
            F.count("*").alias("samples"),
            F.round(F.median(away)).cast("long").alias("spread"),
            F.count_if(away <= AGREE_US).alias("agreeing"),
            F.coalesce(period, agreed).alias("uncertainty"),
            F.slice(versions, 1, SAMPLES_MIN)["difference"].alias("latest"),
        )
    )
