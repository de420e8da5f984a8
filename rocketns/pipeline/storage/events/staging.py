"""Journal files → Parquet folders that no manifest names yet, and what each file holds.

One record for each (ns, boot, seq), whatever files it came in.

Files whose ranges of sequence numbers do not overlap cannot hold a record twice, so only the others are compared.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Any, NamedTuple
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BooleanType, IntegerType, StringType, StructType

from rocketns.pipeline.contract.frames import columns, frame_of
from rocketns.pipeline.contract.schema import EVENTS
from rocketns.pipeline.storage.events.arrow import is_plain, take
from rocketns.pipeline.storage.events.lines import judged, records
from rocketns.pipeline.storage.events.listing import JournalFile
from rocketns.pipeline.storage.events.manifest import DATA, Manifest, Part, Range, Read, State, new_id
from rocketns.pipeline.storage.files.folder import Folder, is_on_this_machine
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.session import runs_here

PARTITIONS = ("dt", "ns")
BATCH = "batch"
# What a row is stored with: whether its line is corrupt, the name of its file, and the number of the file's base.
STORED = StructType([*EVENTS.fields]).add("corrupt", BooleanType()).add("segment", StringType()).add(
    "base", IntegerType()
)  # fmt: skip
FILE = ("base", *PARTITIONS, "segment")
# With one writer for each folder that a task writes to, Spark need not sort.
WRITERS_MAX = 64
# Files of a journal are small, and opening one costs about as much as reading so many bytes.
OPEN_COST = 64 * 1024
# On one machine, asking for the status of a file is faster than a task that does.
LISTED_BY_DRIVER_MAX = 1_000_000
# Nearly all values of these columns are distinct, so a dictionary does not help.
PLAIN = {f"parquet.enable.dictionary#{name}": "false" for name in ("seq", "ts", "gap")}

Place = tuple[int, str, str, str]  # FILE
PLACES = columns("base:int dt:string ns:string segment:string")


class Held(NamedTuple):
    """What a file holds. ``repeats``: it holds a record more than once."""

    lines: int
    corrupt: int
    records: int
    first: int | None
    last: int | None
    ranges: Sequence[Range]
    repeats: bool


@contextmanager
def settings(spark: SparkSession, chosen: Mapping[str, str]) -> Iterator[None]:
    """These settings of Spark for a while."""
    before = {name: spark.conf.get(name, None) for name in chosen}
    try:
        for name, value in chosen.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def read_parts(spark: SparkSession, folder: Folder, paths: Iterable[str]) -> DataFrame:
    """The rows of STORED in these folders below the events' folder."""
    wanted = [folder.path(path) for path in paths]
    if not wanted:
        return frame_of(spark, [], STORED)
    with settings(spark, _listing(folder)):
        read = spark.read.schema(STORED).option("basePath", folder.path(DATA)).parquet(*wanted)
    return read.select(*STORED.names)


def _listing(folder: Folder) -> dict[str, str]:
    """How Spark asks for the status of many files."""
    if folder.here is None:
        return {}
    return {"spark.sql.sources.parallelPartitionDiscovery.threshold": str(LISTED_BY_DRIVER_MAX)}


