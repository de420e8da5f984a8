"""Missing records: holes in the sequence numbers of a boot, and the snapshots that restore the state after them."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import conform
from rocketns.pipeline.contract.schema import HOLES, SNAPSHOTS

# Sequence numbers are checked in stretches of this length. A stretch whose count, smallest, largest and sum fit has no
# hole, so only the other stretches are sorted.
STRETCH = 4096


def stretches(events: DataFrame) -> DataFrame:
    """The only pass over all events: one row per STRETCH of a boot's sequence numbers, with count, sum and times."""
    return events.groupBy("ns", "boot", F.expr(f"seq div {STRETCH}").alias("stretch")).agg(
        F.count("*").alias("count"),
        F.sum("seq").alias("sum"),
        F.min("seq").alias("min_seq"),
        F.max("seq").alias("max_seq"),
        F.min("ts").alias("min_ts"),
        F.max("ts").alias("max_ts"),
        F.min(F.when(F.col("ev") == "start", F.col("ts"))).alias("start_ts"),
        F.max(F.when(F.col("ev") == "start", F.coalesce("restored", F.lit(False)))).alias("restored"),
        F.max(F.when(F.col("ev") == "stop", F.col("ts"))).alias("stop_ts"),
    )


def boots(stretches: DataFrame) -> DataFrame:
    """One row per start of a name server: ns, boot, first_ts, last_ts, start_ts, stop_ts, begun (its first record is
    there, and it began with empty tables), next_boot."""
    in_order = Window.partitionBy("ns").orderBy("boot")
    return (
        stretches.groupBy("ns", "boot")
        .agg(
            F.min("min_seq").alias("first_seq"),
            F.min("min_ts").alias("first_ts"),
            F.max("max_ts").alias("last_ts"),
            F.min("start_ts").alias("start_ts"),
            F.max("stop_ts").alias("stop_ts"),
            F.coalesce(F.max("restored"), F.lit(False)).alias("restored"),
        )
        .withColumn("begun", ((F.col("first_seq") == 1) | F.col("start_ts").isNotNull()) & ~F.col("restored"))
        .drop("restored")
        .withColumn("next_boot", F.lead("boot").over(in_order))
    )


def holes(events: DataFrame, stretches: DataFrame) -> DataFrame:
    """HOLES: the records between ``after`` and ``until`` of one boot are missing. Nothing is reported before a boot's
    first record."""
    in_order = Window.partitionBy("ns", "boot").orderBy("stretch")
    between = (
        stretches.withColumn("after", F.lag("max_seq").over(in_order))
        .withColumn("t1", F.lag("max_ts").over(in_order))
        .where("min_seq > after + 1")
        .select("ns", "boot", "after", F.col("min_seq").alias("until"), "t1", F.col("min_ts").alias("t2"))
    )
    return conform(between.unionByName(_inside(events, stretches)), HOLES)


def _inside(events: DataFrame, stretches: DataFrame) -> DataFrame:
    as_should_be = "count = max_seq - min_seq + 1 and sum * 2 = (min_seq + max_seq) * count"
    odd = stretches.where(f"not ({as_should_be})").select("ns", "boot", "stretch")
    in_order = Window.partitionBy("ns", "boot", "stretch").orderBy("seq")
    return (
        events.select("ns", "boot", "seq", "ts", F.expr(f"seq div {STRETCH}").alias("stretch"))
        .join(F.broadcast(odd), ["ns", "boot", "stretch"], "left_semi")
        .withColumn("after", F.lag("seq").over(in_order))
        .withColumn("t1", F.lag("ts").over(in_order))
        .where("seq > after + 1")
        .select("ns", "boot", "after", F.col("seq").alias("until"), "t1", F.col("ts").alias("t2"))
    )


def whole_snapshots(events: DataFrame, holes: DataFrame) -> DataFrame:
    """SNAPSHOTS with their first part and their end, and without a hole between."""
    parts = (
        events.where("ev = 'snap'")
        .groupBy("ns", "boot", "snap")
        .agg(
            F.min("part").alias("first_part"),
            F.max(F.when(F.col("end"), F.col("seq"))).alias("end_seq"),
            F.max(F.when(F.col("end"), F.col("ts"))).alias("end_ts"),
        )
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
