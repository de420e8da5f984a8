"""Brokers whose user topics nobody may write to any more, as all name servers say that list them.

Name servers agree there, so no window shows it: a wiped write permission, or topics that were made read-only. What a
broker registers as read-only from the beginning is meant to be so, and does not count.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Observation, conform, each
from rocketns.pipeline.contract.schema import UNWRITABLE
from rocketns.pipeline.contract.terms import MIN_WINDOW_US
from rocketns.pipeline.jobs.state import TOPIC
from rocketns.pipeline.jobs.topics import SAMPLE_MAX, WRITE, with_kind

TOGETHER_US = 10_000_000  # topics that lose it, and have it again, within this time make one row


def unwritable(
    topic_intervals: DataFrame, system_topics: DataFrame, observation: Observation, min_window_us: int = MIN_WINDOW_US
) -> DataFrame:
    """UNWRITABLE, of at least ``min_window_us``."""
    may = (F.col("p").bitwiseAND(WRITE) != 0) & (F.col("w") > 0)
    users = with_kind(topic_intervals, system_topics).where("kind = 'user'").withColumn("may", may)
    spans = _spans(users, observation).where(
        (F.col("t2") - F.col("t1") >= min_window_us) & (F.col("t1") >= observation.t0) & (F.col("t1") < observation.t1)
    )
    return conform(_of_brokers(_with_others(spans, users)), UNWRITABLE)


def _spans(users: DataFrame, observation: Observation) -> DataFrame:
    """TOPIC, t1, t2, t1_early, t2_early, cause, queues: from the loss of the last permission to write, while a name
    server still lists the topic on the broker, until there is one again or nobody lists it."""
    in_order = Window.partitionBy(*TOPIC, "ns").orderBy("t1")
    lost = ~F.col("may") & F.lag("may").over(in_order) & (F.lag("t2").over(in_order) == F.col("t1"))
    keys = users.withColumn("lost", lost).where("lost").select(*TOPIC).distinct()
    of_keys = users.join(F.broadcast(keys), [*TOPIC], "left_semi")

    def edge(time: str, by: int, early: str) -> Column:
        return F.struct(F.col(time).alias("t"), F.lit(by).alias("by"), F.coalesce(early, F.lit(0)).alias("early"))

    edges = F.explode(F.array(edge("t1", 1, "t1_early"), edge("t2", -1, "t2_early"))).alias("edge")
    opens = F.when(~F.col("may") & (F.col("edge.by") > 0), F.col("cause"))
    steps = (
        of_keys.select(*TOPIC, "ns", "may", "w", "cause", edges)
        .groupBy(*TOPIC, F.col("edge.t").alias("t"))
        .agg(
            F.sum(F.when(F.col("may"), F.col("edge.by")).otherwise(0)).alias("may"),
            F.sum(F.when(~F.col("may"), F.col("edge.by")).otherwise(0)).alias("must_not"),
            F.max("edge.early").alias("early"),
            F.max(opens).alias("cause"),
            F.max("w").alias("queues"),
        )
    )
    by_time = Window.partitionBy(*TOPIC).orderBy("t")
    so_far = by_time.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    sums = steps.withColumns({name: F.sum(name).over(so_far) for name in ("may", "must_not")})
    shut = (F.col("may") == 0) & (F.col("must_not") > 0)
    began = shut & (F.coalesce(F.lag("may").over(by_time), F.lit(0)) > 0)
    turns = sums.withColumns({"shut": shut, "began": began, "was": F.coalesce(F.lag(shut).over(by_time), F.lit(False))})
    marked = turns.where("shut <> was").withColumns(
        {"t2": F.coalesce(F.lead("t").over(by_time), F.lit(observation.t1)), "t2_early": F.lead("early").over(by_time)}
    )
    return marked.where("began").select(
        *TOPIC, F.col("t").alias("t1"), "t2", F.col("early").alias("t1_early"),
        F.coalesce("t2_early", F.lit(0)).alias("t2_early"), "cause", "queues",
    )  # fmt: skip


def _with_others(spans: DataFrame, users: DataFrame) -> DataFrame:
    """The spans with ``ns``, the name servers that listed the broker with the topic, and ``alone``: no other broker
    could be sent the topic's messages at any time of it."""
    named = users.select("topic", "ns", "may", "broker", "t1", "t2").withColumnsRenamed(
        {"broker": "by", "t1": "o1", "t2": "o2"}
    )
    own = F.col("by") == F.col("broker")
    meanwhile = (F.col("o1") < F.col("t2")) & (F.col("o2") > F.col("t1"))
    names = F.collect_set(F.when(own, F.col("ns"))).alias("ns")
    alone = (F.count_if(~own & F.col("may")) == 0).alias("alone")
    return spans.join(named, "topic", "inner").where(meanwhile).groupBy(*spans.columns).agg(names, alone)


def _of_brokers(spans: DataFrame) -> DataFrame:
    """Spans of a broker that begin and end together as one row."""
    in_order = Window.partitionBy("broker").orderBy("t1", "t2", "topic")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    apart = (F.col("t1") - F.lag("t1").over(in_order) > TOGETHER_US) | (
        F.abs(F.col("t2") - F.lag("t2").over(in_order)) > TOGETHER_US
    )
    begins = F.coalesce(apart, F.lit(True)).cast("int")
    # Topics without another broker come first.
    names = F.sort_array(F.collect_list(F.struct((~F.col("alone")).alias("other"), "topic")))
    return (
        spans.withColumn("row", F.sum(begins).over(so_far))
        .groupBy("broker", "row")
        .agg(
            *each(F.min, "t1", "cause"),
            *each(F.max, "t2", "t1_early", "t2_early"),
            F.sort_array(F.array_distinct(F.flatten(F.collect_list("ns")))).alias("ns"),
            F.count("*").alias("topics"),
            F.count_if("alone").alias("alone"),
            F.coalesce(F.sum(F.when(F.col("alone"), F.col("queues"))), F.lit(0)).alias("queues"),
            F.slice(names, 1, SAMPLE_MAX)["topic"].alias("topic_sample"),
        )
    )
