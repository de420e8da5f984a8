"""From the journals' files to Parquet below --out, by day and name server: each file and each record once.

New files are written to a new folder. It counts from the moment on at which a manifest names it, so a crash leaves
nothing half done. Files that are still being written are passed over; ``events.openfiles`` reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

from pyspark.sql import SparkSession

from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.contract.frames import frame_of
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.events.listing import JournalFile, Listing, journal_files
from rocketns.pipeline.storage.events.manifest import Manifest, Part, Read, State, new_id
from rocketns.pipeline.storage.events.staging import (
    PARTITIONS,
    PLACES,
    Held,
    Overlap,
    Place,
    Staging,
    overlap,
    read_parts,
    without_repeats,
)
from rocketns.pipeline.storage.paths import folder_at

TRIES_MAX = 5
# A step of an ingest: at least so many bytes if there are as many, at most so many folders of a day and name server.
STEP_BYTES, STEP_BYTES_PER_TASK, STEP_FOLDERS = 512 << 20, 128 << 20, 48
# Folders of a day and name server with more and smaller files than these are written again as few files.
SMALL_FILES_MAX, SMALL_BYTES, LARGE_BYTES = 8, 32 << 20, 128 << 20


class Ingested(NamedTuple):
    """The result of an ingest: files and bytes read, and files that had been read before. ``copies``: those of the
    files read that hold nothing new; ``repeated``: records that were there already; ``foreign``: files of each other
    version of the journal, which were not read."""

    files: int
    size: int
    skipped: int
    copies: int = 0
    repeated: int = 0
    foreign: Mapping[str, int] = MappingProxyType({})


class TakenByAnother(Exception):
    """Another process published a manifest meanwhile."""


def ingest(spark: SparkSession, journals: str | Sequence[str], out: str) -> Ingested:
    """Read all finished files of one or more journal folders, on any path that Spark reads, into the folder ``out``.

    BadInput: no such folder, none with a journal, a journal of another version, or ``out`` belongs to another journal.
    """
    roots = [journals] if isinstance(journals, str) else journals
    owner = sorted({folder_at(spark, root).absolute.removesuffix("/v=1") for root in roots})
    listing = journal_files(spark, roots)
    for _attempt in range(TRIES_MAX):
        try:
            return _Ingest(spark, Manifest(spark, out), listing).run(owner)
        except TakenByAnother:
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
        self._state = State()

    def run(self, owner: Sequence[str]) -> Ingested:
        self._state = self._manifest.state()
        _check_owner(self._state, owner, self._manifest.folder.root)
        known = self._known()
        new = [file for file in self._listing.closed if (file.path, file.size, file.changed) not in known]
        named = replace(self._state, journal=owner, foreign=self._listing.foreign)
        if named != self._state:
            self._publish(named)
        reads = [read for step in self._steps(new) for read in self._store(step)]
        self._compact()
        copies = sum(bool(read.records and not read.added) for read in reads)
        repeated = sum(read.records - read.added for read in reads)
        size = sum(file.size for file in new)
        return Ingested(len(new), size, len(self._listing.closed) - len(new), copies, repeated, self._listing.foreign)

    def _known(self) -> set[tuple[str, int, int]]:
        days = {file.dt for file in self._listing.closed}
        return {(read.path, read.size, read.changed) for read in self._manifest.reads(self._state, days)}

    def _steps(self, files: Sequence[JournalFile]) -> Iterator[list[JournalFile]]:
        """Whole days of name servers, so that few tasks write to each folder."""
        enough = self._enough(sum(file.size for file in files))
        step: list[JournalFile] = []
        folders = size = 0
        for _day, same in groupby(files, lambda file: (file.dt, file.ns)):
            step += (more := list(same))
            folders, size = folders + 1, size + sum(file.size for file in more)
            if folders >= STEP_FOLDERS or size >= enough:
                yield step
                step, folders, size = [], 0, 0
        if step:
            yield step

    def _enough(self, size: int) -> int:
        """The bytes of one step, given the bytes of all. Spark is asked only if the answer matters."""
        if size <= STEP_BYTES:
            return STEP_BYTES
        return max(STEP_BYTES, STEP_BYTES_PER_TASK * self._spark.sparkContext.defaultParallelism)

    def _store(self, files: Sequence[JournalFile]) -> list[Read]:
        """Stage and publish them."""
        by_place = {self._staging.place(file): file for file in files}
        held, parts = self._staging.staged(files)
        repeated = overlap(held, self._manifest, self._state)
        added = {place: one.records for place, one in held.items()}
        if repeated.files:
            parts, once = self._once(parts, repeated)
            added |= {place: once[place].records if place in once else 0 for place in repeated.files}
        reads = [_read(file, held.get(place), added.get(place, 0)) for place, file in by_place.items()]
        after = self._manifest.with_reads(self._state, reads)
        self._publish(replace(after, parts=[*after.parts, *parts]))
        return reads

    def _once(self, parts: Sequence[Part], repeated: Overlap) -> tuple[list[Part], dict[Place, Held]]:
        """Write again the new parts that may repeat a record. Returns the parts, and what their files hold now."""
        touched = {(dt, ns) for _, dt, ns, _ in repeated.files}
        again = [part.path for part in parts if (part.dt, part.ns) in touched]
        before = [part.path for part in self._state.parts if (part.dt, part.ns) in repeated.days]
        folder = self._manifest.folder
        records = without_repeats(
            read_parts(self._spark, folder, again),
            read_parts(self._spark, folder, before) if before else None,
            frame_of(self._spark, sorted(repeated.files), PLACES),
        )
        written = self._staging.write(records)
        once = self._staging.held(written)
        kept = [part for part in parts if part.path not in again]
        return [*kept, *self._staging.parts(written, once)], once

    def _compact(self) -> None:
        """Write folders with many small files again. Folders that become a file each take one query for all of them:
        a query for each would use one core of a cluster, for hours where the journal has thousands of folders."""
        by_folder: dict[tuple[str, str], list[Part]] = {}
        for part in self._state.parts:
            by_folder.setdefault((part.dt, part.ns), []).append(part)
        many = [same for same in by_folder.values() if _are_small(same)]
        single = [same for same in many if _files_of(same) == 1]
        for begin in range(0, len(single), STEP_FOLDERS):
            self._merge(single[begin : begin + STEP_FOLDERS])
        for same in many:
            if _files_of(same) > 1:
                self._merge([same])

    def _merge(self, folders: Sequence[Sequence[Part]]) -> None:
        """``folders``: the parts of each."""
        paths = [part.path for same in folders for part in same]
        records = read_parts(self._spark, self._manifest.folder, paths)
        if len(folders) > 1:
            written = self._staging.write(records.repartition(len(folders), *PARTITIONS))
        else:
            written = self._staging.write(records, _files_of(folders[0]))
        times = {(same[0].dt, same[0].ns): _times_of(same) for same in folders}
        new = self._staging.parts(written, {})
        merged = [part._replace(first=first, last=last) for part in new for first, last in [times[part.dt, part.ns]]]
        kept = [part for part in self._state.parts if part.path not in {*paths}]
        unused = {**self._state.unused, **dict.fromkeys(paths, new_id())}
        self._publish(replace(self._state, parts=[*kept, *merged], unused=unused))

    def _publish(self, state: State) -> None:
        after = self._manifest.publish(state)
        if after is None:
            raise TakenByAnother
        self._state = after


def _are_small(same: Sequence[Part]) -> bool:
    files, size = sum(part.files for part in same), sum(part.size for part in same)
    return files > SMALL_FILES_MAX and size < files * SMALL_BYTES


def _files_of(same: Sequence[Part]) -> int:
    """How many files the parts of a folder become."""
    return max(1, round(sum(part.size for part in same) / LARGE_BYTES))


def _times_of(same: Sequence[Part]) -> tuple[int | None, int | None]:
    first = min((part.first for part in same if part.first is not None), default=None)
    return first, max((part.last for part in same if part.last is not None), default=None)


def _check_owner(state: State, owner: Sequence[str], folder: str) -> None:
    if state.journal and list(state.journal) != list(owner):
        shown = {"folder": folder, "other": ", ".join(state.journal), "journal": ", ".join(owner)}
        said = _(
            "%(folder)s belongs to the journal %(other)s, and --journal is %(journal)s. Name another --out for this "
            "journal, or delete %(folder)s to forget the other one."
        )
        raise BadInput(said % shown)


def _read(file: JournalFile, held: Held | None, added: int) -> Read:
    """``held`` is None for a file without a line."""
    one = held or Held(0, 0, 0, None, None, [], False)
    return Read(
        file.path, file.size, file.changed, file.dt, file.ns, file.segment, one.lines, one.corrupt, one.records, added,
        one.first, one.last, one.ranges,
    )  # fmt: skip
