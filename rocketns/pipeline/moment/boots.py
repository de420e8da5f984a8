"""Which records of a boot are missing, which of its snapshots are whole, and when its state is known.

Spark has the same rules for whole runs of the audit; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from rocketns.journal.lines import Record


class Mark(NamedTuple):
    """The number and the time (epoch us) of any record, and the day of its file."""

    seq: int
    ts: int
    dt: str


class Hole(NamedTuple):
    """The records before ``until`` are missing; ``t`` is the time of the last one before them, us."""

    after: int
    until: int
    t: int


class Snapshot(NamedTuple):
    """A whole snapshot by its first and last number, and when it ended, us."""

    snap: int
    end_seq: int
    end_ts: int


class Known(NamedTuple):
    """A boot. Its state is known in [t1, t2), us; never if ``t1`` is None. ``stopped``: t2 is that of a stop record, of
    an observer the last look before it. ``observed``: it is an observer's, whose start and stop say nothing about the
    name server; ``no_topics``: and could not know its topics. ``snapshots``: those at which state begins. ``records``:
    those that show state."""

    ns: str
    boot: int
    t1: int | None
    t2: int
    stopped: bool
    holes: Sequence[Hole]
    snapshots: Sequence[Snapshot]
    records: Sequence[Record]
    observed: bool = False
    no_topics: bool = False


def known(ns: str, boot: int, marks: Sequence[Mark], records: Sequence[Record]) -> Known:
    """A boot from the marks of all its records and those records that show state, both in the order of ``seq``."""
    starts = [record for record in records if record["ev"] == "start"]
    stop = max((_last_look(record) for record in records if record["ev"] == "stop"), default=None)
    observed = any(record.get("observed") or record.get("since") is not None for record in records)
    no_topics = any(record.get("no_topics") for record in records)
    with_routes = any(record.get("restored") or record.get("observed") for record in starts)
    begun = (marks[0].seq == 1 or bool(starts)) and not with_routes
    holes = [Hole(a.seq, b.seq, a.ts) for a, b in pairwise(marks) if b.seq > a.seq + 1]
    snapshots = _needed(_whole(records, holes), [*([] if begun else [0]), *[hole.until for hole in holes]])
    t1: int | None
    if begun:
        t1 = min((r["ts"] for r in (starts or ({"ts": mark.ts} for mark in marks))), default=None)
    else:
        t1 = min((snapshot.end_ts for snapshot in snapshots), default=None)
    t2 = max(mark.ts for mark in marks) if stop is None else stop
    known_from = t1 if t1 is not None and t1 < t2 else None
    return Known(ns, boot, known_from, t2, stop is not None, holes, snapshots, records, observed, no_topics)


def _last_look(stop: Record) -> int:
    since = stop.get("since")
    return int(stop["ts"] if since is None else since)


def _whole(records: Iterable[Record], holes: Sequence[Hole]) -> list[Snapshot]:
    """The snapshots with their first part and their end, and no hole between."""
    begun: set[int] = set()
    whole = []
    for record in records:
        if record["ev"] != "snap" or record.get("snap") is None:
            continue
        snap = record["snap"]
        if record.get("part") == 0:
            begun.add(snap)
        torn = any(hole.after < record["seq"] and hole.until > snap for hole in holes)
        if record.get("end") and snap in begun and not torn:
            whole.append(Snapshot(snap, record["seq"], record["ts"]))
    return sorted(whole)


def _needed(snapshots: Sequence[Snapshot], begins: Iterable[int]) -> list[Snapshot]:
    """For each of these sequence numbers, the first snapshot that begins at it or later."""
    first = {next((one for one in snapshots if one.snap >= begin), None) for begin in begins}
    return sorted(one for one in first if one is not None)
