"""What a boot of a name server knew: which of its records are missing, which of its snapshots are whole, and when its
state is known.

A killed name server wrote no stop record: its state is unknown from its last record on. If a journal begins in the
middle, the state is unknown until the end of the first whole snapshot. After lost records the next whole snapshot
corrects the state. How an observer's boot ended says nothing about the name server: it was watched up to the last look.

Spark counts the records, of which there may be any number; the rest is plain values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.causes import UNWATCHED
from rocketns.pipeline.contract.defaults import SILENT_AFTER_US
from rocketns.pipeline.contract.frames import Observation, columns, frame_of

# Sequence numbers are checked in stretches of this length. A stretch whose count, smallest, largest and sum fit has no
# hole, so only the other stretches are sorted.
STRETCH = 4096
BOOT = ("ns", "boot")
PIECE = (*BOOT, "dt", "stretch")
PIECES = columns("ns:string boot:long dt:string stretch:long")

Row = Mapping[str, Any]


class Run(NamedTuple):
    """Records of a boot without a missing number between: the first and last number, their times, and the smallest and
    largest time, us."""

    low: int
    high: int
    low_ts: int
    high_ts: int
    min_ts: int
    max_ts: int


class Said(NamedTuple):
    """What start and stop records of a boot say, and others of an observer. ``stop_ts``: of an observer its last look;
    ``restored``: it began with routes; ``no_topics``: it could not know topics."""

    start_ts: int | None = None
    stop_ts: int | None = None
    restored: bool = False
    observed: bool = False
    no_topics: bool = False

    def united(self, other: Said) -> Said:
        """Of both parts of a boot."""
        starts = [one for one in (self.start_ts, other.start_ts) if one is not None]
        stops = [one for one in (self.stop_ts, other.stop_ts) if one is not None]
        flags = (mine or its for mine, its in zip(self[2:], other[2:], strict=True))
        return Said(min(starts, default=None), max(stops, default=None), *flags)


class Part(NamedTuple):
    """Parts of a snapshot: whether the first is among them, and the number and time of the last one, if it is."""

    snap: int
    first: bool
    end_seq: int | None
    end_ts: int | None


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
    """``first`` and ``last``: the smallest and largest time of a record, us. ``begun``: its first record is there, and
    it began with empty tables. ``snapshots``: those at which state begins: the first one if its start is missing, and
    the first one after each hole. ``again``: the name server has a later boot."""

    ns: str
    boot: int
    first: int
    last: int
    begun: bool
    said: Said
    holes: Sequence[Hole]
    snapshots: Sequence[Snapshot]
    again: bool = False

    @property
    def until(self) -> int:
        """The stop record, or the last record, us."""
        return self.last if self.said.stop_ts is None else self.said.stop_ts

    @property
    def known_from(self) -> int | None:
        """When its state is known from, us; None if never."""
        if self.begun:
            return self.first if self.said.start_ts is None else self.said.start_ts
        return min((snapshot.end_ts for snapshot in self.snapshots), default=None)

    def end(self, t1: int) -> tuple[int, str]:
        """Until when its state is known, as of the time ``t1``, us, and why: stop, lost, silent, open, unwatched."""
        silent = t1 - self.last > SILENT_AFTER_US
        stopped = self.said.stop_ts is not None
        cause = "stop" if stopped else "lost" if self.again else "silent" if silent else "open"
        if self.said.observed and cause != "open":
            cause = UNWATCHED
        return t1 if cause == "open" else self.until, cause


def boot_of(ns: str, boot: int, runs: Iterable[Run], said: Said, parts: Iterable[Part], *, again: bool = False) -> Boot:
    """From what its records tell."""
    in_order = sorted(runs)
    holes = list(_holes(in_order))
    begun = (in_order[0].low == 1 or said.start_ts is not None) and not said.restored
    snapshots = _needed(_whole(parts, holes), [*([] if begun else [0]), *[hole.until for hole in holes]])
    first, last = min(run.min_ts for run in in_order), max(run.max_ts for run in in_order)
    return Boot(ns, boot, first, last, begun, said, holes, snapshots, again)


def uptime(boot: Boot, observation: Observation) -> tuple[str, int, int, int, str, bool, bool] | None:
    """The row of NS_UPTIME; None if its state is not known at any time."""
    begin, (end, cause) = boot.known_from, boot.end(observation.t1)
    if begin is None or max(begin, observation.t0) >= end:
        return None
    return boot.ns, boot.boot, max(begin, observation.t0), end, cause, boot.said.observed, boot.said.no_topics


def _holes(runs: Sequence[Run]) -> Iterable[Hole]:
    """Nothing is reported before a boot's first record."""
    reached = runs[0]
    for _, run in pairwise(runs):
        if run.low > reached.high + 1:
            yield Hole(reached.high, run.low, reached.high_ts, run.low_ts)
        reached = max(reached, run, key=lambda one: (one.high, one.high_ts))


