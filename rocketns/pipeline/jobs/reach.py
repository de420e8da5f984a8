"""How far each journal reaches, by its name server's own clock: the time of the last record in the order of ``seq``.

A clock may be set, or show a wrong time for a moment. The last records of a name server are therefore cut into runs: a
run ends where the time goes back by more than BACK_US or forward by more than JUMP_US between two records (a running
name server writes a snapshot an hour). The journal reaches to the end of its last run of at least SETTLED_US. So a
jump is believed after a minute, and one stray time stamp is not. Without such a run the longest counts.

Time stamps that cannot be right: after the end of the observation, and followed by records from before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import columns, conform
from rocketns.pipeline.jobs.holes import BOOT, STRETCH

BACK_US = 10_000_000
JUMP_US = 2 * 3_600_000_000
SETTLED_US = 60_000_000
# The last records of a name server that are looked at: minutes of a large fleet.
TAIL_RECORDS = 20_000

# The last boot of each name server. last: the journal's reach, epoch us; stopped: time of its stop record, or null;
# rotate_s: from its `open` records, null if they do not say.
REACHES = columns("ns:string boot:long last:long stopped:long rotate_s:long")
# Of each name server: first and last: the times of its first file's first record and of the latest one, epoch us; days:
# those of its last two files; open: the last file was still being written when it was read.
EXTENTS = columns("ns:string first:long last:long days:strings open:boolean")


def extents(files: DataFrame) -> DataFrame:
    """EXTENTS from FILES. Files count in the order of their boots and numbers, whatever times are in them."""
    number = F.regexp_extract("segment", r"^(\d+)-(\d+)$", 2).cast("long").alias("number")
    boot = F.regexp_extract("segment", r"^(\d+)-", 1).cast("long").alias("boot")
    named = files.where("first is not null").select(
        "ns",
        "last",
        F.struct(boot, number, "dt", "open").alias("file"),
        F.struct(boot, number, "first", "last").alias("times"),
    )
    ends = named.groupBy("ns").agg(
        F.min("times").alias("head"),
        F.max("last").alias("last"),
        F.slice(F.sort_array(F.collect_set("file"), asc=False), 1, 2).alias("tail"),
    )
    begun = F.col("head.boot") * 1000  # a record of an earlier time is a stray one
    first = F.when(begun.between(F.col("head.first"), F.col("head.last")), begun).otherwise(F.col("head.first"))
    days = F.array_distinct(F.transform("tail", lambda file: file.dt))
    is_open = F.get("tail", F.lit(0)).open
    return conform(ends.withColumns({"first": first, "days": days, "open": is_open}), EXTENTS)


def reaches(events: DataFrame) -> DataFrame:
    """REACHES, from the EVENTS of the last files of each name server."""
    of_boots = events.groupBy("ns", "boot").agg(
        F.max("seq").alias("last_seq"),
        F.max(F.when(F.col("ev") == "stop", F.col("ts"))).alias("stopped"),
        F.max_by("rotate_s", F.when(F.col("rotate_s").isNotNull(), F.col("seq"))).alias("rotate_s"),
    )
    newest = of_boots.groupBy("ns").agg(F.max(F.struct("boot", "last_seq", "stopped", "rotate_s")).alias("newest"))
    last = newest.select("ns", "newest.*")
    tail = events.join(F.broadcast(last.select("ns", "boot", "last_seq")), ["ns", "boot"], "inner").where(
        F.col("seq") > F.col("last_seq") - TAIL_RECORDS
    )
    return conform(last.join(F.broadcast(_believed(tail)), "ns", "inner"), REACHES)


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


PIECE = (*BOOT, "stretch")

Suspects = Mapping[tuple[str, int], int]


def late_days(files: DataFrame, clock_days: DataFrame, end: int) -> list[str]:
    """The days of FILES with a record at or after ``end``: the last ones, and those with a stray record."""
    of_days = F.broadcast(clock_days.select(F.col("day").alias("dt"), "ns", "offset"))
    joined = files.join(of_days, ["dt", "ns"], "left")
    late = joined.where(F.col("last") - F.coalesce("offset", F.lit(0)) >= end)
    return sorted(row["dt"] for row in late.select("dt").distinct().collect())


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
    """The events, where each stray record has the time of the record before it in the order of seq.

    A boot may have any number of records, so they are sorted in stretches. If no right time is before a record in its
    stretch, the first and last right times of the other stretches give one."""
    if not strays:
        return events
    last = reduce(F.coalesce, (_last_of(ns, boot, seq) for (ns, boot), seq in sorted(strays.items())))
    marked = events.withColumn("last_before", last)
    affected = marked.where("last_before is not null").withColumns(
        {"stretch": F.expr(f"seq div {STRETCH}"), "right": F.when(F.col("ts") < end, F.col("ts"))}
    )
    before = _nearest("right", PIECE, F.col("seq"), 0)
    after = _nearest("right", PIECE, F.col("seq").desc(), 0)
    nearest = F.coalesce(before, "earlier", after, "later")
    is_stray = (F.col("ts") >= end) & (F.col("seq") < F.col("last_before"))
    repaired = affected.join(F.broadcast(_outside(affected)), [*PIECE], "left").withColumn(
        "ts", F.when(is_stray, nearest).otherwise(F.col("ts"))
    )
    others = marked.where("last_before is null").select(*events.columns)
    return others.unionByName(repaired.select(*events.columns))


def _outside(affected: DataFrame) -> DataFrame:
    """PIECE, earlier, later: of each stretch the last right time before it and the first one after it."""
    place = F.when(F.col("right").isNotNull(), F.col("seq"))
    ends = affected.groupBy(*PIECE).agg(F.min_by("right", place).alias("first"), F.max_by("right", place).alias("last"))
    earlier = _nearest("last", BOOT, F.col("stretch"), -1)
    later = _nearest("first", BOOT, F.col("stretch").desc(), -1)
    return ends.select(*PIECE, earlier.alias("earlier"), later.alias("later"))


def _nearest(column: str, by: tuple[str, ...], order: Column, last: int) -> Column:
    """The last value of the column before a row in this order. Spark recomputes a window that looks forward for each
    row, so what follows is looked for in the opposite order."""
    before = Window.partitionBy(*by).orderBy(order).rowsBetween(Window.unboundedPreceding, last)
    return F.last(column, ignorenulls=True).over(before)


def _last_of(ns: str, boot: int, seq: int) -> Column:
    return F.when((F.col("ns") == ns) & (F.col("boot") == boot), F.lit(seq))
