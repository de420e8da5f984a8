"""How far each journal reaches, by its name server's own clock: the time of the last record in the order of ``seq``.

A clock may be set, or show a wrong time for a moment. The last records of a name server are therefore cut into runs: a
run ends where the time goes back by more than BACK_US or forward by more than JUMP_US between two records (a running
name server writes a snapshot an hour). The journal reaches to the end of its last run of at least SETTLED_US. So a
jump is believed after a minute, and one stray time stamp is not. Without such a run the longest counts.

Time stamps that cannot be right: after the end of the observation, and followed by records from before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import itemgetter

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Row, any_of, plain_rows
from rocketns.pipeline.contract.schema import ReadFile
from rocketns.pipeline.jobs.state import BOOT

BACK_US = 10_000_000
JUMP_US = 2 * 3_600_000_000
SETTLED_US = 60_000_000
# The last records of a name server that are looked at: minutes of a large fleet.
TAIL_RECORDS = 20_000


def reaches(events: DataFrame) -> list[Row]:
    """Of the last boot of each name server, from the EVENTS of its last files: ns, boot, ``last`` (the journal's reach,
    epoch us), ``stopped`` (the time of its stop record, or None), ``rotate_s`` (of its `open` records; None if they do
    not say)."""
    of_boots = events.groupBy("ns", "boot").agg(
        F.max("seq").alias("last_seq"),
        F.max(F.when(F.col("ev") == "stop", F.col("ts"))).alias("stopped"),
        F.max_by("rotate_s", F.when(F.col("rotate_s").isNotNull(), F.col("seq"))).alias("rotate_s"),
    )
    newest = {row["ns"]: row for row in sorted(plain_rows(of_boots), key=itemgetter("boot"))}
    # As values in the query: then Parquet passes over all groups of rows with lower numbers.
    is_last = any_of(
        (F.col("ns") == ns) & (F.col("boot") == row["boot"]) & (F.col("seq") > row["last_seq"] - TAIL_RECORDS)
        for ns, row in newest.items()
    )
    return [{**newest[row["ns"]], "last": row["last"]} for row in _believed(events.where(is_last)).collect()]


def _believed(tail: DataFrame) -> DataFrame:
    """ns, last."""
    in_order = Window.partitionBy("ns").orderBy("seq")
    step = F.col("ts") - F.lag("ts").over(in_order)
    jumped = F.when((step < -BACK_US) | (step > JUMP_US), 1).otherwise(0)
    runs = (
        tail.withColumn("jumped", jumped)
        .withColumn("run", F.sum("jumped").over(in_order))
        .groupBy("ns", "run")
        .agg(F.max("ts").alias("last"), (F.max("ts") - F.min("ts")).alias("span"))
    )
    settled = F.col("span") >= SETTLED_US
    order = F.struct(settled, F.when(settled, F.col("run")).otherwise(F.col("span")), "run")
    return runs.groupBy("ns").agg(F.max_by("last", order).alias("last"))


Suspects = Mapping[tuple[str, int], int]


def late_days(files: Iterable[ReadFile], offsets: Mapping[tuple[str, str], int], end: int) -> list[str]:
    """The days of files with a record at or after ``end``: the last ones, and those with a stray record. ``offsets``:
    of CLOCK_DAYS, by day and name server."""
    late = (one for one in files if one.last is not None and one.last - offsets.get((one.dt, one.ns), 0) >= end)
    return sorted({one.dt for one in late})


def suspects(events: DataFrame, end: int) -> Suspects:
    """By name server and boot with a stray record: the last seq whose time is before ``end``."""
    is_before = F.col("ts") < end
    boots = (
        events.groupBy("ns", "boot")
        .agg(
            F.max(F.when(is_before, F.col("seq"))).alias("last"), F.min(F.when(~is_before, F.col("seq"))).alias("stray")
        )
        .where("stray < last")
    )
    return {(row["ns"], row["boot"]): row["last"] for row in boots.collect()}


def with_repaired_times(events: DataFrame, strays: Suspects, end: int) -> DataFrame:
    """The events, where each stray record has the last right time before it in the order of seq, or else the first."""
    if not strays:
        return events
    last = reduce(F.coalesce, (_last_of(ns, boot, seq) for (ns, boot), seq in sorted(strays.items())))
    marked = events.withColumn("last_before", last)
    right, boot = F.when(F.col("ts") < end, F.col("ts")), Window.partitionBy(*BOOT)
    before = boot.orderBy("seq").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    nearest = F.coalesce(F.last(right, ignorenulls=True).over(before), F.min(right).over(boot))
    is_stray = (F.col("ts") >= end) & (F.col("seq") < F.col("last_before"))
    repaired = marked.where("last_before is not null").withColumn("right", nearest)
    times = F.when(is_stray, F.col("right")).otherwise(F.col("ts"))
    others = marked.where("last_before is null").select(*events.columns)
    return others.unionByName(repaired.withColumn("ts", times).select(*events.columns))


def _last_of(ns: str, boot: int, seq: int) -> Column:
    return F.when((F.col("ns") == ns) & (F.col("boot") == boot), F.lit(seq))
