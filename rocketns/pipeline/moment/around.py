"""The records around a moment: only as many as show the state of every name server.

A journal has a whole snapshot in each hour, so state is known from the records of the last hours. They are read from
the events that an earlier run ingested, or else from the journal files that may hold them. If a name server has no
whole snapshot there, the records of the day before are read too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from pyspark.sql import SparkSession

from rocketns.journal.reading.lines import Record
from rocketns.journal.reading.looks import FAR_US
from rocketns.pipeline.contract.defaults import SILENT_AFTER_US
from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.contract.times import DAY_US, HOUR_US, exact_text
from rocketns.pipeline.jobs.history.intervals import FOUND_GONE
from rocketns.pipeline.moment.reading import of_ingested, of_journal
from rocketns.pipeline.moment.recorded import Recorded
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.paths import folder_at

# Two hours hold a whole snapshot. Clocks may be off by FAR_US.
SHORT_US = 2 * HOUR_US + FAR_US
LONG_US = DAY_US + 2 * HOUR_US
AHEAD_US = FAR_US + SILENT_AFTER_US

Read = Callable[[int, int], Iterator[Record]]


class Around(NamedTuple):
    """``recorded``: the records around the moment, in order. ``source``: where they came from, in words."""

    recorded: Recorded
    source: str


def around(spark: SparkSession | None, journal: str | None, ingested: str | None, topic: str, at: int) -> Around:
    """BadInput if neither has a record of the time up to ``at`` (epoch us).

    ``ingested``: the folder of the events that an earlier run ingested. It counts only if it reaches beyond ``at``:
    otherwise newer files of the journal may tell more. ``spark`` None: all is on this machine.
    """
    if ingested is not None and folder_at(spark, ingested).exists():
        recorded = _enough(lambda t0, t1: of_ingested(spark, ingested, t0, t1), topic, at)
        if recorded.marks and (journal is None or recorded.last > at):
            return Around(recorded, ingested)
    if journal is None:
        said = _("%(folder)s holds no record of the time around %(at)s: name the --journal too")
        raise BadInput(said % {"folder": ingested, "at": exact_text(at)})
    recorded = _enough(lambda t0, t1: of_journal(spark, journal, t0, t1), topic, at)
    if not recorded.marks:
        said = _("%(folder)s has no record of the time around %(at)s")
        raise BadInput(said % {"folder": journal, "at": exact_text(at)})
    return Around(recorded, journal)


def _enough(read: Read, topic: str, at: int) -> Recorded:
    """The records of the last hours, and those of a day if these do not show the state of every name server."""
    recorded = Recorded()
    recorded.add(read(at - SHORT_US, at + AHEAD_US), topic, at - SHORT_US)
    if recorded.marks and _without_beginning(recorded, at):
        recorded.add(read(at - LONG_US, at - SHORT_US), topic, at - SHORT_US)
    return recorded.sorted()


def _without_beginning(recorded: Recorded, at: int) -> bool:
    """Whether there is a name server that was up, and neither its start nor a whole snapshot is among its records."""
    return any(
        any(mark.ts <= at - FAR_US for mark in marks.values())
        and not any(
            record["ts"] <= at - FAR_US and (record["ev"] == "start" or (record["ev"] == "snap" and record.get("end")))
            for record in recorded.records.get(boot, ())
        )
        for boot, marks in recorded.marks.items()
    )


class Cause(NamedTuple):
    """The record that set the queues. ``since``: it was observed, and came after this moment, us."""

    ts: int
    boot: int
    seq: int
    cause: str
    since: int | None = None


def causes(recorded: Recorded, at: int) -> dict[tuple[str, str], Cause]:
    """By name server and broker; a snapshot only if there is no other record."""
    last: dict[tuple[str, str], Cause] = {}
    for (ns, boot), records in sorted(recorded.records.items()):
        for record in records:
            if record["ts"] <= at and record.get("topics") and record["ev"] in ("tput", "tdel", "snap"):
                found = Cause(record["ts"], boot, record["seq"], _cause(record), record.get("since"))
                known = last.get((ns, record["broker"]))
                if known is None or known.cause == FOUND_GONE or found.cause != FOUND_GONE:
                    last[ns, record["broker"]] = found
    return last


def maybe_already(recorded: Recorded, at: int) -> dict[tuple[str, str], Cause]:
    """By name server and broker, the first observed change that may have come by ``at``, and was seen later."""
    found: dict[tuple[str, str], Cause] = {}
    for (ns, boot), records in recorded.records.items():
        for record in records:
            since = record.get("since")
            if since is not None and since < at < record["ts"] and record.get("topics"):
                seen = Cause(record["ts"], boot, record["seq"], _cause(record), since)
                found[ns, record["broker"]] = min(found.get((ns, record["broker"]), seen), seen)
    return found


def _cause(record: Record) -> str:
    return FOUND_GONE if record["ev"] == "snap" else str(record.get("cause") or "register")


def lost_before(recorded: Recorded, at: int) -> dict[str, int]:
    """By name server, since when (us) records of the running boot are missing that may have changed a route as of
    ``at``. A whole snapshot after a hole restores the state."""
    last = {boot.ns: boot for boot in recorded.until(at).boots()}  # the last boot is the last one of its name server
    since: dict[str, int] = {}
    for ns, boot in last.items():
        open_holes = [h.t for h in boot.holes if not any(one.snap >= h.until for one in boot.snapshots)]
        if open_holes:
            since[ns] = min(open_holes)
    return since
