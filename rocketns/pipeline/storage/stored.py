"""The ingested records by the manifest: EVENTS, files, and how many came more than once.

Files that a name server is still writing, up to their last whole line. They are read for one run and not stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pyarrow.compute as pc  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from rocketns.journal.lines import record_of
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import EVENTS, ReadFile
from rocketns.pipeline.contract.terms import DAY_US
from rocketns.pipeline.storage.arrow import events_of, rows_of
from rocketns.pipeline.storage.folders import folder_at
from rocketns.pipeline.storage.ingest import KEY, read_parts
from rocketns.pipeline.storage.manifest import (
    IngestedFile,
    JournalFile,
    Manifest,
    ManifestState,
    ParquetPart,
    journal_files,
)


class Delivered(NamedTuple):
    """``copies``: files that hold nothing new, because another file has the same; ``repeated``: records that came more
    than once, and count once; ``foreign``: files of each other version of the journal, which were not read."""

    copies: int
    repeated: int
    foreign: Mapping[str, int]


class Stored:
    """What was ingested into the folder ``out``, by the manifest that counts now."""

    def __init__(self, spark: SparkSession, out: str) -> None:
        self._spark, self._manifest = spark, Manifest(spark, out)
        self._state = self._manifest.state()

    def events(self, observation: Observation | None = None, *, days: Sequence[str] | None = None) -> DataFrame:
        """EVENTS of all days or these (``dt``). With an observation only what it needs: from the day before, which has
        hourly snapshots, to its last day."""
        parts = self._state.parts
        if observation is not None:
            parts = [part for part in parts if _is_needed(part, observation)]
        wanted = [part.path for part in parts if days is None or part.dt in days]
        return read_parts(self._spark, self._manifest.folder, wanted).where("not corrupt").select(*EVENTS.names)

    def files(self) -> list[ReadFile]:
        """The files; of several copies of a file the largest."""
        reads = originals(self._manifest.reads(self._state, self._state.days))
        return [ReadFile(read.dt, read.ns, read.segment, read.corrupt, read.first, read.last) for read in reads]

    def records(self) -> int:
        """How many there are."""
        return sum(read.added for read in self._manifest.reads(self._state, self._state.days))

    def delivered(self, since: str = "") -> Delivered:
        """How many records came more than once from the day ``since`` on, and how many files were not read."""
        reads = self._manifest.reads(self._state, (dt for dt in self._state.days if dt >= since))
        repeated = sum(read.records - read.added for read in reads)
        return Delivered(len(reads) - len(originals(reads)), repeated, self._state.foreign)

    def tail(self, texts: Sequence[OpenText]) -> Tail:
        """The texts without what is stored: a file that was closed and ingested meanwhile replaces its text. Take the
        texts before the ingest, so that no file is missed between the two."""
        reads = self._manifest.reads(self._state, {text.file.dt for text in texts})
        sizes = {(read.ns, read.segment): read.size for read in reads}
        left = [text for text in texts if sizes.get((text.file.ns, text.file.segment), 0) < len(text.text)]
        tail = tail_of(self._spark, left)
        if not any(_reaches_back(text, self._state) for text in left):
            return tail
        stored = self.events().select(*KEY)
        return tail._replace(events=tail.events.join(stored, [*KEY], "left_anti").select(*EVENTS.names))


def originals(reads: Iterable[IngestedFile]) -> list[IngestedFile]:
    """Without copies: smaller files of the same name server and name, and files that added no record."""
    largest: dict[tuple[str, str], IngestedFile] = {}
    for read in reads:
        known = largest.get((read.ns, read.segment))
        if known is None or (known.size, known.added) < (read.size, read.added):
            largest[read.ns, read.segment] = read
    return [read for read in largest.values() if read.added or not read.records]


def _is_needed(part: ParquetPart, observation: Observation) -> bool:
    begin = observation.t0 - DAY_US
    begin -= begin % DAY_US
    return part.first is not None and part.last is not None and begin <= part.last and part.first <= observation.t1


# What one open file may hold; of a longer one only the beginning is read. It is the default size of a file.
OPEN_BYTES_MAX = 64 * 1024 * 1024


class Tail(NamedTuple):
    """EVENTS of files that are still being written, and these files."""

    events: DataFrame
    files: Sequence[ReadFile]


class OpenText(NamedTuple):
    """The whole lines of one open file."""

    file: JournalFile
    text: bytes


def open_texts(spark: SparkSession, journal: str) -> list[OpenText]:
    """Their text. Of copies of one file in several folders the longest counts. A file that is closed meanwhile is left
    out: it has another name now."""
    longest: dict[tuple[str, str], OpenText] = {}
    for file in journal_files(spark, journal).open:
        folder, _, name = file.path.rpartition("/")
        text = folder_at(spark, folder).part(name, size=OPEN_BYTES_MAX) or b""
        whole = text[: text.rfind(b"\n") + 1]
        known = longest.get((file.ns, file.segment))
        if whole and (known is None or len(known.text) < len(whole)):
            longest[file.ns, file.segment] = OpenText(file, whole)
    return list(longest.values())


def tail_of(spark: SparkSession, texts: Iterable[OpenText]) -> Tail:
    """What the texts hold."""
    read = [(file, rows_of(text)) for file, text in texts]
    times = [pc.min_max(rows.records["ts"]).as_py() for _, rows in read]
    files = [
        ReadFile(file.dt, file.ns, file.segment, rows.corrupt, at["min"], at["max"], open=True)
        for (file, rows), at in zip(read, times, strict=True)
    ]
    return Tail(events_of(spark, ((file.ns, file.dt, rows) for file, rows in read)), files)


def _reaches_back(text: OpenText, state: ManifestState) -> bool:
    """Whether its first record is not after all that is stored of its boot."""
    first = record_of(text.text[: text.text.index(b"\n")])
    boot = int(text.file.segment.partition("-")[0])
    ranges = [r for day in state.days.values() for r in day.ranges.get(text.file.ns, ()) if r.boot == boot]
    return first is None or any(first["seq"] <= r.high for r in ranges)
