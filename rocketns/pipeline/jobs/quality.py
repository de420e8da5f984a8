"""What is missing from the input. A run with a row here is incomplete, and is never reported as clean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.boots import Boot
from rocketns.pipeline.contract.defaults import SILENT_AFTER_US
from rocketns.pipeline.contract.frames import Observation, conform, each, frame_of
from rocketns.pipeline.contract.schema import QUALITY, SOURCES
from rocketns.pipeline.jobs.state import Base

UNKNOWN = "not known: neither the start nor a whole snapshot is in the journal before"
LAST = ("last", "observed", "members_early", "topics_early")


def quality(events: DataFrame, files: DataFrame, base: Base, observation: Observation) -> DataFrame:
    """QUALITY of the observation, from EVENTS, FILES and ``state.Base``.

    A line that does not parse, or a dropped record, also leaves a hole: it is counted under both kinds.
    """
    observed = events.where(F.col("ts").between(observation.t0, observation.t1 - 1))
    parts = [
        _corrupt(files, observation),
        _dropped(observed),
        frame_of(events.sparkSession, list(_of_boots(base.boots, observation)), QUALITY),
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


def _of_boots(boots: Iterable[Boot], observation: Observation) -> Iterator[tuple[Any, ...]]:
    """Holes; a last boot without a stop record that wrote nothing for a long time before the end (it may have been
    killed; of an observed name server it was the observer); and a state that is not known at first."""
    t0, t1 = observation
    for boot in boots:
        about = boot.ns, boot.boot
        for hole in boot.holes:
            if hole.t1 < t1 and hole.t2 >= t0:
                detail = f"no record between seq {hole.after} and {hole.until}"
                yield ("hole", *about, hole.t1, hole.t2, hole.until - hole.after - 1, detail)
        quiet = t1 - boot.last
        if not boot.again and boot.said.stop_ts is None and quiet > SILENT_AFTER_US:
            kind = "unwatched" if boot.said.observed else "silent"
            yield (kind, *about, max(boot.last, t0), t1, quiet, "no record until the end, and no stop record")
        if not boot.begun and _is_unknown(boot, t0):
            begin, end = max(boot.first, t0), boot.last if boot.known_from is None else boot.known_from
            if begin < end:
                yield ("unknown", *about, begin, end, 1, UNKNOWN)


def _is_unknown(boot: Boot, t0: int) -> bool:
    begun = boot.said.observed and boot.said.start_ts is not None  # an observer's snapshot follows its start
    return boot.last >= t0 and (boot.known_from is None or (boot.known_from > t0 and not begun))
