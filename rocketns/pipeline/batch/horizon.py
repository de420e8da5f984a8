"""Where a run with ``--days`` begins. Plain values, no Spark.

The beginning is a midnight that moves once in STEP_DAYS. Runs in between continue from each other; only the first run
after a move reads all days of its observation.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import NamedTuple

from rocketns.pipeline.jobs.earlier.keeping import midnight_after
from rocketns.pipeline.storage.events.manifest import Day, Range

STEP_DAYS = 7
EPOCH_DAY = date(1970, 1, 1)


class Horizon(NamedTuple):
    """``t0``: the beginning, epoch us; ``since``: the first day (``dt``) that is read. Its hourly snapshots show the
    state at t0."""

    t0: int
    since: str


def horizon(stored: Mapping[str, Day], days: int) -> Horizon | None:
    """The beginning of an observation of at least so many days, with the last one. None: the journal begins later, so
    the whole journal is observed. ``stored``: the days of the manifest, by ``dt``."""
    last = date.fromisoformat(last_day(stored))
    begin = last - timedelta(days - 1)
    begin -= timedelta((begin - EPOCH_DAY).days % STEP_DAYS)
    before = str(begin - timedelta(1))
    return Horizon(midnight_after(before), before) if min(stored) <= before else None


def last_day(stored: Mapping[str, Day]) -> str:
    """The day (``dt``) of a name server's last file: of half of them it is as late or later. So neither a name server
    that fell silent long ago nor a clock that is ahead decides."""
    last: dict[str, tuple[int, int, str]] = {}
    for dt, day in stored.items():
        for ns, ranges in day.ranges.items():
            boot, _, high = max(ranges, default=Range(0, 0, 0))
            last[ns] = max(last.get(ns, (0, 0, dt)), (boot, high, dt))
    days = sorted(dt for _, _, dt in last.values())
    return days[(len(days) - 1) // 2] if days else max(stored)