def _whole(parts: Iterable[Part], holes: Sequence[Hole]) -> list[Snapshot]:
    """The snapshots with their first part and their end, and no hole between."""
    begun: set[int] = set()
    ends: dict[int, tuple[int, int]] = {}
    for part in parts:
        if part.first:
            begun.add(part.snap)
        if part.end_seq is not None and part.end_ts is not None:
            seq, ts = ends.get(part.snap, (part.end_seq, part.end_ts))
            ends[part.snap] = max(seq, part.end_seq), max(ts, part.end_ts)
    return sorted(
        Snapshot(snap, *end)
        for snap, end in ends.items()
        if snap in begun and not any(hole.after < end[0] and hole.until > snap for hole in holes)
    )


def _needed(snapshots: Sequence[Snapshot], begins: Iterable[int]) -> list[Snapshot]:
    """For each of these sequence numbers, the first snapshot that begins at it or later."""
    first = {next((one for one in snapshots if one.snap >= begin), None) for begin in begins}
    return sorted(one for one in first if one is not None)


def boots(events: DataFrame) -> list[Boot]:
    """Each start of a name server, in order."""
    stretches = events.groupBy(*PIECE[:3], _stretch()).agg(*_counted(), *_said()).toArrow().to_pylist()
    odd = [tuple(row[name] for name in PIECE) for row in stretches if not _is_whole(row)]
    pieces = [row for row in stretches if _is_whole(row)] + (_pieces(events, odd) if odd else [])
    said, runs, parts = _by_boot(stretches), _by_boot(pieces), _by_boot(_snapshot_parts(events))
    found = [_boot(key, runs[key], said[key], parts[key]) for key in sorted(said)]
    following = [one.ns for one in found[1:]]
    return [boot._replace(again=boot.ns == after) for boot, after in zip(found, [*following, None], strict=True)]


def _boot(key: tuple[str, int], runs: Sequence[Row], said: Sequence[Row], parts: Sequence[Row]) -> Boot:
    return boot_of(
        *key,
        [Run(*(row[name] for name in Run._fields)) for row in runs],
        reduce(Said.united, (Said(*(row[name] for name in Said._fields)) for row in said)),
        [Part(*(row[name] for name in Part._fields)) for row in parts],
    )


def _by_boot(rows: Iterable[Row]) -> Mapping[tuple[str, int], Sequence[Row]]:
    in_order = sorted(rows, key=itemgetter(*BOOT))
    return defaultdict(list, {key: list(same) for key, same in groupby(in_order, itemgetter(*BOOT))})


def _is_whole(row: Row) -> bool:
    low, high, count = row["low"], row["high"], row["count"]
    return bool(count == high - low + 1 and row["sum"] * 2 == (low + high) * count)


def _pieces(events: DataFrame, odd: Sequence[tuple[Any, ...]]) -> list[Row]:
    """What lies between the holes of these stretches."""
    in_order = Window.partitionBy(*PIECE).orderBy("seq")
    begins = F.coalesce(F.col("seq") > F.lag("seq").over(in_order) + 1, F.lit(True)).cast("int")
    numbered = (
        events.select(*PIECE[:3], _stretch(), "seq", "ts")
        .join(F.broadcast(frame_of(events.sparkSession, odd, PIECES)), [*PIECE], "left_semi")
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
