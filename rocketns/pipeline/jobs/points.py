"""What each name server showed of a key (topic, broker), as points in time. What differs is found in one sweep over
them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.causes import LOST_RECORDS, STARTED, WATCHED
from rocketns.pipeline.jobs.history.state import TOPIC, VALUE

VALUE_TYPE = "struct<r:int,w:int,p:int>"
# Of several points at the same time, the one with the highest rank applies.
END_OF_DOUBT, DOUBT, CLOSES, GOES_DOWN, COMES_UP, OPENS = range(6)


def points_of(
    topic_intervals: DataFrame,
    ns_uptime: DataFrame,
    topic_doubts: DataFrame | None = None,
) -> DataFrame:
    """What applies from ``t`` on: topic, broker, ns, t, known, value (null: absent), place (a number of the value among
    those of the key), sure (known, and not in doubt), cause, early (by how much earlier an observed change may have
    come, us); one row per time and name server.

    With ``topic_doubts``, doubt that begins or ends is a point too.
    """
    points = _of_intervals(topic_intervals).unionByName(_of_servers(topic_intervals, knowing_topics(ns_uptime)))
    if topic_doubts is not None:
        points = points.unionByName(_of_doubts(topic_doubts))
    # The windows by key come first: then what is sorted by key is not sent around again for each name server.
    numbered = points.withColumn("place", F.dense_rank().over(Window.partitionBy(*TOPIC).orderBy("value")).cast("long"))
    found = _filled(numbered).where("next_t is null or next_t > t")
    known = F.coalesce("last.known", F.lit(False))  # a doubt may come before the first point that was not left out
    sure = known & ~F.coalesce("doubt", F.lit(False))
    return found.select(
        *TOPIC, "ns", "t", known.alias("known"), "last.value", "place", sure.alias("sure"), "cause", "early"
    )


def knowing_topics(ns_uptime: DataFrame) -> DataFrame:
    """Without the boots of observers to whom the name server did not list its topics: nobody knows what it has."""
    return ns_uptime.where(~F.coalesce("no_topics", F.lit(False)))


def _filled(points: DataFrame) -> DataFrame:
    """With ``next_t``, and on each point the latest state so far: ``last`` (known, value), its place, doubt."""
    in_order = Window.partitionBy(*TOPIC, "ns").orderBy("t", "rank")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    tells = F.col("known").isNotNull()
    latest = {
        "last": F.when(tells, F.struct("known", "value")),
        "place": F.when(tells, F.col("place")),
        "doubt": F.col("doubt"),
    }
    return points.select(
        *TOPIC, "ns", "t", "cause", "early", F.lead("t").over(in_order).alias("next_t"),
        *[F.last(column, ignorenulls=True).over(so_far).alias(name) for name, column in latest.items()],
    )  # fmt: skip


def _of_intervals(topic_intervals: DataFrame) -> DataFrame:
    opens = _point("t1", OPENS, cause=F.col("cause"), known=True, value=F.struct(*VALUE), early="t1_early")
    closes = _point("t2", CLOSES, cause=F.col("end_cause"), known=True, early="t2_early")
    keys = (*TOPIC, "ns")
    return topic_intervals.select(*keys, *opens).unionByName(topic_intervals.select(*keys, *closes))


def _of_servers(topic_intervals: DataFrame, ns_uptime: DataFrame) -> DataFrame:
    """Each key is absent at first, and unknown when the name server has ended."""
    comes = _point("t1", COMES_UP, cause=F.when(F.col("observed"), WATCHED).otherwise(STARTED), known=True)
    goes = _point("t2", GOES_DOWN, cause=F.col("end_cause"), known=False)
    point = F.explode(F.array(F.struct(*comes), F.struct(*goes))).alias("point")
    keys = topic_intervals.select(*TOPIC).distinct()
    return keys.join(F.broadcast(ns_uptime.select("ns", point)), how="cross").select(*TOPIC, "ns", "point.*")


def _of_doubts(topic_doubts: DataFrame) -> DataFrame:
    begins = _point("t1", DOUBT, cause=F.lit(LOST_RECORDS), doubt=True)
    ends = _point("t2", END_OF_DOUBT, cause=F.lit(LOST_RECORDS), doubt=False)
    point = F.explode(F.array(F.struct(*begins), F.struct(*ends))).alias("point")
    return topic_doubts.select(*TOPIC, "ns", point).select(*TOPIC, "ns", "point.*")


def _point(
    time: str,
    rank: int,
    *,
    cause: Column,
    known: bool | None = None,
    value: Column | None = None,
    doubt: bool | None = None,
    early: str | None = None,
) -> list[Column]:
    """A point with a value (null: absent). If ``known`` is None it says only whether there is ``doubt``. ``early``: the
    column that has by how much."""
    nothing = F.lit(None).cast(VALUE_TYPE)
    return [
        F.col(time).alias("t"), F.lit(rank).alias("rank"), F.lit(known).cast("boolean").alias("known"),
        (nothing if value is None else value).alias("value"), F.lit(doubt).cast("boolean").alias("doubt"),
        cause.alias("cause"), (F.lit(0) if early is None else F.coalesce(early, F.lit(0))).cast("long").alias("early"),
    ]  # fmt: skip
