"""From the journals' files to Parquet below --out, by day and name server: each file and each record once.

New files are written to a new folder. It counts from the moment on at which a manifest names it, so a crash leaves
nothing half done. Files that are still being written are passed over; ``stored`` reads them.

One record for each (ns, boot, seq), whatever files it came in.

Boots whose files have ranges of sequence numbers that do not overlap have no record twice, so only others are compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import reduce
from itertools import chain, groupby, pairwise
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BooleanType, IntegerType, StringType, StructType

from rocketns.pipeline.contract.frames import columns, frame_of
from rocketns.pipeline.contract.schema import EVENTS
from rocketns.pipeline.contract.terms import BadInput
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.arrow import FOLDERS, LINE, REQUIRED, convert, is_plain
from rocketns.pipeline.storage.folders import Folder, folder_at, is_on_this_machine
from rocketns.pipeline.storage.manifest import (
    DATA,
    IngestedFile,
    JournalFile,
    Listing,
    Manifest,
    ManifestState,
    ParquetPart,
    Range,
    journal_files,
    new_id,
)
from rocketns.pipeline.storage.session import runs_here

TRIES_MAX = 5
# Folders of a day and name server that are stored at once.
STEP_FOLDERS = 48


class Ingested(NamedTuple):
    """The result of an ingest: files and bytes read, and files that had been read before. ``foreign``: files of each
    other version of the journal, which were not read."""

    files: int
    size: int
    skipped: int
    foreign: Mapping[str, int] = MappingProxyType({})


class UsedByAnother(Exception):
    """Another process published a manifest meanwhile."""


def ingest(spark: SparkSession, journal: str, out: str) -> Ingested:
    """Read all finished files of a journal, on any path that Spark reads, into the folder ``out``.

    BadInput: no such folder, none with a journal, a journal of another version, or ``out`` belongs to another journal.
    """
    owner = folder_at(spark, journal).absolute.removesuffix("/v=1")
    listing = journal_files(spark, journal)
    for _attempt in range(TRIES_MAX):
        try:
            return _Ingest(spark, Manifest(spark, out), listing).run(owner)
        except UsedByAnother:
            continue
    raise BadInput(
        _("other processes write to %(out)s all the time: wait until they have finished, then start again")
        % {"out": out}
    )


class _Ingest:
    """One try."""

    def __init__(self, spark: SparkSession, manifest: Manifest, listing: Listing) -> None:
        self._spark, self._manifest, self._listing = spark, manifest, listing
        self._staging = Staging(spark, manifest.folder, sorted({file.base for file in listing.closed}))
        self._state = ManifestState()

    def run(self, owner: str) -> Ingested:
        self._state = self._manifest.state()
        _check_owner(self._state, owner, self._manifest.folder.root)
        known = self._known()
        new = [file for file in self._listing.closed if (file.path, file.size, file.changed) not in known]
        named = replace(self._state, journal=owner, foreign=self._listing.foreign)
        if named != self._state:
            self._publish(named)
        folders = [list(same) for _, same in groupby(new, lambda file: (file.dt, file.ns))]
        steps = (chain(*folders[begin : begin + STEP_FOLDERS]) for begin in range(0, len(folders), STEP_FOLDERS))
        for step in steps:
            self._store(list(step))
        size = sum(file.size for file in new)
        return Ingested(len(new), size, len(self._listing.closed) - len(new), self._listing.foreign)

    def _known(self) -> set[tuple[str, int, int]]:
        days = {file.dt for file in self._listing.closed}
        return {(read.path, read.size, read.changed) for read in self._manifest.reads(self._state, days)}

    def _store(self, files: Sequence[JournalFile]) -> None:
        """Stage and publish them."""
        by_place = {self._staging.place(file): file for file in files}
        contents, parts = self._staging.staged(files)
        added = {place: one.records for place, one in contents.items()}
        if boots := repeated_boots(contents, self._state):
            parts, once = self._once(parts, boots)
            names = {ns for ns, _ in boots}
            added |= {place: once[place].records if place in once else 0 for place in contents if place[2] in names}
        reads = [_read(file, contents.get(place), added.get(place, 0)) for place, file in by_place.items()]
        after = self._manifest.with_reads(self._state, reads)
        self._publish(replace(after, parts=[*after.parts, *parts]))

    def _once(
        self, parts: Sequence[ParquetPart], boots: Set[BootKey]
    ) -> tuple[list[ParquetPart], dict[FileKey, Contents]]:
        """Write again the new parts that may repeat a record. Returns the parts, and what their files hold now."""
        names, days = {ns for ns, _ in boots}, self._state.days
        again = [part.path for part in parts if part.ns in names]
        before = [part.path for part in self._state.parts
                  if any((part.ns, one.boot) in boots for one in days[part.dt].ranges.get(part.ns, ()))]  # fmt: skip
        folder = self._manifest.folder
        records = without_repeats(
            read_parts(self._spark, folder, again),
            read_parts(self._spark, folder, before),
            frame_of(self._spark, sorted(boots), BOOTS),
        )
        written = self._staging.write(records)
        once = self._staging.contents(written)
        kept = [part for part in parts if part.path not in again]
        return [*kept, *self._staging.parts(written, once)], once

    def _publish(self, state: ManifestState) -> None:
        after = self._manifest.publish(state)
        if after is None:
            raise UsedByAnother
        self._state = after


def _check_owner(state: ManifestState, owner: str, folder: str) -> None:
    if state.journal and state.journal != owner:
        shown = {"folder": folder, "other": state.journal, "journal": owner}
        said = _(
            "%(folder)s belongs to the journal %(other)s, and --journal is %(journal)s. Name another --out for this "
            "journal, or delete %(folder)s to forget the other one."
        )
        raise BadInput(said % shown)


def _read(file: JournalFile, contents: Contents | None, added: int) -> IngestedFile:
    """``contents`` is None for a file without a line."""
    one = contents or Contents(0, 0, 0, None, None, [], False)
    return IngestedFile(
        file.path, file.size, file.changed, file.dt, file.ns, file.segment, one.lines, one.corrupt, one.records, added,
        one.first, one.last, one.ranges,
    )  # fmt: skip


PARTITIONS = ("dt", "ns")
BATCH = "batch"
# What a row is stored with: whether its line is corrupt, the name of its file, and the number of the file's base.
STORED = StructType([*EVENTS.fields]).add("corrupt", BooleanType()).add("segment", StringType()).add(
    "base", IntegerType()
)  # fmt: skip
FILE = ("base", *PARTITIONS, "segment")
# Nearly all values of these columns are distinct, so a dictionary does not help.
PLAIN = {f"parquet.enable.dictionary#{name}": "false" for name in ("seq", "ts", "gap")}

_UNREADABLE = "unreadable"
_READ = StructType([*LINE.fields]).add(_UNREADABLE, StringType()).add("dt", StringType()).add("ns", StringType())

FileKey = tuple[int, str, str, str]  # FILE
BootKey = tuple[str, int]  # name server, boot
BOOTS = columns("ns:string boot:long")


class Contents(NamedTuple):
    """What a file holds. ``repeats``: it may hold a record more than once."""

    lines: int
    corrupt: int
    records: int
    first: int | None
    last: int | None
    ranges: Sequence[Range]
    repeats: bool


def read_parts(spark: SparkSession, folder: Folder, paths: Iterable[str]) -> DataFrame:
    """The rows of STORED in these folders below the events' folder."""
    wanted = [folder.path(path) for path in paths]
    if not wanted:
        return frame_of(spark, [], STORED)
    return spark.read.schema(STORED).option("basePath", folder.path(DATA)).parquet(*wanted).select(*STORED.names)


