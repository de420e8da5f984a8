"""Missing records: holes in the sequence numbers of a boot, and the snapshots that restore the state after them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import columns, conform, each
from rocketns.pipeline.contract.schema import HOLES, SNAPSHOTS

# Sequence numbers are checked in stretches of this length. A stretch whose count, smallest, largest and sum fit has no
# hole, so only the other stretches are sorted.
STRETCH = 4096
# A stretch of one boot's records without a missing number, as far as one day's folder holds them: first and last
# number, their times, and the smallest and largest time; start and stop records in it (of an observer's stop its last
# look); observed: it is an observer's; no_topics: one that could not know topics.
RUNS = columns(
    "ns:string boot:long dt:string low:long high:long low_ts:long high_ts:long min_ts:long max_ts:long start_ts:long "
    "stop_ts:long restored:boolean observed:boolean no_topics:boolean"
)
# What one day's folder holds of a snapshot.
SNAPSHOT_PARTS = columns("ns:string boot:long dt:string snap:long first_part:int end_seq:long end_ts:long")
BOOT = ("ns", "boot")
PIECE = (*BOOT, "dt", "stretch")


def stretches(events: DataFrame) -> DataFrame:
    """The only pass over all events: one row per STRETCH of a boot's sequence numbers in the folder of a day, with
    count, sum and times."""
    return events.groupBy(*BOOT, "dt", _stretch()).agg(*_summed())


def runs(events: DataFrame, stretches: DataFrame) -> DataFrame:
    """RUNS: the stretches without a hole, and what lies between the holes of the others."""
    whole = "count = high - low + 1 and sum * 2 = (low + high) * count"
    odd = stretches.where(f"not ({whole})").select(*PIECE)
    in_order = Window.partitionBy(*PIECE).orderBy("seq")
    begins = F.coalesce(F.col("seq") > F.lag("seq").over(in_order) + 1, F.lit(True)).cast("int")
    pieces = (
        events.select(*BOOT, "dt", _stretch(), "seq", "ts", "ev", "restored", "since", "observed", "no_topics")
        .join(F.broadcast(odd), [*PIECE], "left_semi")
        .withColumn("begins", begins)
        .withColumn("piece", F.sum("begins").over(in_order))
        .groupBy(*PIECE, "piece")
        .agg(*_summed())
    )
    return conform(stretches.where(whole).select(*RUNS.names).unionByName(pieces.select(*RUNS.names)), RUNS)


def _stretch() -> Column:
    return F.expr(f"seq div {STRETCH}").alias("stretch")


def _summed() -> Sequence[Column]:
    started, watched = F.col("ev") == "start", F.coalesce("observed", F.lit(False))
    return (
        F.count("*").alias("count"), F.sum("seq").alias("sum"), F.min("seq").alias("low"), F.max("seq").alias("high"),
        F.min_by("ts", "seq").alias("low_ts"), F.max_by("ts", "seq").alias("high_ts"),
        F.min("ts").alias("min_ts"), F.max("ts").alias("max_ts"),
        F.min(F.when(started, F.col("ts"))).alias("start_ts"),
        F.max(F.when(F.col("ev") == "stop", F.coalesce("since", "ts"))).alias("stop_ts"),
        F.max(F.when(started, F.coalesce("restored", F.lit(False)) | watched)).alias("restored"),
        F.max(watched | F.col("since").isNotNull()).alias("observed"),
        F.max(F.coalesce("no_topics", F.lit(False))).alias("no_topics"),
    )  # fmt: skip


def boots(runs: DataFrame) -> DataFrame:
    """One row per start of a name server: ns, boot, first_ts, last_ts, start_ts, stop_ts, begun (its first record is
    there, and it began with empty tables), observed, no_topics, next_boot. An observer's
    boot begins with what it had read."""
    in_order = Window.partitionBy("ns").orderBy("boot")
    return (
        runs.groupBy(*BOOT)
        .agg(
            F.min("low").alias("first_seq"),
            F.min("min_ts").alias("first_ts"),
            F.max("max_ts").alias("last_ts"),
            *each(F.min, "start_ts"),
            *each(F.max, "stop_ts"),
            *[F.coalesce(F.max(name), F.lit(False)).alias(name) for name in ("restored", "observed", "no_topics")],
        )
        .withColumn("begun", ((F.col("first_seq") == 1) | F.col("start_ts").isNotNull()) & ~F.col("restored"))
        .drop("restored")
        .withColumn("next_boot", F.lead("boot").over(in_order))
    )


def holes(runs: DataFrame) -> DataFrame:
    """HOLES: the records between ``after`` and ``until`` of one boot are missing. Nothing is reported before a boot's
    first record."""
    earlier = Window.partitionBy(*BOOT).orderBy("low", "high").rowsBetween(Window.unboundedPreceding, -1)
    found = runs.withColumn("reached", F.max(F.struct("high", "high_ts")).over(earlier)).where("low > reached.high + 1")
    return conform(
        found.select(
            *BOOT, F.col("reached.high").alias("after"), F.col("low").alias("until"),
            F.col("reached.high_ts").alias("t1"), F.col("low_ts").alias("t2"),
        ),
        HOLES,
    )  # fmt: skip


def snapshot_parts(events: DataFrame) -> DataFrame:
    """SNAPSHOT_PARTS."""
    of_end = F.coalesce("end", F.lit(False))
    parts = (
        events.where("ev = 'snap'")
        .groupBy(*BOOT, "dt", "snap")
        .agg(
            F.min("part").alias("first_part"),
            F.max(F.when(of_end, F.col("seq"))).alias("end_seq"),
            F.max(F.when(of_end, F.col("ts"))).alias("end_ts"),
        )
    )
    return conform(parts, SNAPSHOT_PARTS)


def whole_snapshots(snapshot_parts: DataFrame, holes: DataFrame) -> DataFrame:
    """SNAPSHOTS with their first part and their end, and without a hole between."""
    parts = (
        snapshot_parts.groupBy(*BOOT, "snap")
        .agg(*each(F.min, "first_part"), *each(F.max, "end_seq", "end_ts"))
        .where("first_part = 0 and end_seq is not null")
    )
    torn = (
        parts.join(F.broadcast(holes.select("ns", "boot", "after", "until")), ["ns", "boot"], "inner")
        .where("after < end_seq and until > snap")
        .select("ns", "boot", "snap")
    )
    return conform(parts.join(F.broadcast(torn), ["ns", "boot", "snap"], "left_anti"), SNAPSHOTS)


def needed_snapshots(boots: DataFrame, snapshots: DataFrame, holes: DataFrame) -> DataFrame:
    """The SNAPSHOTS at which state begins: the first of a boot whose start is missing, and the first after each hole.
    ``boots`` has ns, boot and begun (its start is there)."""
    lost = holes.select("ns", "boot", F.col("until").alias("from_seq"))
    unbegun = boots.where("not begun").select("ns", "boot", F.lit(0).cast("long").alias("from_seq"))
    first = (
        snapshots.join(F.broadcast(lost.unionByName(unbegun)), ["ns", "boot"], "inner")
        .where("snap >= from_seq")
        .groupBy("ns", "boot", "from_seq")
        .agg(F.min("snap").alias("snap"))
    )
    return snapshots.join(F.broadcast(first), ["ns", "boot", "snap"], "left_semi")
