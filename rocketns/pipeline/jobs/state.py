"""What a boot of a name server knew: which of its records are missing, which of its snapshots are whole, and when its
state is known.

A killed name server wrote no stop record: its state is unknown from its last record on. If a journal begins in the
middle, the state is unknown until the end of the first whole snapshot. After lost records the next whole snapshot
corrects the state. How an observer's boot ended says nothing about the name server: it was watched up to the last look.

Spark counts the records, of which there may be any number; the rest is plain values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Observation, Row, columns, frame_of
from rocketns.pipeline.contract.terms import SILENT_AFTER_US, UNWATCHED
from rocketns.pipeline.jobs.tallies import counts, of_stretch


class Base(NamedTuple):
    """What all state is built on: each boot, and rows of NS_UPTIME. ``counts``: of ``tallies.counts``."""

    boots: Sequence[Boot]
    counts: Mapping[str, Row]
    uptime: Sequence[Row]


def base(events: DataFrame, observation: Observation) -> Base:
    """From all events before the end of the observation. Those before its beginning give the state at the beginning."""
    before = events.where(F.col("ts") < observation.t1)
    rows = stretches(before, of_stretch(observation))
    found = boots(before, rows)
    ups = (uptime(boot, observation) for boot in found)
    return Base(found, counts(rows), [row for row in ups if row is not None])


# Sequence numbers are checked in stretches of this length. A stretch whose count, smallest, largest and sum fit has no
# hole, so only the other stretches are sorted.
STRETCH = 4096
BOOT = ("ns", "boot")
PIECE = (*BOOT, "dt", "stretch")
PIECES = columns("ns:string boot:long dt:string stretch:long")


class Hole(NamedTuple):
    """The records between ``after`` and ``until`` are missing; ``t1`` and ``t2`` are the times of those two, us."""

    after: int
    until: int
    t1: int
    t2: int


class Snapshot(NamedTuple):
    """A whole snapshot by its first and last number, and when it ended, us."""

    snap: int
    end_seq: int
    end_ts: int


class Boot(NamedTuple):
    """``first`` and ``last``: the smallest and largest time of a record, us; ``start_ts`` and ``stop_ts``: of its start
    and stop record, of an observer the last look. ``no_topics``: it could not know topics. ``begun``: its first record
    is there, and it began with empty tables. ``snapshots``: those at which state begins: the first one if its start is
    missing, and the first one after each hole. ``newest``: the time of its last record in the order of ``seq``;
    ``rotate_s``: as its `open` records say, or None. ``again``: the name server has a later boot."""

    ns: str
    boot: int
    first: int
    last: int
    start_ts: int | None
    stop_ts: int | None
    observed: bool
    no_topics: bool
    begun: bool
    holes: Sequence[Hole]
    snapshots: Sequence[Snapshot]
    newest: int
    rotate_s: int | None = None
    again: bool = False

    @property
    def known_from(self) -> int | None:
        """When its state is known from, us; None if never."""
        if self.begun:
            return self.first if self.start_ts is None else self.start_ts
        return min((snapshot.end_ts for snapshot in self.snapshots), default=None)

    def end(self, t1: int) -> tuple[int, str]:
        """Until when its state is known, as of the time ``t1``, us, and why: stop, lost, silent, open, unwatched."""
        silent = t1 - self.last > SILENT_AFTER_US
        cause = "stop" if self.stop_ts is not None else "lost" if self.again else "silent" if silent else "open"
        if cause == "open":
            return t1, cause
        return self.last if self.stop_ts is None else self.stop_ts, UNWATCHED if self.observed else cause


def stretches(events: DataFrame, *more: Column) -> list[Row]:
    """What ``boots`` takes, and ``more`` of each stretch."""
    rows: list[Row] = events.groupBy(*PIECE[:3], _stretch()).agg(*_counted(), *_said(), *more).toArrow().to_pylist()
    return rows


def boots(events: DataFrame, stretches: Sequence[Row]) -> list[Boot]:
    """Each start of a name server, in order."""
    incomplete = [tuple(row[name] for name in PIECE) for row in stretches if not _is_whole(row)]
    pieces = [row for row in stretches if _is_whole(row)] + (_pieces(events, incomplete) if incomplete else [])
    runs, parts = _by_boot(pieces), _by_boot(_snapshot_parts(events))
    found = [_boot(*key, counted, runs[key], parts[key]) for key, counted in _by_boot(stretches).items()]
    following = [one.ns for one in found[1:]]
    return [boot._replace(again=boot.ns == after) for boot, after in zip_longest(found, following)]


def uptime(boot: Boot, observation: Observation) -> Row | None:
    """The row of NS_UPTIME; None if its state is not known at any time."""
    begin, (end, cause) = boot.known_from, boot.end(observation.t1)
    end = min(end, observation.t1)
    if begin is None or max(begin, observation.t0) >= end:
        return None
    return {
        "ns": boot.ns, "boot": boot.boot, "t1": max(begin, observation.t0), "t2": end, "end_cause": cause,
        "observed": boot.observed, "no_topics": boot.no_topics,
    }  # fmt: skip


def _boot(ns: str, boot: int, counted: Sequence[Row], runs: Sequence[Row], parts: Sequence[Row]) -> Boot:
    """``counted``: of each stretch; ``runs``: stretches of records without a missing number between."""

    def every(name: str) -> list[Any]:
        return [row[name] for row in counted if row[name] is not None]

    in_order = sorted(runs, key=itemgetter("low", "high"))
    holes = list(_holes(in_order))
    start_ts, stop_ts = min(every("start_ts"), default=None), max(every("stop_ts"), default=None)
    begun = (in_order[0]["low"] == 1 or start_ts is not None) and not any(every("restored"))
    begins = [*([] if begun else [0]), *(hole.until for hole in holes)]
    return Boot(
        ns, boot, min(every("min_ts")), max(every("max_ts")), start_ts, stop_ts, any(every("observed")),
        any(every("no_topics")), begun, holes, _needed(_whole(parts, holes), begins),
        max(runs, key=itemgetter("high"))["high_ts"], max(every("rotate_s"), default=None),
    )  # fmt: skip


def _by_boot(rows: Iterable[Row]) -> Mapping[tuple[str, int], Sequence[Row]]:
    """In order."""
    in_order = sorted(rows, key=itemgetter(*BOOT))
    return defaultdict(list, {key: list(same) for key, same in groupby(in_order, itemgetter(*BOOT))})


def _holes(runs: Sequence[Row]) -> Iterator[Hole]:
    """Nothing is reported before a boot's first record."""
    reached = runs[0]
    for run in runs[1:]:
        if run["low"] > reached["high"] + 1:
            yield Hole(reached["high"], run["low"], reached["high_ts"], run["low_ts"])
        reached = max(reached, run, key=itemgetter("high", "high_ts"))


