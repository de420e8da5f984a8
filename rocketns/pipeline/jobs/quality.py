"""What is missing from the input. A run with a row here is incomplete, and is never reported as clean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.defaults import SILENT_AFTER_US
from rocketns.pipeline.contract.frames import Observation, conform, frame_of, plain_rows
from rocketns.pipeline.contract.schema import QUALITY, SOURCES, ReadFile
from rocketns.pipeline.jobs.boots import Boot
from rocketns.pipeline.jobs.state import Base

UNKNOWN = "not known: neither the start nor a whole snapshot is in the journal before"


def quality(events: DataFrame, files: Iterable[ReadFile], base: Base, observation: Observation) -> DataFrame:
    """QUALITY of the observation, from EVENTS, the files and ``state.Base``.

    A line that does not parse, or a dropped record, also leaves a hole: it is counted under both kinds.
    """
    observed = events.where(F.col("ts").between(observation.t0, observation.t1 - 1))
    rows = [*_corrupt(files, observation), *_of_boots(base.boots, observation)]
    return _dropped(observed).unionByName(frame_of(events.sparkSession, rows, QUALITY))


def sources(counts: DataFrame, files: Iterable[ReadFile], clocks: Mapping[str, Mapping[str, Any]]) -> DataFrame:
    """SOURCES: what was read of each name server. ``counts``: COUNTS of the observation; ``clocks``: of each the last
    row of CLOCK_DAYS."""
    told = {row["ns"]: row for row in plain_rows(counts)}
    corrupt: defaultdict[str, list[int]] = defaultdict(list)
    for one in files:
        corrupt[one.ns].append(one.corrupt)
    rows = []
    for ns in sorted({*told, *corrupt}):
        row, clock = told.get(ns, {}), clocks.get(ns, {})
        rows.append((
            ns, len(corrupt[ns]), row.get("events", 0), row.get("first"), row.get("last"), clock.get("offset", 0),
            sum(corrupt[ns]), row.get("lost", 0), clock.get("method"), clock.get("uncertainty"),
            bool(row.get("observed")), row.get("members_early"), row.get("topics_early"),
        ))  # fmt: skip
    return frame_of(counts.sparkSession, rows, SOURCES)


def _corrupt(files: Iterable[ReadFile], observation: Observation) -> Iterator[tuple[Any, ...]]:
    """The position of the line in its file is not stored, so every file that touches the observation counts."""
    for one in files:
        touches = one.first is None or (one.first < observation.t1 and (one.last or 0) >= observation.t0)
        if one.corrupt and touches:
            detail = f"lines that do not parse, in {one.dt}/{one.segment}"
            yield "corrupt", one.ns, one.place[0], one.first, one.last, one.corrupt, detail


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
