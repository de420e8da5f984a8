"""What runs left of closed days, below --out: a folder for each run that closed a day, and which records it rests on.

A folder counts once it has META. It is used only while the closed days hold exactly the records that it was made from:
files that come late change the day's fingerprint, and then an older folder is used, or none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.contract.earlier import FRAMES, Earlier
from rocketns.pipeline.storage.events.manifest import Manifest, Read, new_id
from rocketns.pipeline.storage.events.openfiles import OpenText
from rocketns.pipeline.storage.files.folder import Folder

EARLIER, META = "earlier", "meta.json"
VERSION = 6
# Late files of the last days are common, so a state of each is kept.
KEPT = 8
# For this time another run may be reading a folder, or writing it.
USED = timedelta(days=1)


class Kept(NamedTuple):
    """A folder. ``day``: the last closed day; ``days``: the fingerprint of each closed day; ``t0``: the beginning of
    the observation; ``last``: its latest record; ``stray_from``: the earliest time stamp after the observation that was
    taken for wrong, or null; all epoch us; ``clocks``: plain values of journal.reading.clockdays.Clocks; ``mark``: that
    of contract.earlier.Earlier; ``within``: the option --clocks, us."""

    place: str
    day: str
    days: Mapping[str, str]
    t0: int
    last: int
    stray_from: int | None
    clocks: Any
    mark: str
    within: int | None = None

    def holds(self, t0: int, t1: int) -> bool:
        """Whether a run over [t0, t1) would compute the same of the closed days."""
        return self.t0 == t0 and self.last < t1 and (self.stray_from is None or t1 <= self.stray_from)


def fingerprints(spark: SparkSession, stored: str, texts: Iterable[OpenText], *, since: str = "") -> dict[str, str]:
    """Of the records of each day from ``since`` on that are stored in ``stored`` or in files that are still open, by
    ``dt``."""
    manifest = Manifest(spark, stored)
    state = manifest.state()
    contents = {
        dt: sorted(_content(read) for read in manifest.reads(state, [dt]) if read.added) for dt in state.since(since)
    }
    for file, text in texts:
        contents.setdefault(file.dt, []).append(f"open {file.ns} {file.segment} {len(text)}")
    return {dt: hashlib.sha256("\n".join(lines).encode()).hexdigest() for dt, lines in sorted(contents.items())}


def _content(read: Read) -> str:
    return json.dumps([read.ns, read.segment, read.added, read.first, read.last, read.ranges])


def fitting(out: Folder, days: Mapping[str, str], within: int | None = None) -> list[Kept]:
    """The folders that rest on these days (``fingerprints``) and on this option --clocks (us), the one with most days
    first."""
    of_option = [kept for kept in _all(out) if kept.within == within]
    found = [kept for kept in of_option if kept.days == {dt: days[dt] for dt in days if dt <= kept.day}]
    return sorted(found, key=lambda kept: (kept.day, kept.place), reverse=True)


def read(spark: SparkSession, out: Folder, kept: Kept) -> Earlier:
    """Its frames."""
    frames = {
        name: spark.read.schema(schema).parquet(out.path(f"{kept.place}/{name}")) for name, schema in FRAMES.items()
    }
    return Earlier(kept.day, frames, kept.mark)


def write(out: Folder, frames: Mapping[str, DataFrame], **meta: Any) -> None:
    """A new folder, and remove those that are no longer needed. ``meta``: the fields of Kept without its place."""
    place = f"{EARLIER}/{new_id()}"
    for name, frame in frames.items():
        frame.write.parquet(out.path(f"{place}/{name}"))
    out.write(f"{place}/{META}", json.dumps({"version": VERSION, **meta}).encode())
    _remove_old(out)


def _all(out: Folder) -> list[Kept]:
    found = []
    for name in out.names(EARLIER):
        text = out.part(f"{EARLIER}/{name}/{META}")
        plain = json.loads(text) if text else {}
        if plain.pop("version", None) == VERSION:
            found.append(Kept(f"{EARLIER}/{name}", **plain))
    return found


def _remove_old(out: Folder) -> None:
    """Keep the newest folder of each of the last KEPT days, and those that another run may be using or writing."""
    newest = {kept.day: kept.place for kept in sorted(_all(out), key=lambda kept: kept.place)}
    wanted = {newest[day] for day in sorted(newest)[-KEPT:]}
    used = f"{EARLIER}/{datetime.now(UTC) - USED:%Y%m%dT%H%M%S}"
    for name in out.names(EARLIER):
        place = f"{EARLIER}/{name}"
        if place not in wanted and place < used:
            out.delete(place)
