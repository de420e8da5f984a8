"""What later runs need of the days that a run closes. Times are corrected."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import reduce
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.record import KINDS, Kept, check_rows
from rocketns.pipeline.contract.frames import Observation, conform
from rocketns.pipeline.contract.schema import EVENTS
from rocketns.pipeline.contract.times import DAY_US, EPOCH, HOUR_US
from rocketns.pipeline.jobs.earlier.tallies import SENDER, joined
from rocketns.pipeline.jobs.history.holes import boots, holes, joined_runs, needed_snapshots, whole_snapshots
from rocketns.pipeline.jobs.history.state import Base

# Records that are kept as they are.
KEPT = [name for name, kind in KINDS.items() if kind.kept is Kept.ALL]
# How far the clock of a name server may be off, and so records of one day before midnight be later than those of
# another's next day.
EDGE_US = HOUR_US
# A lookup's hour is that of its interval's middle, and an interval may be a day.
EDGE_HOURS = 14
SNAPSHOT = ("ns", "boot", "snap")


class Closing(NamedTuple):
    """``day``: the last day that this run closes (``dt``); NEVER if it closes none."""

    day: str

    @property
    def midnight(self) -> int:
        """The end of the day, epoch us."""
        return midnight_after(self.day)

    @property
    def edge(self) -> int:
        """Heartbeats from then on are all kept: departures of the next day may ask for them."""
        return edge_of(self.day)


def midnight_after(day: str) -> int:
    """The end of a day (``dt``), epoch us; 0 of NEVER."""
    return (datetime.fromisoformat(day).replace(tzinfo=UTC) - EPOCH).days * DAY_US + DAY_US if day else 0


def edge_of(day: str) -> int:
    """An hour before the end of a day (``dt``), epoch us: from then on all heartbeats of closed days are kept."""
    return midnight_after(day) - EDGE_US


def kept(
    events: DataFrame, base: Base, tallies: Mapping[str, DataFrame], closing: Closing, observation: Observation
) -> dict[str, DataFrame]:
    """The frames of contract.earlier for the days up to ``closing``. ``events``: EVENTS as jobs get them; ``tallies``:
    the frames of ``tallies.HOW``, with the rows of days that were closed before."""
    closed = {name: joined(name, frame.where("closed")) for name, frame in tallies.items()}
    runs, parts = (frame.where(F.col("dt") <= closing.day) for frame in (base.runs, base.parts))
    snapshots = _snapshots(runs, parts)
    before_end = events.where((F.col("dt") <= closing.day) & (F.col("ts") < observation.t1))
    return closed | {
        "runs": joined_runs(runs),
        "snapshot_parts": parts.join(F.broadcast(snapshots), [*SNAPSHOT], "left_semi"),
        "events": _records(before_end, snapshots, closing),
        "hours": _hours(closed["hours"], closing),
        "heard": closed["heard"].where(F.col("d1") < closing.edge),
    }


def _snapshots(runs: DataFrame, parts: DataFrame) -> DataFrame:
    """SNAPSHOT: snapshots at which state begins, and incomplete snapshots that later records may complete."""
    lost = holes(runs)
    whole = whole_snapshots(parts, lost)
    needed = needed_snapshots(boots(runs), whole, lost).select(*SNAPSHOT)
    torn = parts.select(*SNAPSHOT).distinct().join(whole.select(*SNAPSHOT), [*SNAPSHOT], "left_anti")
    return needed.unionByName(torn)


def _records(events: DataFrame, snapshots: DataFrame, closing: Closing) -> DataFrame:
    """EVENTS that later runs need: changes of the state, the snapshots, the last heartbeat of each sender, heartbeats
    near the end of the closed days, and one record of each KV item that snapshots repeat."""
    beats = events.where(F.col("ev").isin("reg", "hb"))
    last = (
        beats.groupBy("boot", *SENDER)
        .agg(F.max("seq").alias("seq"))
        .select("ns", "boot", "seq", F.lit(True).alias("last"))
    )
    marked = events.join(F.broadcast(last), ["ns", "boot", "seq"], "left").join(
        F.broadcast(snapshots.withColumn("needed", F.lit(True))), [*SNAPSHOT], "left"
    )
    in_order = Window.partitionBy("ns_key", "key").orderBy("ns", "boot", "seq")
    items = marked.where("ev = 'snap' and needed is null and ns_key is not null and val is not null")
    first_items = items.withColumn("place", F.row_number().over(in_order)).where("place = 1").drop("place")
    chosen = [(F.col("ev") == name) & choose(closing) for name, choose in CHOSEN.items()]
    return conform(marked.where(reduce(Column.__or__, chosen, F.col("ev").isin(KEPT))).unionByName(first_items), EVENTS)


def _chosen_beats(closing: Closing) -> Column:
    return F.col("timeout_ms").isNotNull() | F.col("last").isNotNull() | (F.col("ts") >= closing.edge)


def _chosen_snapshots(_closing: Closing) -> Column:
    return F.col("needed").isNotNull()


CHOSEN = {"hb": _chosen_beats, "snap": _chosen_snapshots}
check_rows(CHOSEN, [name for name, kind in KINDS.items() if kind.kept is Kept.SOME])


def _hours(hours: DataFrame, closing: Closing) -> DataFrame:
    """HOURS with a miss, the first one of each topic, and those near the end of the closed days."""
    first = F.min("hour").over(Window.partitionBy("topic"))
    near = closing.midnight // HOUR_US - EDGE_HOURS
    return (
        hours.withColumn("begin", first)
        .where((F.col("miss") > 0) | (F.col("hour") == F.col("begin")) | (F.col("hour") >= near))
        .drop("begin")
    )
