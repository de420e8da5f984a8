"""Windows, segments and imbalance that no later record can change: those that ended before closed days did.

Each topic has a *cut*, before which its windows and segments are finished. The cut is earlier than the edge of the
closed days, by the shortest window and by the largest difference of two clocks, or of two looks of an observer. If a
window is open there, the cut is where it began, or where the first window began that overlaps it. At the cut no window
is open. So all later windows follow from the points at and after the cut, and from the value that each name server
showed just before it.

A later record may still change the past: a snapshot may prove that a doubt was none. So a run compares ``marks``, which
are hashes of everything before the edge, and computes all again if they differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.earlier import CUTS, Earlier
from rocketns.pipeline.contract.frames import conform
from rocketns.pipeline.jobs.covers import covers
from rocketns.pipeline.jobs.earlier.keeping import edge_of
from rocketns.pipeline.jobs.history.unsure import widest

SETTLED = ("key_windows", "topic_segments", "imbalance")
# Sums of so much less of a hash fit a long.
HASH_SHIFT = 32
# The hashed columns of each table, beside t1 and t2: those of every interval, and those of an interval that has ended.
PAST = {
    "topic_intervals": (("ns", "topic", "broker", "r", "w", "p", "cause", "t1_early"), ("end_cause", "t2_early")),
    "broker_intervals": (("ns", "cluster", "broker", "bid", "addr", "t1_early"), ("end_cause", "gap", "t2_early")),
    "ns_uptime": (("ns", "boot", "observed", "no_topics"), ("end_cause",)),
    "topic_doubts": (("ns", "topic", "broker"), ()),
}


class Settled(NamedTuple):
    """``cut``: of all topics that are not in ``cuts`` (topic, cut); ``first``: the earliest cut; ``windows``,
    ``segments``, ``imbalance``: KEY_WINDOWS, TOPIC_SEGMENTS, IMBALANCE before the cuts. All times epoch us."""

    cut: int
    first: int
    cuts: DataFrame
    windows: DataFrame
    segments: DataFrame
    imbalance: DataFrame

    def recent(self, rows: DataFrame) -> DataFrame:
        """The rows (topic, t2, …) that end at the cut of their topic or later."""
        return self._with_cut(rows).where("t2 >= cut").drop("cut")

    def open_or_new(self, segments: DataFrame, done: DataFrame) -> DataFrame:
        """The segments (topic, t2, …) that end at the cut of their topic or later, and all segments of topics without
        a row in ``done`` (topic, …): nobody read these topics when the days were closed."""
        known = done.select("topic", F.lit(True).alias("known")).distinct()
        found = self._with_cut(segments).join(F.broadcast(known), "topic", "left")
        return found.where("t2 >= cut or known is null").drop("cut", "known")

    def clipped(self, points: DataFrame) -> DataFrame:
        """The points (topic, t, next_t, …) that apply just before the cut of their topic or later. Earlier ones are
        moved to just before it. ``next_t``: when the next point of the same name server replaces it, null: never."""
        before = F.col("cut") - 1
        applies = F.col("next_t").isNull() | (F.col("next_t") > before)
        return self._with_cut(points).where(applies).withColumn("t", F.greatest("t", before)).drop("cut")

    def _with_cut(self, rows: DataFrame) -> DataFrame:
        found = rows.join(F.broadcast(self.cuts), "topic", "left")
        return found.withColumn("cut", F.coalesce("cut", F.lit(self.cut)))


def settled(earlier: Earlier, ns_uptime: DataFrame, clock_days: DataFrame, min_window_us: int) -> Settled | None:
    """The settled part of the closed days. None if boots of a name server overlap because its clock was set back: a
    record before the cut may then decide which of two later records counts."""
    cuts = earlier.frames["cuts"]
    cut = _cut(earlier.day, clock_days, min_window_us)
    [(first,)] = cuts.agg(F.min("cut")).collect()
    first = min(cut, cut if first is None else first)
    if _overlap(ns_uptime, first):
        return None
    return Settled(cut, first, cuts, *[earlier.frames[name] for name in SETTLED])


def _overlap(ns_uptime: DataFrame, first: int) -> bool:
    """Whether two starts of a name server overlap, of which one reaches the time."""
    rows = sorted((row["ns"], row["t1"], row["t2"]) for row in ns_uptime.collect())
    reached: dict[str, int] = {}
    for ns, t1, t2 in rows:
        if t1 < reached.get(ns, t1) and max(t2, reached[ns]) >= first:
            return True
        reached[ns] = max(t2, reached.get(ns, t2))
    return False


def finished(tables: Mapping[str, DataFrame], day: str, min_window_us: int) -> dict[str, DataFrame]:
    """The frames of contract.earlier that ``settled`` is made from. ``tables``: those of SETTLED, and
    clock_days; ``day``: the last closed day."""
    cut = _cut(day, tables["clock_days"], min_window_us)
    crossing = covers(tables["key_windows"].where(F.col("t1") < cut)).where(F.col("t2") >= cut)
    cuts = conform(crossing.withColumn("cut", F.col("t1")), CUTS)

    def before(rows: DataFrame) -> DataFrame:
        found = rows.join(F.broadcast(cuts), "topic", "left")
        return found.where(F.col("t2") < F.coalesce("cut", F.lit(cut))).drop("cut")

    return {"cuts": cuts} | {name: before(tables[name]) for name in SETTLED}


def _cut(day: str, clock_days: DataFrame, min_window_us: int) -> int:
    """Whether a window counts depends on what name servers show while their clocks may differ."""
    return edge_of(day) - min_window_us - widest(clock_days.where(F.col("day") <= day))


def marks(tables: Mapping[str, DataFrame], days: Sequence[str], min_window_us: int) -> dict[str, str]:
    """For each day a text that changes if anything that windows are made from changed before the edge of the day.
    ``tables``: those of PAST, and clock_days."""
    found = [row_hashes(tables[name], name, days) for name in PAST]
    clocks = tables["clock_days"]
    known = [F.when(F.col("day") <= day, F.xxhash64(*clocks.columns)).alias(_place(days, day)) for day in days]
    every = clocks.select(*known)
    for hashes in found:
        every = every.unionByName(hashes)
    [row] = every.agg(*[total for day in days for total in _totals(_place(days, day))]).collect()
    width = len(row) // len(days)
    return {
        day: " ".join(str(value) for value in (min_window_us, *row[place * width : (place + 1) * width]))
        for place, day in enumerate(days)
    }


def row_hashes(table: DataFrame, name: str, days: Sequence[str]) -> DataFrame:
    """A column for each day: the hash of the part before its edge, null where there is none."""
    return table.select(*[_hash(name, edge_of(day)).alias(_place(days, day)) for day in days])


def _hash(name: str, edge: int) -> Column:
    held, at_end = PAST[name]
    ended = F.col("t2") < edge
    ends = [F.when(ended, F.col(column)) for column in at_end]
    hashed = F.xxhash64(F.lit(name), *held, "t1", F.least("t2", F.lit(edge)), *ends)
    return F.when(F.col("t1") < edge, hashed)


def _place(days: Sequence[str], day: str) -> str:
    return f"h{days.index(day)}"


def _totals(column: str) -> tuple[Column, ...]:
    return F.count(column), F.sum(F.shiftright(column, HASH_SHIFT)), F.bit_xor(column)