class Staging:
    """Writes folders below ``data/`` of the events' folder. ``bases``: those that the files are in, by number."""

    def __init__(self, spark: SparkSession, folder: Folder, bases: Sequence[str]) -> None:
        self._spark, self._folder, self.bases = spark, folder, bases
        self._settings = _listing(folder) | {
            "spark.sql.maxConcurrentOutputFileWriters": str(WRITERS_MAX),
            "spark.sql.files.openCostInBytes": str(OPEN_COST),
        }

    def place(self, file: JournalFile) -> Place:
        return self.bases.index(file.base), file.dt, file.ns, file.segment

    def staged(self, files: Sequence[JournalFile]) -> tuple[dict[Place, Held], list[Part]]:
        """Write all lines of the files to new folders; what each file holds, and the folders."""
        held, parts = self._taken(files)
        left = [file for file in files if self.place(file) not in held]
        if left:
            with settings(self._spark, self._settings):
                folder = self.write(judged(self._lines(left), "segment", "base"))
            by_spark = self.held(folder)
            held |= by_spark
            parts += self.parts(folder, by_spark)
        return held, parts

    def _taken(self, files: Sequence[JournalFile]) -> tuple[dict[Place, Held], list[Part]]:
        """The same for files that need no Spark."""
        folder = _new_folder()
        if self._folder.here is None or not runs_here(self._spark):
            return {}, []
        here = [file for file in files if is_on_this_machine(file.path)]
        taken = take(here, self.bases, self._folder.local_path(folder))
        held = {self.place(one.file): _held(one.boots, one.repeats) for one in taken}
        return held, self.parts(folder, held) if held else []

    def write(self, records: DataFrame, tasks: int | None = None) -> str:
        """Write rows of STORED to a new folder, by so many tasks; returns it."""
        folder = _new_folder()
        with settings(self._spark, self._settings):
            fewer = records if tasks is None else records.coalesce(tasks)
            fewer.write.partitionBy(*PARTITIONS).options(**PLAIN).parquet(self._folder.path(folder))
        return folder

    def held(self, folder: str) -> dict[Place, Held]:
        """What each file holds whose rows are in the folder."""
        records = read_parts(self._spark, self._folder, [folder])
        found: dict[Place, list[Any]] = {}
        for row in _by_file(records).collect():
            found.setdefault(tuple(row[name] for name in FILE), []).append(row)
        odd = [place for place, rows in found.items() if not all(map(is_plain, rows))]
        repeating = self._repeating(records, odd) if odd else set()
        return {place: _held(rows, place in repeating) for place, rows in found.items()}

    def _repeating(self, records: DataFrame, files: Sequence[Place]) -> set[Place]:
        """The files that hold a record more than once."""
        these = F.broadcast(frame_of(self._spark, files, PLACES))
        counts = records.where("not corrupt").join(these, [*FILE], "left_semi").groupBy(*FILE, "boot", "seq").count()
        return {tuple(row) for row in counts.where("count > 1").select(*FILE).distinct().collect()}

    def parts(self, folder: str, held: Mapping[Place, Held]) -> list[Part]:
        """The folders of each day and name server in a new folder."""
        sizes: dict[tuple[str, str], list[int]] = {}
        for path, size, _ in folder_at(self._spark, self._folder.path(folder)).files():
            *_, dt, ns, name = path.split("/")
            if name.endswith(".parquet"):
                sizes.setdefault((dt, ns), []).append(size)
        times = _times(held)
        return [
            Part(f"{folder}/{dt}/{ns}", *names, len(each), sum(each), *times.get(names, (None, None)))
            for (dt, ns), each in sorted(sizes.items())
            for names in [(unquote(dt[3:]), unquote(ns[3:]))]
        ]

    def _lines(self, files: Sequence[JournalFile]) -> DataFrame:
        """The frame of ``records`` with segment and base. Spark takes dt and ns from folders below one base at a
        time."""
        segment = F.substring_index("_metadata.file_name", ".jsonl", 1).alias("segment")
        frames = []
        for number, base in enumerate(self.bases):
            paths = [file.path for file in files if file.base == base]
            if paths:
                read = records(self._spark.read, base).json(paths)
                frames.append(read.select("*", segment, F.lit(number).alias("base")))
        return reduce(DataFrame.unionByName, frames)


def _new_folder() -> str:
    return f"{DATA}/{BATCH}={new_id()}"


def _by_file(records: DataFrame) -> DataFrame:
    return records.groupBy(*FILE, "boot").agg(
        F.count("*").alias("lines"), F.count_if("corrupt").alias("corrupt"), F.min("seq").alias("low"),
        F.max("seq").alias("high"), F.sum("seq").alias("sum"), F.min("ts").alias("first"), F.max("ts").alias("last"),
    )  # fmt: skip


def _held(rows: Sequence[Any], repeats: bool) -> Held:
    """``rows``: those of ``_by_file`` for one file; the row of its corrupt lines has no boot."""
    of_boots = [row for row in rows if row["boot"] is not None]
    return Held(
        sum(row["lines"] for row in rows),
        sum(row["corrupt"] for row in rows),
        sum(row["lines"] for row in of_boots),
        min((row["first"] for row in of_boots), default=None),
        max((row["last"] for row in of_boots), default=None),
        [Range(row["boot"], row["low"], row["high"]) for row in of_boots],
        repeats,
    )


def _times(held: Mapping[Place, Held]) -> dict[tuple[str, str], tuple[int, int]]:
    """First and last record of each day and name server."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for (_, dt, ns, _), one in held.items():
        if one.first is not None and one.last is not None:
            first, last = found.get((dt, ns), (one.first, one.last))
            found[dt, ns] = min(first, one.first), max(last, one.last)
    return found


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
