"""Which time a run looks at: from the first record to the latest moment that the journal of every live name server has
reached, on corrected clocks. Plain values, no Spark.

A name server counts as silent if its journal ends much earlier than the newest one: more records would have arrived by
now. The observation does not wait for it. The journal of a stopped name server is complete.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from rocketns.pipeline.contract import terms
from rocketns.pipeline.contract.frames import Observation, Row
from rocketns.pipeline.contract.schema import ReadFile
from rocketns.pipeline.jobs.clocks import may_be_off
from rocketns.pipeline.saying import _


class JournalEnd(NamedTuple):
    """How far the journal of a name server reaches, epoch us. By ``lag`` it may be behind while the server is well, and
    by ``doubt`` its clock may differ from the others."""

    ns: str
    last: int
    stopped: bool
    lag: int
    doubt: int


class Extent(NamedTuple):
    """What the files hold, by the clocks of their name servers: the first and the last time, epoch us, the days of the
    last files, and the name servers whose last file was still being written."""

    first: int
    last: int
    days: tuple[str, ...]
    open: frozenset[str]


def extent(files: Iterable[ReadFile]) -> Extent:
    """From the files, in the order of their boots and numbers, whatever times are in them. BadInput if none has a
    record."""
    by_server = _in_order(one for one in files if one.first is not None)
    if not by_server:
        raise terms.BadInput(_("the journals hold no record that can be read"))
    last = max(one.last or 0 for of in by_server.values() for one in of)
    days = sorted({one.dt for of in by_server.values() for one in of[-2:]})
    opened = frozenset(ns for ns, of in by_server.items() if of[-1].open)
    return Extent(min(_begin(of[0]) for of in by_server.values()), last, tuple(days), opened)


def _in_order(files: Iterable[ReadFile]) -> dict[str, list[ReadFile]]:
    """By name server."""
    found: defaultdict[str, list[ReadFile]] = defaultdict(list)
    for one in sorted(files, key=lambda one: one.place):
        found[one.ns].append(one)
    return found


def _begin(first: ReadFile) -> int:
    """The time of the first record. One of a time before its boot is a stray one."""
    begun = first.place[0] * 1000
    return begun if (first.first or 0) <= begun <= (first.last or 0) else first.first or 0


class Horizon(NamedTuple):
    """``t0``: the beginning, epoch us; ``since``: the first day (``dt``) that is read. Its hourly snapshots show the
    state at t0."""

    t0: int
    since: str


def last_days(files: Sequence[ReadFile], days: int) -> Horizon | None:
    """The beginning of an observation of so many days. None: the journal begins later.

    The last day is that of a name server's last file of which half of them have one as late or later. So neither a name
    server that fell silent long ago nor a clock that is ahead decides."""
    latest = sorted(of[-1].dt for of in _in_order(files).values())
    if not latest:
        return None
    before = date.fromisoformat(latest[(len(latest) - 1) // 2]) - timedelta(days)
    begin = (datetime.combine(before + timedelta(1), time(), UTC) - terms.EPOCH) // timedelta(microseconds=1)
    return Horizon(begin, str(before)) if min(one.dt for one in files) <= str(before) else None


def by_own_clocks(t0: int | None, t1: int | None, known: Extent, reaches: Iterable[Row]) -> Observation:
    """The time from which clocks are estimated: up to the newest journal's end, without stray time stamps."""
    newest = max((row["last"] for row in reaches), default=known.last)
    return Observation(known.first if t0 is None else t0, newest + 1 if t1 is None else min(t1, newest + 1))


def reach_of(reached: Row, offset: Row | None, *, is_open: bool) -> JournalEnd:
    """From a row of ``reaches`` and of CLOCK_DAYS. ``is_open``: its last file was read while it was being written."""
    rotation = terms.ROTATE_US if reached["rotate_s"] is None else reached["rotate_s"] * terms.SECOND_US
    return JournalEnd(
        reached["ns"],
        reached["last"] - (offset["offset"] if offset else 0),
        reached["stopped"] is not None,
        terms.SILENT_AFTER_US + (0 if is_open else rotation),
        min(may_be_off(offset["uncertainty"] if offset else None), terms.CLOCK_DOUBT_US),
    )


def last_day_of_each(clock_days: Iterable[Row]) -> dict[str, Row]:
    """By name server its row of CLOCK_DAYS of the last day."""
    return {row["ns"]: row for row in sorted(clock_days, key=lambda row: str(row["day"]))}


def common_end(reaches: Sequence[JournalEnd]) -> int:
    """The latest moment that every live name server has reached. A name server is live if it has not stopped and is
    not further behind the newest journal than it may be."""
    newest = max(reaches, key=lambda reach: reach.last)

    def lives(reach: JournalEnd) -> bool:
        return not reach.stopped and newest.last - reach.last <= reach.lag + max(reach.doubt, newest.doubt)

    return min((reach.last for reach in reaches if lives(reach)), default=newest.last)


def observed(t0: int | None, t1: int | None, first: int, end: int) -> Observation:
    """The requested time, as far as the journals reach; without a request all of it. BadInput if nothing is left.

    The state at the end of a journal is taken to last for SILENT_AFTER_US, if that was requested.
    """
    until = end + 1 if t1 is None or t1 > end + terms.SILENT_AFTER_US else t1
    observation = Observation(first if t0 is None else t0, until)
    if t1 is not None and (observation.t0 > end or t1 <= first):
        said = _("the journals have no record of that time: they go from %(begin)s to %(end)s")
        raise terms.BadInput(said % {"begin": terms.moment(first), "end": terms.moment(end)})
    if observation.t0 >= observation.t1:
        begin, ends = terms.moment(observation.t0), terms.moment(observation.t1)
        said = _("the observation is empty: it begins at %(begin)s and ends at %(end)s")
        raise terms.BadInput(said % {"begin": begin, "end": ends})
    return observation


def too_short(asked: int | None, observation: Observation) -> list[str]:
    """A sentence if the journals end before the requested end."""
    if asked is None or asked <= observation.t1:
        return []
    shown = {"end": terms.moment(observation.t1), "asked": terms.moment(asked)}
    return [_("The journals end at %(end)s, before the requested %(asked)s.") % shown]