def _whole(parts: Iterable[Row], holes: Sequence[Hole]) -> list[Snapshot]:
    """The snapshots with their first part and their end, and no hole between."""
    begun: set[int] = set()
    ends: dict[int, tuple[int, int]] = {}
    for part in parts:
        if part["first"]:
            begun.add(part["snap"])
        if part["end_seq"] is not None and part["end_ts"] is not None:
            seq, ts = ends.get(part["snap"], (part["end_seq"], part["end_ts"]))
            ends[part["snap"]] = max(seq, part["end_seq"]), max(ts, part["end_ts"])
    return sorted(
        Snapshot(snap, *end)
        for snap, end in ends.items()
        if snap in begun and not any(hole.after < end[0] and hole.until > snap for hole in holes)
    )


def _needed(snapshots: Sequence[Snapshot], begins: Iterable[int]) -> list[Snapshot]:
    """For each of these sequence numbers, the first snapshot that begins at it or later."""
    first = {next((one for one in snapshots if one.snap >= begin), None) for begin in begins}
    return sorted(one for one in first if one is not None)


def _is_whole(row: Row) -> bool:
    low, high, count = row["low"], row["high"], row["count"]
    return bool(count == high - low + 1 and row["sum"] * 2 == (low + high) * count)


def _pieces(events: DataFrame, incomplete: Sequence[tuple[Any, ...]]) -> list[Row]:
    """What lies between the holes of these stretches."""
    in_order = Window.partitionBy(*PIECE).orderBy("seq")
    begins = F.coalesce(F.col("seq") > F.lag("seq").over(in_order) + 1, F.lit(True)).cast("int")
    numbered = (
        events.select(*PIECE[:3], _stretch(), "seq", "ts")
        .join(F.broadcast(frame_of(events.sparkSession, incomplete, PIECES)), [*PIECE], "left_semi")
        .withColumn("begins", begins)
        .withColumn("piece", F.sum("begins").over(in_order))
    )
    rows: list[Row] = numbered.groupBy(*PIECE, "piece").agg(*_counted()).toArrow().to_pylist()
    return rows


def _stretch() -> Column:
    return F.expr(f"seq div {STRETCH}").alias("stretch")


def _counted() -> Sequence[Column]:
    return (
        F.count("*").alias("count"), F.sum("seq").alias("sum"), F.min("seq").alias("low"), F.max("seq").alias("high"),
        F.min_by("ts", "seq").alias("low_ts"), F.max_by("ts", "seq").alias("high_ts"),
        F.min("ts").alias("min_ts"), F.max("ts").alias("max_ts"),
    )  # fmt: skip


def _said() -> Sequence[Column]:
    started, watched = F.col("ev") == "start", F.coalesce("observed", F.lit(False))
    with_routes = F.coalesce("restored", F.lit(False)) | watched
    return (
        F.min(F.when(started, F.col("ts"))).alias("start_ts"),
        F.max(F.when(F.col("ev") == "stop", F.coalesce("since", "ts"))).alias("stop_ts"),
        F.max(started & with_routes).alias("restored"),
        F.max(watched | F.col("since").isNotNull()).alias("observed"),
        F.max(F.coalesce("no_topics", F.lit(False))).alias("no_topics"),
        F.max("rotate_s").alias("rotate_s"),
    )


def _snapshot_parts(events: DataFrame) -> list[Row]:
    """Of each day's folder."""
    of_end = F.coalesce("end", F.lit(False))
    parts = events.where("ev = 'snap' and snap is not null").groupBy(*BOOT, "dt", "snap")
    rows: list[Row] = (
        parts.agg(
            F.coalesce(F.min("part") == 0, F.lit(False)).alias("first"),
            F.max(F.when(of_end, F.col("seq"))).alias("end_seq"),
            F.max(F.when(of_end, F.col("ts"))).alias("end_ts"),
        )
        .toArrow()
        .to_pylist()
    )
    return rows
