"""Where lost records may have held a topic change, so that the computed state of a name server may be wrong.

After a hole in the sequence numbers a name server's value of a topic on a broker is in doubt until its journal names
that topic on that broker again: in a record, or in the next whole snapshot. A snapshot that shows the value of before
the hole proves that no change was lost, so then there is no doubt. Most holes hold heartbeats only, and leave none.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Observation, conform
from rocketns.pipeline.contract.schema import TOPIC_DOUBTS
from rocketns.pipeline.jobs.history.intervals import FOUND_GONE
from rocketns.pipeline.jobs.history.state import TOPIC, Base, counted, topic_changes

BOOT = ("ns", "boot")


def topic_doubts(events: DataFrame, base: Base, topic_intervals: DataFrame, observation: Observation) -> DataFrame:
    """TOPIC_DOUBTS of the topics and brokers that any name server had (TOPIC_INTERVALS)."""
    lost = base.holes.groupBy(*BOOT).agg(
        F.sort_array(F.collect_list(F.struct("after", "until", F.col("t1").alias("t")))).alias("holes")
    )
    keys = topic_intervals.select(*TOPIC).distinct()
    recorded = _recorded(events, base, lost, keys, observation)
    in_order = Window.partitionBy(*BOOT, *TOPIC).orderBy("seq")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    following = F.struct("seq", "t", "value", "whole")
    doubtful = (
        recorded.withColumn("t", F.max("ts").over(so_far))  # the clock may have been set back
        .withColumn("next", F.lead(following).over(in_order))
        .join(F.broadcast(lost), [*BOOT], "inner")
        .withColumn("hole", F.get(F.filter("holes", _between), F.lit(0)))
        .where(F.col("hole").isNotNull() & ~_proven())
        .select(*BOOT, *TOPIC, F.col("hole.t").alias("begin"), F.col("next.t").alias("end"))
    )
    return conform(_within_uptime(doubtful, base.uptime), TOPIC_DOUBTS)


def _recorded(events: DataFrame, base: Base, lost: DataFrame, keys: DataFrame, observation: Observation) -> DataFrame:
    """BOOT, seq, ts, TOPIC, value (null: absent), whole (of a snapshot), for boots with lost records: each value of a
    key in the journal, an absent one at the start, and an absent one where a snapshot does not name the key."""
    holed = F.broadcast(lost.select(*BOOT))
    naming = counted(events, base, observation).where("topics is not null").join(holed, [*BOOT], "left_semi")
    changes = topic_changes(naming).withColumn("whole", F.col("cause") == FOUND_GONE).drop("cause", "early")
    nothing = F.lit(None).cast(changes.schema["value"].dataType)
    first = lost.select(*BOOT, F.lit(0).cast("long").alias("seq"), F.lit(0).cast("long").alias("ts"))
    begun = first.crossJoin(keys).select(
        *BOOT, "seq", "ts", *TOPIC, nothing.alias("value"), F.lit(False).alias("whole")
    )
    passed_over = _passed_over(changes, base.snapshots.join(holed, [*BOOT], "left_semi"), keys)
    absent = passed_over.select(
        *BOOT, F.col("end_seq").alias("seq"), F.col("end_ts").alias("ts"), *TOPIC, nothing.alias("value"),
        F.lit(True).alias("whole"),
    )  # fmt: skip
    return begun.unionByName(changes).unionByName(absent)


def _passed_over(changes: DataFrame, snapshots: DataFrame, keys: DataFrame) -> DataFrame:
    """The snapshots with each key that no record between their beginning and their end names: it was not there."""
    named = changes.select(*BOOT, *TOPIC, F.col("seq").alias("named"))
    of_keys = F.broadcast(snapshots).crossJoin(keys).alias("s")
    during = F.col("named").between(F.col("s.snap"), F.col("s.end_seq"))
    same = [F.col(f"s.{name}") == F.col(f"n.{name}") for name in (*BOOT, *TOPIC)]
    return of_keys.join(named.alias("n"), [*same, during], "left_anti")


def _between(hole: Column) -> Column:
    """Whether the hole lies between a row and the next one of its key."""
    before_next = F.coalesce(hole["until"] <= F.col("next.seq"), F.lit(True))
    return (hole["after"] >= F.col("seq")) & before_next


def _proven() -> Column:
    """Whether the next record of the key is in a snapshot, with the value from before the hole."""
    same = F.col("value").eqNullSafe(F.col("next.value"))
    return F.coalesce(F.col("next.whole") & same, F.lit(False))


def _within_uptime(doubtful: DataFrame, uptime: DataFrame) -> DataFrame:
    up = uptime.select(*BOOT, F.col("t1").alias("up_t1"), F.col("t2").alias("up_t2"))
    return (
        doubtful.join(F.broadcast(up), [*BOOT], "inner")
        .withColumns({"t1": F.greatest("begin", "up_t1"), "t2": F.least("end", "up_t2")})
        .where("t1 < t2")
    )
