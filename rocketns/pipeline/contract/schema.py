"""The columns of every frame that passes between two jobs: the contract that ``conform`` holds them to.

Times are UTC epoch microseconds (long) unless a name ends in ``_ms`` or ``_s``. Intervals are half-open, [t1, t2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyarrow  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (the name under which everybody knows it)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)

from rocketns.journal import record

SIMPLE: dict[str, DataType] = {
    "string": StringType(),
    "long": LongType(),
    "int": IntegerType(),
    "double": DoubleType(),
    "boolean": BooleanType(),
    "strings": ArrayType(StringType()),
}


class Observation(NamedTuple):
    """The stretch of time that a run looks at, [t0, t1) in epoch us."""

    t0: int
    t1: int


# What a job does with a frame that it builds several others on: cut its lineage (write it and read it back, or
# ``DataFrame.localCheckpoint``), for a plan that has everything many times over takes Spark long to think of.
Keep = Callable[[DataFrame], DataFrame]


def as_it_is(frame: DataFrame) -> DataFrame:
    """The Keep that does nothing, for plans that are small anyway."""
    return frame


def columns(text: str, **nested: DataType) -> StructType:
    """A schema from ``name:type`` words; a type is one of SIMPLE or a name of ``nested``."""
    known = SIMPLE | nested
    schema = StructType()
    for word in text.split():
        name, kind = word.split(":")
        schema.add(name, known[kind])
    return schema


def frame_of(spark: SparkSession, rows: Sequence[tuple[Any, ...]], schema: StructType) -> DataFrame:
    """A frame of a few rows. They go to Java as one Arrow table: rows of Python would need Python processes beside
    Java's, of whatever version ``python3`` is there."""
    told = [dict(zip(schema.names, row, strict=True)) for row in rows]
    return spark.createDataFrame(pyarrow.Table.from_pylist(told, to_arrow_schema(schema)), schema)


def conform(frame: DataFrame, schema: StructType) -> DataFrame:
    """The schema's columns, in its order and of its types. A missing column is an error of analysis."""
    return frame.select(*[F.col(field.name).cast(field.dataType).alias(field.name) for field in schema])


# What stands in a line of the journal, as its contract says. The folder repeats ``ns`` and adds ``dt``, the UTC date of
# the file's first record.
TOPIC = columns(" ".join(f"{name}:{kind}" for name, kind in record.TOPIC_FIELDS.items()))
RECORD = columns(
    " ".join(f"{name}:{'topics' if name == 'topics' else kind}" for name, kind in record.COLUMNS.items()),
    topics=ArrayType(TOPIC),
)
EVENTS = StructType([*RECORD.fields, *columns("dt:string").fields])

# An ingested file: its name without the ending, its lines and how many of them do not parse, its records' times.
FILES = columns("dt:string ns:string segment:string bytes:long lines:long corrupt:long first:long last:long")

# A name server's clock less the reference's, us. method: versions | heartbeats | none (offset 0); spread: median
# deviation of the samples, us.
OFFSETS = columns("ns:string offset:long samples:long spread:long method:string reference:string")

# What is wrong with the input. kind: corrupt (n lines) | drop (n records given up) | hole (n records missing) |
# silent (n us without a record before the end) | unknown (the boot's start is missing and it has no whole snapshot).
QUALITY = columns("kind:string ns:string boot:long t1:long t2:long n:long detail:string")

# What was read of each name server.
SOURCES = columns("ns:string files:long events:long first:long last:long offset_us:long corrupt:long lost:long")

# Records with a seq between after and until (both there) are missing; t1 and t2 are about when those two were written.
HOLES = columns("ns:string boot:long after:long until:long t1:long t2:long")

# A snapshot by its first and last seq, and when it ended.
SNAPSHOTS = columns("ns:string boot:long snap:long end_seq:long end_ts:long")

# When the state of a name server is known: from its start, or from its first whole snapshot where the start is not in
# the journal. end_cause: stop; lost (no stop record and a later start: t2 is its last record); silent (no record for
# a while at the end of the observation: t2 is its last record); open (up at the end of the observation).
NS_UPTIME = columns("ns:string boot:long t1:long t2:long end_cause:string")

# end_cause: the cause of the down, snapshot (found gone after records were lost), or the name server's (NS_UPTIME).
# gap: ms since the last heartbeat, of the down that closed the interval; else null.
BROKER_INTERVALS = columns(
    "ns:string cluster:string broker:string bid:int addr:string "
    "t1:long t2:long end_cause:string gap:long timeout_ms:long"
)

# cause: of the record that opened the interval; snapshot where that is what first told of it.
TOPIC_INTERVALS = columns(
    "ns:string topic:string broker:string r:int w:int p:int t1:long t2:long cause:string end_cause:string"
)

# values: sorted by ns, of the window's first constant stretch; a name server that was down is left out.
NS_VALUE = columns("ns:string present:boolean r:int w:int p:int")
KEY_WINDOWS = columns(
    "topic:string broker:string t1:long t2:long cause:string opened_by:string gap:long values:values",
    values=ArrayType(NS_VALUE),
)

# views: sorted by ns, of the name servers that were up; an empty view stays as an empty array.
QUEUES = columns("broker:string r:int w:int p:int")
NS_VIEW = columns("ns:string view:view", view=ArrayType(QUEUES))
TOPIC_SEGMENTS = columns("topic:string t1:long t2:long views:views", views=ArrayType(NS_VIEW))

# The route of one topic as each name server knew it; known is false where its state is not known.
GROUP = columns(
    "broker:string cluster:string addrs:addrs acting:boolean", addrs=ArrayType(columns("bid:int addr:string"))
)
ROUTES = columns(
    "ns:string known:boolean queues:queues groups:groups",
    queues=ArrayType(columns("broker:string r:int w:int p:int s:int")),
    groups=ArrayType(GROUP),
)

# strategy: averagely | circle; assignments: model | real; *_qs_*: queue-seconds; *_ids: "broker-a:0", at most 64,
# of the worst assignment; capped: not every assignment was looked at.
IMPACT = columns(
    "topic:string t1:long t2:long strategy:string c:int assignments:string queues:int "
    "orphaned_mean:double orphaned_max:double dup_mean:double dup_max:double "
    "orphaned_qs_mean:double orphaned_qs_max:double dup_qs_mean:double dup_qs_max:double "
    "orphaned_ids:strings dup_ids:strings capped:boolean"
)

# no_share_ns: name servers whose view has no writable queue.
IMBALANCE = columns(
    "topic:string t1:long t2:long broker:string share:double fair:double tvd:double peak:double no_share_ns:strings"
)

# gap_*: quantiles of heartbeat gaps in ms; gaps: how many there were.
BROKER_STATS = columns(
    "ns:string broker:string bid:int addr:string up_s:double availability:double failures:long graceful:long "
    "flaps:long mtbf_s:double gap_p50:double gap_p95:double gap_p99:double gap_max:double gaps:long"
)

# kind: graceful | crash | silent | partition | unclear (what is seen of it fits none); ns: who saw it go.
DEPARTURES = columns(
    "broker:string cluster:string t1:long t2:long kind:string ns:strings bids:bids", bids=ArrayType(IntegerType())
)
