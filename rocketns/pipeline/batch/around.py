"""The records around a moment: as few as show the state of every name server then.

A journal has a whole snapshot in each hour, so state is known from the records of the last hours. They are read from
the events that an earlier run ingested, otherwise from those files of the journal that may hold them. If a name server
has no whole snapshot in them, the records of a day before are read too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby
from typing import NamedTuple

import orjson
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.defaults import SILENT_AFTER_US
from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.times import DAY_US, HOUR_US, exact_text
from rocketns.pipeline.jobs.history.clocks import FAR_US
from rocketns.pipeline.storage.events.lines import parsed, records
from rocketns.pipeline.storage.events.listing import JournalFile, journal_files
from rocketns.pipeline.storage.events.stored import read_events
from rocketns.pipeline.storage.paths import Folder

# Two hours hold a whole snapshot. Clocks may be off by FAR_US.
SHORT_US = 2 * HOUR_US + FAR_US
LONG_US = DAY_US + 2 * HOUR_US
AHEAD_US = FAR_US + SILENT_AFTER_US

# The first record of a file is short.
FIRST_BYTES = 4096

Read = Callable[[int, int], DataFrame | None]


class Around(NamedTuple):
    """``events``: EVENTS around the moment, cached. ``source``: where they came from, in words."""

    events: DataFrame
    source: str


def around(spark: SparkSession, journal: str | None, ingested: str | None, at: int) -> Around:
    """BadInput if neither has a record of the time up to ``at`` (epoch us).

    ``ingested``: the folder of the events that an earlier run ingested. It counts only if it reaches beyond ``at``.
    """
    if ingested is not None and Folder(spark, ingested).exists():
        found = _enough(lambda t0, t1: _of_ingested(spark, ingested, t0, t1), at)
        if found is not None and (journal is None or _reaches(found, at)):
            return Around(found, ingested)
    if journal is None:
        raise BadInput(f"{ingested} holds no record of the time around {exact_text(at)}: name the --journal too")
    found = _enough(lambda t0, t1: _of_journal(spark, journal, t0, t1), at)
    if found is None:
        raise BadInput(f"{journal} has no record of the time around {exact_text(at)}")
    return Around(found, journal)


def _enough(read: Read, at: int) -> DataFrame | None:
    """The records of the last hours, or of a day if those do not show the state of every name server."""
    found = read(at - SHORT_US, at + AHEAD_US)
    if found is None:
        return None
    events = found.cache()
    if not _without_beginning(events, at):
        return events
    longer = read(at - LONG_US, at + AHEAD_US)
    events.unpersist()
    return longer.cache() if longer is not None else None


def _without_beginning(events: DataFrame, at: int) -> bool:
    """Whether there is a name server that was up, and neither its start nor a whole snapshot is among its records."""
    shown = F.col("ev").isin("start") | F.coalesce(F.col("end") & (F.col("ev") == "snap"), F.lit(False))
    before = events.where(F.col("ts") <= at - FAR_US).groupBy("ns", "boot")
    return not before.agg(F.count_if(shown).alias("shown")).where("shown = 0").isEmpty()


def _reaches(events: DataFrame, at: int) -> bool:
    """Whether a record after the moment is there: otherwise newer files of the journal may tell more."""
    return not events.where(F.col("ts") > at).isEmpty()


def _of_ingested(spark: SparkSession, folder: str, t0: int, t1: int) -> DataFrame | None:
    events = read_events(spark, folder, Observation(t0, t1)).where(F.col("ts").between(t0, t1))
    return None if events.isEmpty() else events


def _of_journal(spark: SparkSession, journal: str, t0: int, t1: int) -> DataFrame | None:
    files = files_between(spark, journal, t0, t1)
    if not files:
        return None
    events = parsed(records(spark.read, files[0].base).json([file.path for file in files]))
    return events.where(F.col("ts").between(t0, t1))


def files_between(spark: SparkSession, journal: str, t0: int, t1: int) -> list[JournalFile]:
    """The finished files that may hold records of [t0, t1]. A boot's files follow each other, so the first record of a
    few of them shows which."""
    days = range(t0 // DAY_US - 1, t1 // DAY_US + 1)  # a file may begin on the day before
    root = journal.rstrip("/").removesuffix("/v=1")
    try:
        found = journal_files(spark, [f"{root}/v=*/dt={exact_text(day * DAY_US)[:10]}" for day in days if day >= 0])
    except BadInput:
        return []
    largest = {(file.ns, file.segment): file for file in sorted(found.closed, key=lambda file: file.size)}  # of copies
    in_order = sorted(largest.values(), key=_boot_and_number)
    return [file for _, same in groupby(in_order, key=_boot) for file in _between(spark, list(same), t0, t1)]


def _boot(file: JournalFile) -> tuple[str, str]:
    return file.ns, file.segment.partition("-")[0]


def _boot_and_number(file: JournalFile) -> tuple[str, str, int]:
    number = file.segment.rpartition("-")[2]
    return *_boot(file), int(number) if number.isdecimal() else 0


def _between(spark: SparkSession, files: Sequence[JournalFile], t0: int, t1: int) -> Sequence[JournalFile]:
    first = max(_count_until(spark, files, t0) - 1, 0)
    return files[first : _count_until(spark, files, t1)]


def _count_until(spark: SparkSession, files: Sequence[JournalFile], moment: int) -> int:
    """How many files begin at the moment or before it."""
    low, high = 0, len(files)
    while low < high:
        middle = (low + high) // 2
        if _begin(spark, files[middle]) <= moment:
            low = middle + 1
        else:
            high = middle
    return low


def _begin(spark: SparkSession, file: JournalFile) -> int:
    """The time of the file's first record; 0 if the first lines do not parse."""
    folder, _, name = file.path.rpartition("/")
    for line in (Folder(spark, folder).beginning(name, FIRST_BYTES) or b"").splitlines():
        with suppress(orjson.JSONDecodeError, KeyError, TypeError):
            return int(orjson.loads(line)["ts"])
    return 0
