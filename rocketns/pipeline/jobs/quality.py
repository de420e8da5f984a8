"""What is missing from the input. A run with a row here is incomplete, and is never reported as clean."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.defaults import SILENT_AFTER_US
from rocketns.pipeline.contract.frames import Observation, conform, each
from rocketns.pipeline.contract.schema import QUALITY, SOURCES
from rocketns.pipeline.jobs.state import Base

LAST = ("last", "observed", "members_early", "topics_early")


def quality(events: DataFrame, files: DataFrame, base: Base, observation: Observation) -> DataFrame:
    """QUALITY of the observation, from EVENTS, FILES and ``state.Base``.

    A line that does not parse, or a dropped record, also leaves a hole: it is counted under both kinds.
    """
    observed = events.where(F.col("ts").between(observation.t0, observation.t1 - 1))
    parts = [
        _corrupt(files, observation),
        _dropped(observed),
        _holes(base.holes, observation),
        _silent(base.boots, observation),
        _unknown(base, observation),
    ]
    return reduce(DataFrame.unionByName, parts)


def sources(counts: DataFrame, files: DataFrame, clock_days: DataFrame) -> DataFrame:
    """SOURCES: what was read of each name server. ``counts``: COUNTS of the observation."""
    of_events = counts.groupBy("ns").agg(*each(F.sum, "events", "lost"), *each(F.min, "first"), *each(F.max, *LAST))
    of_files = files.groupBy("ns").agg(F.count("*").alias("files"), F.sum("corrupt").alias("corrupt"))
    latest = clock_days.groupBy("ns").agg(F.max_by(F.struct("offset", "method", "uncertainty"), "day").alias("of"))
    clocks = latest.select(
        "ns", "of.offset", F.col("of.method").alias("clock"), F.col("of.uncertainty").alias("uncertainty_us")
    )
    joined = of_files.join(of_events, "ns", "full").join(clocks, "ns", "left")
    return conform(
        joined.select(
            "ns", F.coalesce("files", F.lit(0)).alias("files"), F.coalesce("events", F.lit(0)).alias("events"),
            "first", "last", F.coalesce("offset", F.lit(0)).alias("offset_us"),
            F.coalesce("corrupt", F.lit(0)).alias("corrupt"), F.coalesce("lost", F.lit(0)).alias("lost"),
            "clock", "uncertainty_us", F.coalesce("observed", F.lit(False)).alias("observed"), *LAST[2:],
        ),
        SOURCES,
    )  # fmt: skip


def _corrupt(files: DataFrame, observation: Observation) -> DataFrame:
    """The position of the line in its file is not stored, so every file that touches the observation counts."""
    touches = (F.col("first").isNull()) | ((F.col("first") < observation.t1) & (F.col("last") >= observation.t0))
    boot = F.regexp_extract("segment", r"^(\d+)-", 1)
    return conform(
        files.where(F.col("corrupt") > 0)
        .where(touches)
        .select(
            F.lit("corrupt").alias("kind"), "ns", F.when(boot != "", boot).cast("long").alias("boot"),
            F.col("first").alias("t1"), F.col("last").alias("t2"), F.col("corrupt").alias("n"),
            F.concat(F.lit("lines that do not parse, in "), "dt", F.lit("/"), "segment").alias("detail"),
        ),
        QUALITY,
    )  # fmt: skip


def _dropped(events: DataFrame) -> DataFrame:
    return conform(
        events.where("ev = 'drop'")
        .groupBy("ns", "boot")
        .agg(F.min("ts").alias("t1"), F.max("ts").alias("t2"), F.sum("lost").alias("n"))
        .withColumn("kind", F.lit("drop"))
        .withColumn("detail", F.lit("records that the name server dropped because its buffer was full")),
        QUALITY,
    )


def _holes(holes: DataFrame, observation: Observation) -> DataFrame:
    return conform(
        holes.where((F.col("t1") < observation.t1) & (F.col("t2") >= observation.t0))
        .withColumn("n", F.col("until") - F.col("after") - 1)
        .withColumn("kind", F.lit("hole"))
        .withColumn("detail", F.concat(F.lit("no record between seq "), "after", F.lit(" and "), "until")),
        QUALITY,
    )


def _silent(boots: DataFrame, observation: Observation) -> DataFrame:
    """A last boot without a stop record that wrote nothing for a long time before the end. It may have been killed; of
    an observed name server it was the observer."""
    quiet = F.lit(observation.t1) - F.col("last_ts")
    return conform(
        boots.where(F.col("next_boot").isNull() & F.col("stop_ts").isNull())
        .where(quiet > SILENT_AFTER_US)
        .select(
            F.when(F.col("observed"), "unwatched").otherwise("silent").alias("kind"), "ns", "boot",
            F.greatest("last_ts", F.lit(observation.t0)).alias("t1"),
            F.lit(observation.t1).alias("t2"), quiet.alias("n"),
            F.lit("no record until the end, and no stop record").alias("detail"),
        ),
        QUALITY,
    )  # fmt: skip


def _unknown(base: Base, observation: Observation) -> DataFrame:
    begun = F.col("observed") & F.col("start_ts").isNotNull()  # an observer's snapshot follows its start
    known = base.snapshots.groupBy("ns", "boot").agg(F.min("end_ts").alias("known_ts"))
    return conform(
        base.boots.where("not begun")
        .where(F.col("last_ts") >= observation.t0)
        .join(F.broadcast(known), ["ns", "boot"], "left")
        .where(F.col("known_ts").isNull() | ((F.col("known_ts") > observation.t0) & ~begun))
        .select(
            F.lit("unknown").alias("kind"), "ns", "boot", F.greatest("first_ts", F.lit(observation.t0)).alias("t1"),
            F.coalesce("known_ts", "last_ts").alias("t2"), F.lit(1).alias("n"),
            F.lit("not known: neither the start nor a whole snapshot is in the journal before").alias("detail"),
        )
        .where("t1 < t2"),
        QUALITY,
    )  # fmt: skip