class Staging:
    """Writes folders below ``data/`` of the events' folder. ``bases``: those that the files are in, by number."""

    def __init__(self, spark: SparkSession, folder: Folder, bases: Sequence[str]) -> None:
        self._spark, self._folder, self.bases = spark, folder, bases

    def place(self, file: JournalFile) -> FileKey:
        return self.bases.index(file.base), file.dt, file.ns, file.segment

    def staged(self, files: Sequence[JournalFile]) -> tuple[dict[FileKey, Contents], list[ParquetPart]]:
        """Write all lines of the files to new folders; what each file holds, and the folders."""
        contents, parts = self._taken(files)
        left = [file for file in files if self.place(file) not in contents]
        if left:
            folder = self.write(judged(self._lines(left), "segment", "base"))
            by_spark = self.contents(folder)
            contents |= by_spark
            parts += self.parts(folder, by_spark)
        return contents, parts

    def _taken(self, files: Sequence[JournalFile]) -> tuple[dict[FileKey, Contents], list[ParquetPart]]:
        """The same for files that need no Spark."""
        folder = _new_folder()
        if self._folder.here is None or not runs_here(self._spark):
            return {}, []
        here = [file for file in files if is_on_this_machine(file.path)]
        taken = convert(here, self.bases, self._folder.local_path(folder))
        contents = {self.place(one.file): _contents(one.boots, one.repeats) for one in taken}
        return contents, self.parts(folder, contents) if contents else []

    def write(self, records: DataFrame) -> str:
        """Write rows of STORED to a new folder; returns it."""
        folder = _new_folder()
        records.write.partitionBy(*PARTITIONS).options(**PLAIN).parquet(self._folder.path(folder))
        return folder

    def contents(self, folder: str) -> dict[FileKey, Contents]:
        """What each file holds whose rows are in the folder."""
        records = read_parts(self._spark, self._folder, [folder])
        found: dict[FileKey, list[Any]] = {}
        for row in _by_file(records).collect():
            found.setdefault(tuple(row[name] for name in FILE), []).append(row)
        return {place: _contents(rows, not all(map(is_plain, rows))) for place, rows in found.items()}

    def parts(self, folder: str, contents: Mapping[FileKey, Contents]) -> list[ParquetPart]:
        """The folders of each day and name server in a new folder."""
        times = _times(contents)
        found = [(dt, ns) for dt in self._folder.names(folder) if dt.startswith("dt=")
                 for ns in self._folder.names(f"{folder}/{dt}") if ns.startswith("ns=")]  # fmt: skip
        return [
            ParquetPart(f"{folder}/{dt}/{ns}", *names, *times.get(names, (None, None)))
            for dt, ns in found
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


def records(reader: DataFrameReader, base: str) -> DataFrameReader:
    """A reader of journal files below the folder ``base`` (up to and with ``v=…``), for ``.json(…)``. Pass its frame to
    ``judged``."""
    return (
        reader.schema(_READ)
        .option("basePath", base)
        .option("mode", "PERMISSIVE")
        .option("columnNameOfCorruptRecord", _UNREADABLE)
        .option("lineSep", "\n")
    )


def judged(read: DataFrame, *kept: str) -> DataFrame:
    """EVENTS of every line, with ``corrupt`` and the columns ``kept``.

    A line is corrupt if it is not JSON, has a value of a wrong type, or lacks a required column. It then has only the
    values of its folder.
    """
    lacking = [F.col(name).isNull() for name in REQUIRED]
    corrupt = reduce(Column.__or__, lacking, F.col(_UNREADABLE).isNotNull())
    values = [F.col(name) if name in FOLDERS else F.when(~corrupt, F.col(name)).alias(name) for name in EVENTS.names]
    return read.select(*values, corrupt.alias("corrupt"), *kept)


def _new_folder() -> str:
    return f"{DATA}/{BATCH}={new_id()}"


def _by_file(records: DataFrame) -> DataFrame:
    return records.groupBy(*FILE, "boot").agg(
        F.count("*").alias("lines"), F.count_if("corrupt").alias("corrupt"), F.min("seq").alias("low"),
        F.max("seq").alias("high"), F.sum("seq").alias("sum"), F.min("ts").alias("first"), F.max("ts").alias("last"),
    )  # fmt: skip


def _contents(rows: Sequence[Any], repeats: bool) -> Contents:
    """``rows``: those of ``_by_file`` for one file; the row of its corrupt lines has no boot."""
    of_boots = [row for row in rows if row["boot"] is not None]
    return Contents(
        sum(row["lines"] for row in rows),
        sum(row["corrupt"] for row in rows),
        sum(row["lines"] for row in of_boots),
        min((row["first"] for row in of_boots), default=None),
        max((row["last"] for row in of_boots), default=None),
        [Range(row["boot"], row["low"], row["high"]) for row in of_boots],
        repeats,
    )


def _times(contents: Mapping[FileKey, Contents]) -> dict[tuple[str, str], tuple[int, int]]:
    """First and last record of each day and name server."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for (_base, dt, ns, _segment), one in contents.items():
        if one.first is not None and one.last is not None:
            first, last = found.get((dt, ns), (one.first, one.last))
            found[dt, ns] = min(first, one.first), max(last, one.last)
    return found


KEY = ("ns", "boot", "seq")


def repeated_boots(contents: Mapping[FileKey, Contents], state: ManifestState) -> set[BootKey]:
    """The boots of new files whose ranges overlap, with one another or with what is stored, or that repeat a record."""
    spans: defaultdict[BootKey, list[tuple[int, int]]] = defaultdict(list)
    for (_base, _dt, ns, _segment), one in contents.items():
        for boot, low, high in one.ranges:
            spans[ns, boot] += [(low, high), *([(low, high)] if one.repeats else [])]
    for day in state.days.values():
        for ns, ranges in day.ranges.items():
            for boot, low, high in ranges:
                if (ns, boot) in spans:
                    spans[ns, boot].append((low, high))
    return {boot for boot, of in spans.items() if any(one[1] >= next_[0] for one, next_ in pairwise(sorted(of)))}


def without_repeats(staged: DataFrame, stored: DataFrame, boots: DataFrame) -> DataFrame:
    """The staged rows; of these boots only records that are not stored. The first file in order keeps a record."""
    marked = staged.join(F.broadcast(boots.withColumn("suspect", F.lit(True))), ["ns", "boot"], "left")
    may_repeat = F.coalesce("suspect", F.lit(False))
    first = Window.partitionBy(*KEY).orderBy("dt", "segment", "base")
    once = marked.where(may_repeat).withColumn("copy", F.row_number().over(first)).where("copy = 1")
    once = once.join(stored.where("not corrupt").select(*KEY), [*KEY], "left_anti")
    return marked.where(~may_repeat).select(*staged.columns).unionByName(once.select(*staged.columns))
