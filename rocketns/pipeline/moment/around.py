"""The records around a moment: only as many as show the state of every name server.

A journal has a whole snapshot in each hour, so state is known from the records of the last hours. They are read from
the events that an earlier run ingested, or else from the journal files that may hold them. If a name server has no
whole snapshot there, the records of the day before are read too.

The records of a stretch of time: from ingested events, or from those files of a journal that may hold them.

What is on this machine is read without Spark.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, cast

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.lines import Record, record_of, records_of
from rocketns.pipeline.clocks.looks import FAR_US
from rocketns.pipeline.contract.defaults import SILENT_AFTER_US
from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.times import DAY_US, HOUR_US, exact_text
from rocketns.pipeline.jobs.state import FOUND_GONE
from rocketns.pipeline.moment.recorded import Recorded
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.events.listing import JournalFile, journal_files
from rocketns.pipeline.storage.events.manifest import Manifest, Part
from rocketns.pipeline.storage.events.stored import read_events
from rocketns.pipeline.storage.files.folder import Folder
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
        open_holes = [h.t1 for h in boot.holes if not any(one.snap >= h.until for one in boot.snapshots)]
        if open_holes:
            since[ns] = min(open_holes)
    return since


# What routes and clocks need of a record.
COLUMNS = (
    "boot", "seq", "ts", "ev", "cluster", "broker", "bid", "addr", "gap", "dvt", "dvc", "dvs", "timeout_ms", "acting",
    "gcluster", "cause", "topics", "snap", "part", "end", "restored", "since", "observed", "asked", "no_topics",
)  # fmt: skip
# Nearly all records are these, which have no other columns than the first ones. Rows of few columns are read faster.
QUIET, QUIET_COLUMNS = "hb", 12
BATCH_ROWS = 50_000
# The first record of a file is short.
FIRST_BYTES = 4096


def of_ingested(spark: SparkSession | None, folder: str, t0: int, t1: int) -> Iterator[Record]:
    """Records from the folder of ingested events. ``spark`` None: it is on this machine."""
    if spark is not None:
        told = read_events(spark, folder, Observation(t0, t1)).where(F.col("ts").between(t0, t1))
        yield from cast(list[Record], told.select("ns", "dt", *COLUMNS).toArrow().to_pylist())
        return
    manifest = Manifest(None, folder)
    for part in manifest.state().parts:
        if part.first is not None and part.last is not None and part.first <= t1 and part.last >= t0:
            yield from _of_part(manifest.folder, part, t0, t1)


def _of_part(folder: Folder, part: Part, t0: int, t1: int) -> Iterator[Record]:
    between = [("ts", ">=", t0), ("ts", "<=", t1)]
    where = {"ns": part.ns, "dt": part.dt}
    for name in folder.names(part.path):
        if not name.endswith(".parquet") or name.startswith((".", "_")):
            continue
        path = folder.local_path(f"{part.path}/{name}")
        table = _read(path, between)
        quiet = pc.and_(pc.equal(table["ev"], QUIET), pc.is_null(table["timeout_ms"]))
        quiet = pc.and_(quiet, pc.is_null(table["acting"]))
        for rows in (table.filter(quiet).select(COLUMNS[:QUIET_COLUMNS]), table.filter(pc.invert(quiet))):
            for batch in rows.to_batches(BATCH_ROWS):
                yield from (record | where for record in batch.to_pylist())


def _read(path: Path, between: list[tuple[str, str, int]]) -> pa.Table:
    """COLUMNS of a file. One that an older rocketns wrote has not all of them."""
    there = set(pq.read_schema(path).names)
    table = pq.read_table(path, columns=[n for n in COLUMNS if n in there], filters=between, partitioning=None)
    for name in COLUMNS:
        if name not in there:
            table = table.append_column(name, pa.nulls(len(table)))
    return table.select(COLUMNS)


def of_journal(spark: SparkSession | None, journal: str, t0: int, t1: int) -> Iterator[Record]:
    """Records from the journal's files. An open file is read up to its last whole line."""
    for file in files_between(spark, journal, t0, t1):
        data = _start_of(spark, file, None)
        yield from (record for record in records_of(data, file.ns, file.dt) if t0 <= record["ts"] <= t1)


def files_between(spark: SparkSession | None, journal: str, t0: int, t1: int) -> list[JournalFile]:
    """The files that may hold records of [t0, t1]. A boot's files follow each other, so the first record of a few of
    them shows which."""
    days = range(t0 // DAY_US - 1, t1 // DAY_US + 1)  # a file may begin on the day before
    root = journal.rstrip("/").removesuffix("/v=1")
    try:
        found = journal_files(spark, [f"{root}/v=*/dt={exact_text(day * DAY_US)[:10]}" for day in days if day >= 0])
    except BadInput:
        return []
    in_size = sorted((*found.closed, *found.open), key=lambda file: file.size)
    largest = {(file.ns, file.segment): file for file in in_size}  # of copies
    in_order = sorted(largest.values(), key=_boot_and_number)
    return [file for _, same in groupby(in_order, key=_boot) for file in _between(spark, list(same), t0, t1)]


def _boot(file: JournalFile) -> tuple[str, str]:
    return file.ns, file.segment.partition("-")[0]


def _boot_and_number(file: JournalFile) -> tuple[str, str, int]:
    number = file.segment.rpartition("-")[2]
    return *_boot(file), int(number) if number.isdecimal() else 0


def _between(spark: SparkSession | None, files: Sequence[JournalFile], t0: int, t1: int) -> Sequence[JournalFile]:
    begin = partial(_begin, spark)
    first = max(bisect_right(files, t0, key=begin) - 1, 0)
    return files[first : bisect_right(files, t1, key=begin)]


def _begin(spark: SparkSession | None, file: JournalFile) -> int:
    """The time of the file's first record; 0 if the first lines are none."""
    records = map(record_of, _start_of(spark, file, FIRST_BYTES).split(b"\n"))
    return next((int(record["ts"]) for record in records if record is not None), 0)


def _start_of(spark: SparkSession | None, file: JournalFile, size: int | None) -> bytes:
    """Its first bytes, or all; none if the name server has deleted it meanwhile. An open one may have been closed."""
    path, _, name = file.path.rpartition("/")
    folder = folder_at(spark, path)
    found = folder.part(name, size=size)
    return (folder.part(f"{file.segment}.jsonl", size=size) if found is None else found) or b""
