"""One record for each (ns, boot, seq), whatever files it came in.

Files whose ranges of sequence numbers do not overlap cannot hold a record twice, so only the others are compared.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate, groupby
from operator import itemgetter
from typing import NamedTuple

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.storage.events.manifest import Manifest, Range, Read, State
from rocketns.pipeline.storage.events.staging import FILE, Held, Place

KEY = ("ns", "boot", "seq")


class Overlap(NamedTuple):
    """``files``: new files that may hold a record twice; ``days``: (dt, ns) of stored files that overlap with them."""

    files: frozenset[Place]
    days: frozenset[tuple[str, str]]


def overlap(held: Mapping[Place, Held], manifest: Manifest, state: State) -> Overlap:
    """Compares the new files with one another, and with what is stored."""
    stored = _stored(held, manifest, state)
    days = {(read.dt, read.ns) for read, files in stored if files}
    files = {place for _, places in stored for place in places}
    files |= {place for place, one in held.items() if one.repeats}
    return Overlap(frozenset(files | _among(held)), frozenset(days))


def _stored(held: Mapping[Place, Held], manifest: Manifest, state: State) -> list[tuple[Read, set[Place]]]:
    """Stored files, each with the new files that it overlaps. Files of a day are read only if the day overlaps."""
    by_boot = _by_boot(held)
    days = [
        dt
        for dt, day in state.days.items()
        if any(_meets(by_boot.get((ns, r.boot)), r) for ns, ranges in day.ranges.items() for r in ranges)
    ]
    return [
        (read, {place for r in read.ranges for place in _meets(by_boot.get((read.ns, r.boot)), r)})
        for read in manifest.reads(state, days)
    ]


class Sorted(NamedTuple):
    """Ranges of one boot: ``rows``: low, high, file, by low; ``reached``: the highest number up to each row."""

    rows: Sequence[tuple[int, int, Place]]
    reached: Sequence[int]


def _by_boot(held: Mapping[Place, Held]) -> dict[tuple[str, int], Sorted]:
    rows = sorted((place[2], r.boot, r.low, r.high, place) for place, one in held.items() for r in one.ranges)
    found = {}
    for key, same in groupby(rows, itemgetter(0, 1)):
        files = [row[2:] for row in same]
        found[key] = Sorted(files, list(accumulate((high for _, high, _ in files), max)))
    return found


def _meets(files: Sorted | None, wanted: Range) -> list[Place]:
    """The files whose ranges overlap with this one."""
    if files is None:
        return []
    found = []
    for at in range(bisect_right(files.rows, wanted.high, key=itemgetter(0)) - 1, -1, -1):
        if files.reached[at] < wanted.low:
            break
        if files.rows[at][1] >= wanted.low:
            found.append(files.rows[at][2])
    return found


def _among(held: Mapping[Place, Held]) -> set[Place]:
    """New files that overlap with another new file."""
    overlapping = set()
    for files in _by_boot(held).values():
        reached, furthest = -1, None
        for low, high, place in files.rows:
            if low <= reached and furthest is not None:
                overlapping |= {place, furthest}
            if high > reached:
                reached, furthest = high, place
    return overlapping


def without_repeats(staged: DataFrame, stored: DataFrame | None, suspects: DataFrame) -> DataFrame:
    """The staged rows; of the files in ``suspects`` (FILE) only records that are not stored. The first file in order
    keeps a record."""
    marked = staged.join(F.broadcast(suspects.withColumn("suspect", F.lit(True))), [*FILE], "left")
    may_repeat = F.coalesce("suspect", F.lit(False)) & ~F.col("corrupt")
    first = Window.partitionBy(*KEY).orderBy("dt", "segment", "base")
    once = marked.where(may_repeat).withColumn("copy", F.row_number().over(first)).where("copy = 1")
    if stored is not None:
        once = once.join(stored.where("not corrupt").select(*KEY), [*KEY], "left_anti")
    return marked.where(~may_repeat).select(*staged.columns).unionByName(once.select(*staged.columns))
