"""What is missing from the input. A run with a row here is incomplete, and is never reported as clean.

Lost records may have held a topic change, so that the computed state of a name server may be wrong. After a hole in the
sequence numbers its value of a topic on a broker is in doubt until its journal names that topic on that broker again:
in a record, or in the next whole snapshot. A snapshot that shows the value of before the hole proves that no change was
lost, so then there is no doubt. Most holes hold heartbeats only, and leave none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Observation, Row, conform, frame_of, plain_rows
from rocketns.pipeline.contract.schema import QUALITY, TOPIC_DOUBTS, ReadFile
from rocketns.pipeline.contract.terms import SILENT_AFTER_US
from rocketns.pipeline.jobs.state import (
    BOOT,
    FOUND_GONE,
    TOPIC,
    Base,
    Boot,
    counted,
    keyed_in_order,
    topic_changes,
    with_found_gone,
)


def quality(events: DataFrame, files: Iterable[ReadFile], base: Base, observation: Observation) -> list[Row]:
    """QUALITY of the observation, from EVENTS, the files and ``state.Base``.

    A line that does not parse, or a dropped record, also leaves a hole: it is counted under both kinds.
    """
    observed = events.where(F.col("ts").between(observation.t0, observation.t1 - 1))
    rows = [*_corrupt(files, observation), *_of_boots(base.boots, observation)]
    return [*_dropped(observed), *(dict(zip(QUALITY.names, row, strict=True)) for row in rows)]


def sources(counts: Mapping[str, Row], files: Iterable[ReadFile], clocks: Mapping[str, Row]) -> list[Row]:
    """SOURCES: what was read of each name server. ``counts``: of ``tallies.counts``; ``clocks``: of each the last row
    of CLOCK_DAYS."""
    corrupt: defaultdict[str, list[int]] = defaultdict(list)
    for one in files:
        corrupt[one.ns].append(one.corrupt)
    rows: list[Row] = []
    for ns in sorted({*counts, *corrupt}):
        clock = clocks.get(ns, {})
        rows.append({
            "ns": ns, "events": 0, "lost": 0, "observed": False, **counts.get(ns, {}), "files": len(corrupt[ns]),
            "corrupt": sum(corrupt[ns]), "clock": clock.get("method"), "offset_us": clock.get("offset", 0),
            "uncertainty_us": clock.get("uncertainty"),
        })  # fmt: skip
    return rows


def _corrupt(files: Iterable[ReadFile], observation: Observation) -> Iterator[tuple[Any, ...]]:
    """The position of the line in its file is not stored, so every file that touches the observation counts."""
    for one in files:
        touches = one.first is None or (one.first < observation.t1 and (one.last or 0) >= observation.t0)
        if one.corrupt and touches:
            file = f"{one.dt}/{one.segment}"
            yield "corrupt", one.ns, one.place[0], one.first, one.last, one.corrupt, file


def _dropped(events: DataFrame) -> list[Row]:
    dropped = events.where("ev = 'drop'").groupBy("ns", "boot")
    rows = dropped.agg(F.min("ts").alias("t1"), F.max("ts").alias("t2"), F.sum("lost").alias("n"))
    return [{**row, "kind": "drop", "detail": None} for row in plain_rows(rows)]


def _of_boots(boots: Iterable[Boot], observation: Observation) -> Iterator[tuple[Any, ...]]:
    """Holes; a last boot without a stop record that wrote nothing for a long time before the end (it may have been
    killed; of an observed name server it was the observer); and a state that is not known at first."""
    t0, t1 = observation
    for boot in boots:
        about = boot.ns, boot.boot
        for hole in boot.holes:
            if hole.t1 < t1 and hole.t2 >= t0:
                beside = f"seq {hole.after} to {hole.until}"
                yield ("hole", *about, hole.t1, hole.t2, hole.until - hole.after - 1, beside)
        quiet = t1 - boot.last
        if not boot.again and boot.stop_ts is None and quiet > SILENT_AFTER_US:
            kind = "unwatched" if boot.observed else "silent"
            yield (kind, *about, max(boot.last, t0), t1, quiet, None)
        if not boot.begun and _is_unknown(boot, t0):
            begin, end = max(boot.first, t0), boot.last if boot.known_from is None else boot.known_from
            if begin < end:
                yield ("unknown", *about, begin, end, 1, None)


def _is_unknown(boot: Boot, t0: int) -> bool:
    begun = boot.observed and boot.start_ts is not None  # an observer's snapshot follows its start
    return boot.last >= t0 and (boot.known_from is None or (boot.known_from > t0 and not begun))


def topic_doubts(events: DataFrame, base: Base, topic_intervals: DataFrame, observation: Observation) -> DataFrame:
    """TOPIC_DOUBTS of the topics and brokers that any name server had (TOPIC_INTERVALS)."""
    if not any(boot.holes for boot in base.boots):
        return frame_of(events.sparkSession, [], TOPIC_DOUBTS)
    lost = F.broadcast(
        base.holes.groupBy(*BOOT).agg(
            F.sort_array(F.collect_list(F.struct("after", "until", F.col("t1").alias("t")))).alias("holes")
        )
    )
    changes = topic_changes(counted(events, base, observation).join(lost, [*BOOT], "left_semi"))
    # Every key is absent at the start of a boot.
    keys = lost.select(*BOOT).crossJoin(topic_intervals.select(*TOPIC).distinct())
    begun = keys.withColumns({"seq": F.lit(0).cast("long"), "ts": F.lit(0).cast("long")})
    recorded = with_found_gone(changes.unionByName(begun, allowMissingColumns=True), TOPIC, base.snapshots)
    in_order = keyed_in_order()
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    following = F.struct("seq", "t", "value", F.col("cause").eqNullSafe(FOUND_GONE).alias("whole"))
    doubtful = (
        recorded.withColumn("t", F.max("ts").over(so_far))  # the clock may have been set back
        .withColumn("next", F.lead(following).over(in_order))
        .join(lost, [*BOOT], "inner")
        .withColumn("hole", F.get(F.filter("holes", _between), F.lit(0)))
        .where(F.col("hole").isNotNull() & ~_proven())
        .select(*BOOT, *TOPIC, F.col("hole.t").alias("begin"), F.col("next.t").alias("end"))
    )
    return conform(_within_uptime(doubtful, base.uptime), TOPIC_DOUBTS)


def _between(hole: Column) -> Column:
    """Whether the hole lies between a row and the next one of its key."""
    before_next = F.coalesce(hole["until"] <= F.col("next.seq"), F.lit(True))
    return (hole["after"] >= F.col("seq")) & before_next


def _proven() -> Column:
    """Whether the next record of the key is in a snapshot, with the value from before the hole."""
    same = F.col("value").eqNullSafe(F.col("next.value"))
    return F.coalesce(F.col("next.whole") & same, F.lit(False))


def _within_uptime(doubtful: DataFrame, uptime: DataFrame) -> DataFrame:
    up = uptime.select(*BOOT, F.col("t1").alias("up_t1"), F.col("t2").alias("up_t2"))
    return (
        doubtful.join(F.broadcast(up), [*BOOT], "inner")
        .withColumns({"t1": F.greatest("begin", "up_t1"), "t2": F.least("end", "up_t2")})
        .where("t1 < t2")
    )
