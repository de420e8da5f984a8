"""What is missing from the input. A run with a row here is incomplete, and is never reported as clean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Observation, Row, plain_rows
from rocketns.pipeline.contract.schema import QUALITY, ReadFile
from rocketns.pipeline.contract.terms import SILENT_AFTER_US
from rocketns.pipeline.jobs.state import Base, Boot


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
