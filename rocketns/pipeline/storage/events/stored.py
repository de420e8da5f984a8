"""The ingested records by the manifest: EVENTS, FILES, and how many came more than once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.contract.frames import Observation, frame_of
from rocketns.pipeline.contract.schema import EVENTS, FILES
from rocketns.pipeline.contract.times import DAY_US
from rocketns.pipeline.storage.events.manifest import Manifest, Part, Read
from rocketns.pipeline.storage.events.staging import read_parts


class Delivered(NamedTuple):
    """``copies``: files that hold nothing new, because another file has the same; ``repeated``: records that came more
    than once, and count once; ``foreign``: files of each other version of the journal, which were not read."""

    copies: int
    repeated: int
    foreign: Mapping[str, int]


def read_events(
    spark: SparkSession,
    out: str,
    observation: Observation | None = None,
    *,
    days: Sequence[str] | None = None,
) -> DataFrame:
    """The ingested EVENTS, of all days or these (``dt``). With an observation only what it needs: from the day before,
    which has hourly snapshots, to its last day."""
    manifest = Manifest(spark, out)
    parts = manifest.state().parts
    if observation is not None:
        parts = [part for part in parts if _is_needed(part, observation)]
    wanted = [part.path for part in parts if days is None or part.dt in days]
    return read_parts(spark, manifest.folder, wanted).where("not corrupt").select(*EVENTS.names)


def read_files(spark: SparkSession, out: str, *, since: str = "") -> DataFrame:
    """The ingested FILES from the day ``since`` on; of several copies of a file the largest."""
    manifest = Manifest(spark, out)
    state = manifest.state()
    rows = [
        (r.dt, r.ns, r.segment, r.size, r.lines, r.corrupt, r.first, r.last, False)
        for r in originals(manifest.reads(state, state.since(since)))
    ]
    return frame_of(spark, rows, FILES)


def delivered(spark: SparkSession, out: str, *, since: str = "") -> Delivered:
    """How many records came more than once from the day ``since`` on, and how many files were not read."""
    manifest = Manifest(spark, out)
    state = manifest.state()
    reads = manifest.reads(state, state.since(since))
    repeated = sum(read.records - read.added for read in reads)
    return Delivered(len(reads) - len(originals(reads)), repeated, state.foreign)


def originals(reads: Iterable[Read]) -> list[Read]:
    """Without copies: smaller files of the same name server and name, and files that added no record."""
    largest: dict[tuple[str, str], Read] = {}
    for read in reads:
        known = largest.get((read.ns, read.segment))
        if known is None or (known.size, known.added) < (read.size, read.added):
            largest[read.ns, read.segment] = read
    return [read for read in largest.values() if read.added or not read.records]


def _is_needed(part: Part, observation: Observation) -> bool:
    begin = observation.t0 - DAY_US
    begin -= begin % DAY_US
    return part.first is not None and part.last is not None and begin <= part.last and part.first <= observation.t1
