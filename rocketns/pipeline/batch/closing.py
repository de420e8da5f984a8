"""Which days a run takes over from an earlier one, and which it closes for later ones.

A day is closed when its files have arrived and the observation has passed its records. Sums of a closed day are used
only while the day holds the same records, so closing a day too early costs time, never a wrong result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.reading.clockdays import Clock, Clocks, chained
from rocketns.pipeline.batch.inputs import Inputs
from rocketns.pipeline.contract.earlier import Earlier
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.times import DAY_US, HOUR_US, exact_text
from rocketns.pipeline.jobs.earlier.keeping import Closing, kept
from rocketns.pipeline.jobs.earlier.settled import SETTLED, finished
from rocketns.pipeline.jobs.earlier.tallies import HOW, NEVER
from rocketns.pipeline.storage import earlier as storage
from rocketns.pipeline.storage.files.folder import Folder

# After midnight, until the last files of a day are closed and copied.
WAIT_US = HOUR_US
# Days that ended this long before the end are closed in any case: a file that is still open was left by a crash, and a
# time stamp after the end is wrong.
SETTLED_US = 2 * DAY_US


class Before(NamedTuple):
    """The state that a run continues from. ``kept``: the folder that has it; None: the run begins with nothing."""

    kept: storage.Kept | None
    earlier: Earlier
    clocks: Clocks


class DayEnd(NamedTuple):
    """Of one day: the latest corrected time, and whether one of its files is still being written."""

    last: int
    open: bool


def choices(
    spark: SparkSession, out: Folder, days: Mapping[str, str], *, whole: bool, within: int | None = None
) -> Iterator[Before]:
    """The states to continue from, the latest first, an empty one last. ``days``: ``storage.fingerprints``; ``within``:
    by how much clocks differ at most, on which what is kept of departures rests."""
    for found in [] if whole else storage.fitting(out, days, within):
        yield Before(found, storage.read(spark, out, found), _clocks(found.clocks))
    yield Before(None, Earlier.nothing(spark), Clocks())


def _clocks(plain: Any) -> Clocks:
    reference, known, days = plain
    latest = {ns: Clock._make([*clock[:-1], tuple(clock[-1])]) for ns, clock in known.items()}
    return Clocks(reference, latest, tuple(tuple(day) for day in days))


def day_ends(files: DataFrame, clock_days: DataFrame) -> dict[str, DayEnd]:
    """The last record of each day of FILES, and whether a file of it is open, by ``dt``."""
    of_days = F.broadcast(clock_days.select(F.col("day").alias("dt"), "ns", "offset"))
    last = F.max(F.col("last") - F.coalesce("offset", F.lit(0))).alias("last")
    found = files.join(of_days, ["dt", "ns"], "left").groupBy("dt").agg(last, F.max("open").alias("open"))
    return {row["dt"]: DayEnd(row["last"] or 0, row["open"]) for row in found.collect()}


def closable(ends: Mapping[str, DayEnd], end: int) -> str:
    """The last day that can be closed by an observation up to ``end``; NEVER if there is none."""
    closed = NEVER
    for dt in sorted(ends):
        moves = (ends[dt].open or ends[dt].last >= end) and dt >= _date(end - SETTLED_US)
        if moves or dt >= _date(end - WAIT_US):
            break
        closed = dt
    return closed


def _date(moment: int) -> str:
    return exact_text(moment)[:10]


def close(inputs: Inputs, before: Before, out: Folder, days: Mapping[str, str], ends: Mapping[str, DayEnd]) -> None:
    """Write what later runs need of the days that this run closes. ``days``: the fingerprint of each day."""
    closing: Closing = inputs["closing"]
    observation: Observation = inputs["observation"]
    closed, ended = [dt for dt in sorted(days) if dt <= closing.day], F.col("dt") <= closing.day
    tallies = {name: inputs[name] for name in HOW}
    last = inputs["base"].runs.where(ended).agg(F.max("max_ts")).first()
    stray = None
    if any(ends[dt].last >= observation.t1 for dt in closed if dt in ends):
        stray = _first_after(inputs["corrected"].where(ended), observation.t1)
    settled = finished({name: inputs[name] for name in (*SETTLED, "clock_days")}, closing.day, inputs["min_window_us"])
    storage.write(
        out,
        kept(inputs["events"], inputs["base"], tallies, closing, observation) | settled,
        day=closing.day,
        days={dt: days[dt] for dt in closed},
        t0=observation.t0,
        last=(last and last[0]) or 0,
        stray_from=_earliest(before, stray),
        clocks=chained([row.asDict() for row in inputs["estimates"].where(ended).collect()], before.clocks),
        mark=inputs["marks"][closing.day],
        within=inputs["clocks_within_us"],
    )


def _first_after(events: DataFrame, moment: int) -> int | None:
    """The earliest time stamp of the events that is not before the moment."""
    found = events.where(F.col("ts") >= moment).agg(F.min("ts")).first()
    return found[0] if found else None


def _earliest(before: Before, stray: int | None) -> int | None:
    known = [time for time in (before.kept and before.kept.stray_from, stray) if time is not None]
    return min(known, default=None)
