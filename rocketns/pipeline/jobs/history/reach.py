"""How far each journal reaches, by its name server's own clock: the time of the last record in the order of ``seq``.

A clock may be set, or show a wrong time for a moment. The last records of a name server are therefore cut into runs: a
run ends where the time goes back by more than BACK_US or forward by more than JUMP_US between two records (a running
name server writes a snapshot an hour). The journal reaches to the end of its last run of at least SETTLED_US. So a
jump is believed after a minute, and one stray time stamp is not. Without such a run the longest counts.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import columns, conform

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
