"""From changes to intervals, for the whole run and for the stream."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

FOUND_GONE = "snapshot"


def intervals(changes: DataFrame, key: Sequence[str], uptime: DataFrame, *closing: str) -> DataFrame:
    """Intervals in which a key has the same, present ``value``, within the uptime of their boot (NS_UPTIME).

    In: ns, boot, seq, ts, early, the key, value (null: gone), cause; changes apply in the order of seq. Out: all
    columns of the change that opened the interval, t1, t2, end_cause, ``closed`` (a change ended it, not its name
    server), t1_early and t2_early (by how much earlier these changes may have come, if they were observed), and
    ``next``: a struct of the next change's t, early, cause and ``closing`` columns, null if there is none."""
    in_order = Window.partitionBy("ns", "boot", *key).orderBy("seq")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    turns = (
        changes.withColumn("begin", F.max("ts").over(so_far))  # the clock may have been set back
        .withColumn("before", F.lag("value").over(in_order))
        .where(~F.col("value").eqNullSafe(F.col("before")))
    )
    following = F.struct(F.col("begin").alias("t"), "early", "cause", *closing)
    spans = turns.withColumn("next", F.lead(following).over(in_order)).where("value is not null")
    return _within_uptime(spans.drop("before"), uptime)


def _within_uptime(spans: DataFrame, uptime: DataFrame) -> DataFrame:
    """An interval ends with its name server at the latest, and then for the same reason."""
    up = uptime.select(
        "ns", "boot", F.col("t1").alias("up_t1"), F.col("t2").alias("up_t2"), F.col("end_cause").alias("up_end")
    )
    closed = F.coalesce(F.col("next.t") <= F.col("up_t2"), F.lit(False))
    return (
        spans.join(F.broadcast(up), ["ns", "boot"], "inner")
        .withColumns(
            {
                "closed": closed,
                "t1": F.greatest("begin", "up_t1"),
                "t2": F.when(closed, F.col("next.t")).otherwise(F.col("up_t2")),
                "end_cause": F.when(closed, F.col("next.cause")).otherwise(F.col("up_end")),
                "t1_early": F.when(F.col("begin") > F.col("up_t1"), F.coalesce("early", F.lit(0))).otherwise(0),
                "t2_early": F.when(closed, F.coalesce("next.early", F.lit(0))).otherwise(0),
            }
        )
        .where("t1 < t2")
    )


def with_found_gone(changes: DataFrame, key: Sequence[str], snapshots: DataFrame) -> DataFrame:
    """The changes, and an absence for each key that the next snapshot does not name: its removal was lost.

    The absence follows the last change before that snapshot, if no other change of the key comes before the
    snapshot's end.
    """
    begins = snapshots.groupBy("ns", "boot").agg(
        F.sort_array(F.collect_list(F.struct("snap", "end_seq", "end_ts"))).alias("begins")
    )
    in_order = Window.partitionBy("ns", "boot", *key).orderBy("seq")
    later = F.get(F.filter("begins", lambda begin: begin["snap"] > F.col("seq")), F.lit(0))
    passed_over = F.col("next_seq").isNull() | (F.col("next_seq") > later["end_seq"])
    names = [name for name in changes.columns if name not in ("ns", "boot", *key)]
    change = F.struct(*names)
    gone = {"seq": later["end_seq"], "ts": later["end_ts"], "cause": F.lit(FOUND_GONE)}
    absence = F.struct(*[gone.get(name, F.lit(None).cast(changes.schema[name].dataType)).alias(name) for name in names])
    rows = F.when(later.isNotNull() & passed_over, F.array(change, absence)).otherwise(F.array(change))
    return (
        changes.join(F.broadcast(begins), ["ns", "boot"], "left")
        .withColumn("next_seq", F.lead("seq").over(in_order))
        .select("ns", "boot", *key, F.explode(rows).alias("row"))
        .select("ns", "boot", *key, "row.*")
    )
