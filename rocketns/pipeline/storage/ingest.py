"""From the journals' files to Parquet: each file once, by day, name server and file, with its unreadable lines counted.

A file's events are one partition, which is replaced as a whole: to ingest a file again changes nothing. Files whose
name begins with a dot are still being written, and are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple, TypeVar
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import BooleanType, LongType, StringType, StructType

from rocketns.journal.record import VERSION
from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.contract.frames import Observation, conform
from rocketns.pipeline.contract.schema import EVENTS, FILES, RECORD
from rocketns.pipeline.contract.times import DAY_US
from rocketns.pipeline.storage.paths import Folder

# Below the folder v=…
JOURNAL_FILES = "dt=*/ns=*/*.jsonl"
PARTITIONS = ("dt", "ns", "segment")
# With one writer per file that a task reads, Spark need not sort. With more files it sorts.
WRITERS_MAX = 64

_LAYOUT = re.compile(r"(?P<base>.*?/v=(?P<v>[^/]+))/dt=(?P<dt>[^/]+)/ns=(?P<ns>[^/]+)/(?P<segment>[^/]+)\.jsonl")
_UNREADABLE = "unreadable"
_READ = StructType([field for field in RECORD.fields if field.name != "ns"])
_READ = _READ.add(_UNREADABLE, StringType()).add("dt", StringType()).add("ns", StringType())
# Nearly all values of these columns are distinct, so a dictionary does not help.
_PLAIN = {f"parquet.enable.dictionary#{name}": "false" for name in ("seq", "ts", "gap")}
_STORED = (
    StructType([*EVENTS.fields]).add("corrupt", BooleanType()).add("bytes", LongType()).add("segment", StringType())
)

Reader = TypeVar("Reader", DataFrameReader, DataStreamReader)


class JournalFile(NamedTuple):
    """A finished file. ``base`` is its folder up to and with ``v=…``."""

    path: str
    size: int
    base: str
    dt: str
    ns: str
    segment: str

    @property
    def identity(self) -> tuple[str, str, str, int]:
        return self.dt, self.ns, self.segment, self.size


class Ingested(NamedTuple):
    """The result of an ingest: files and bytes read, and files that had been read before."""

    files: int
    size: int
    skipped: int


def ingest(spark: SparkSession, journals: str | Sequence[str], out: str) -> Ingested:
    """Read all finished files of one or more journal folders, on any path that Spark reads, into the folder ``out``.

    BadInput: no such folder, none with a journal, or a journal of another version.
    """
    roots = [journals] if isinstance(journals, str) else journals
    found = journal_files(spark, roots)
    known = _known(spark, out)
    new = [file for file in found if file.identity not in known]
    if new:
        spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", str(WRITERS_MAX))
        spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
        told = _judged(_of_files(spark, new), "bytes", *PARTITIONS)
        told.write.mode("overwrite").partitionBy(*PARTITIONS).options(**_PLAIN).parquet(out)
    return Ingested(len(new), sum(file.size for file in new), len(found) - len(new))


def read_events(spark: SparkSession, out: str, observation: Observation | None = None) -> DataFrame:
    """The ingested EVENTS. With an observation only the days that it needs: from the day before, which has hourly
    snapshots, to its last day."""
    events = _stored(spark, out).where("not corrupt")
    if observation is not None:
        events = events.where(F.col("dt").between(_day(observation.t0 - DAY_US), _day(observation.t1)))
    return events.select(*EVENTS.names)


def read_files(spark: SparkSession, out: str) -> DataFrame:
    """The ingested FILES."""
    return conform(
        _stored(spark, out)
        .groupBy(*PARTITIONS)
        .agg(
            F.max("bytes").alias("bytes"),
            F.count("*").alias("lines"),
            F.count_if("corrupt").alias("corrupt"),
            F.min(F.when(~F.col("corrupt"), F.col("ts"))).alias("first"),
            F.max(F.when(~F.col("corrupt"), F.col("ts"))).alias("last"),
            F.lit(False).alias("open"),
        ),
        FILES,
    )


def records(reader: Reader, base: str) -> Reader:
    """A reader of journal files below the folder ``base`` (up to and with ``v=…``), for ``.json(…)``. Pass its frame to
    ``parsed`` or ``judged``."""
    return (
        reader.schema(_READ)
        .option("basePath", base)
        .option("mode", "PERMISSIVE")
        .option("columnNameOfCorruptRecord", _UNREADABLE)
        .option("lineSep", "\n")
    )


def parsed(read: DataFrame) -> DataFrame:
    """EVENTS; lines that do not parse are left out."""
    return judged(read).where("not corrupt").drop("corrupt")


def judged(read: DataFrame) -> DataFrame:
    """EVENTS of every line, with ``corrupt``. A line that does not parse has only the values of its folder."""
    return _judged(read).select(*EVENTS.names, "corrupt")


def journal_files(spark: SparkSession, roots: Iterable[str]) -> list[JournalFile]:
    """Finished files below the folders, each once, in the order of their names."""
    files: dict[tuple[str, ...], JournalFile] = {}
    for root in roots:
        for path, size in Folder(spark, root).files():
            match = _LAYOUT.fullmatch(path)
            if match is None or match["segment"].startswith((".", "_")):
                continue
            if match["v"] != str(VERSION):
                raise BadInput(f"{path}: a journal of version {match['v']}, and this audit reads version {VERSION}")
            named = [unquote(match[name]) for name in PARTITIONS]
            files.setdefault(tuple(named), JournalFile(path, size, match["base"], *named))
    if not files:
        raise BadInput(f"no finished file of a journal (v={VERSION}/dt=…/ns=…/*.jsonl) in {', '.join(roots)}")
    return [files[name] for name in sorted(files)]


def _known(spark: SparkSession, out: str) -> set[tuple[str, str, str, int]]:
    if not Folder(spark, out).exists():
        return set()
    stored = _stored(spark, out).groupBy(*PARTITIONS).agg(F.max("bytes").alias("bytes"))
    return {(row["dt"], row["ns"], row["segment"], row["bytes"]) for row in stored.collect()}


def _stored(spark: SparkSession, out: str) -> DataFrame:
    return spark.read.schema(_STORED).parquet(out)


def _of_files(spark: SparkSession, files: Sequence[JournalFile]) -> DataFrame:
    """The frame of ``records``, with segment and bytes. Spark takes dt and ns from folders below one base at a time."""
    segment = F.substring_index("_metadata.file_name", ".jsonl", 1).alias("segment")
    size = F.col("_metadata.file_size").alias("bytes")
    frames = [
        records(spark.read, base).json([file.path for file in files if file.base == base]).select("*", segment, size)
        for base in sorted({file.base for file in files})
    ]
    return reduce(DataFrame.unionByName, frames)


def _judged(read: DataFrame, *kept: str) -> DataFrame:
    """The record, or nulls if the line is not JSON, has a value of a wrong type, or lacks a required column;
    ``corrupt``; and the columns ``kept``."""
    lacking = [F.col(name).isNull() for name in ("boot", "seq", "ts", "ev")]
    corrupt = reduce(Column.__or__, lacking, F.col(_UNREADABLE).isNotNull())
    folders = ("ns", "dt")  # they count, even if a record says otherwise
    names = [name for name in EVENTS.names if name not in folders]
    return read.select(
        *[F.when(~corrupt, F.col(name)).alias(name) for name in names],
        corrupt.alias("corrupt"), *(kept or folders),
    )  # fmt: skip


def _day(ts: int) -> Column:
    return F.date_format(F.timestamp_micros(F.lit(ts)), "yyyy-MM-dd")
