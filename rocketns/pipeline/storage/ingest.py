"""From the journals' files to Parquet below --out, by day and name server: each file and each record once.

New files are written to a new folder. It counts from the moment on at which a manifest names it, so a crash leaves
nothing half done. Files that are still being written are passed over; ``events.stored`` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, groupby
from types import MappingProxyType
from typing import NamedTuple

from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import frame_of
from rocketns.pipeline.contract.terms import BadInput
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.folders import folder_at
from rocketns.pipeline.storage.manifest import (
    IngestedFile,
    JournalFile,
    Listing,
    Manifest,
    ManifestState,
    ParquetPart,
    journal_files,
)
from rocketns.pipeline.storage.staging import (
    BOOTS,
    BootKey,
    Contents,
    FileKey,
    Staging,
    read_parts,
    repeated_boots,
    without_repeats,
)

TRIES_MAX = 5
# Folders of a day and name server that are stored at once.
STEP_FOLDERS = 48


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
        self._state = ManifestState()

    def run(self, owner: Sequence[str]) -> Ingested:
        self._state = self._manifest.state()
        _check_owner(self._state, owner, self._manifest.folder.root)
        known = self._known()
        new = [file for file in self._listing.closed if (file.path, file.size, file.changed) not in known]
        named = replace(self._state, journal=owner, foreign=self._listing.foreign)
        if named != self._state:
            self._publish(named)
        folders = [list(same) for _, same in groupby(new, lambda file: (file.dt, file.ns))]
        steps = (chain(*folders[begin : begin + STEP_FOLDERS]) for begin in range(0, len(folders), STEP_FOLDERS))
        reads = [read for step in steps for read in self._store(list(step))]
        copies = sum(bool(read.records and not read.added) for read in reads)
        repeated = sum(read.records - read.added for read in reads)
        size = sum(file.size for file in new)
        return Ingested(len(new), size, len(self._listing.closed) - len(new), copies, repeated, self._listing.foreign)

    def _known(self) -> set[tuple[str, int, int]]:
        days = {file.dt for file in self._listing.closed}
        return {(read.path, read.size, read.changed) for read in self._manifest.reads(self._state, days)}

    def _store(self, files: Sequence[JournalFile]) -> list[IngestedFile]:
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
        return reads

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
            raise TakenByAnother
        self._state = after


def _check_owner(state: ManifestState, owner: Sequence[str], folder: str) -> None:
    if state.journal and list(state.journal) != list(owner):
        shown = {"folder": folder, "other": ", ".join(state.journal), "journal": ", ".join(owner)}
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
