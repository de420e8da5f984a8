"""Topics and their queues: day by day, at the end, dead topics, hot topics, uneven topics.

Every frame has ``kind``: user, system, retry (``%RETRY%``) or dlq (``%DLQ%``). The report lists the last three apart.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.causes import NAME_SERVER_ENDED, STILL_OPEN
from rocketns.pipeline.contract.defaults import DEAD_DAYS
from rocketns.pipeline.contract.frames import Observation, conform
from rocketns.pipeline.contract.schema import DEAD_TOPICS, HOT_TOPICS, SKEW, TOPIC_DAYS, TOPIC_INVENTORY, UNCOVERED_DAYS
from rocketns.pipeline.contract.times import DAY_US
from rocketns.pipeline.jobs.earlier.tallies import named

# A name server that was up for less time of a day is not expected to journal lookups on that day.
COVERED_US = 3_600_000_000
# An interval that ended so says nothing about the topic from then on.
NS_ENDINGS = (STILL_OPEN, *NAME_SERVER_ENDED)
# org.apache.rocketmq.common.topic.TopicValidator, 5.5.0
SYSTEM_TOPICS = [
    "TBW102", "SCHEDULE_TOPIC_XXXX", "BenchmarkTest", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC",
    "RMQ_SYS_TRACE_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC",
    "TRANS_CHECK_MAX_TIME_TOPIC", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT", "CHECKPOINT_TOPIC",
]  # fmt: skip
SYSTEM_PREFIX = "rmq_sys_"


def system_topics(broker_intervals: DataFrame) -> DataFrame:
    """topic: the topics that each broker makes for itself: its name, its cluster's name, the cluster's reply topic."""
    cluster, reply = F.col("cluster"), F.concat("cluster", F.lit("_REPLY_TOPIC"))
    names = F.explode(F.array("broker", cluster, reply))
    return broker_intervals.select("cluster", "broker").distinct().select(names.alias("topic")).distinct()


def without_unread(segments: DataFrame, system_topics: DataFrame, members: DataFrame) -> DataFrame:
    """``segments`` (topic, …) without system topics that no ``members`` (topic, …) looked up. Every broker makes them
    for itself, so they would hide the topics that matter to consumers."""
    kinds = with_kind(segments.select("topic").distinct(), system_topics)
    unread = kinds.where("kind = 'system'").join(F.broadcast(members.select("topic").distinct()), "topic", "left_anti")
    return segments.join(F.broadcast(unread), "topic", "left_anti")


def with_kind(frame: DataFrame, system_topics: DataFrame) -> DataFrame:
    """``frame`` (topic, …) with its ``kind``; ``system_topics`` as the function of that name gives it."""
    own = F.broadcast(system_topics.select("topic", F.lit(True).alias("own")))
    return frame.join(own, "topic", "left").withColumn("kind", _kind(F.col("topic"), F.col("own"))).drop("own")


def topic_days(topic_intervals: DataFrame, system_topics: DataFrame) -> DataFrame:
    """TOPIC_DAYS. A broker's queues of a topic count once, with the day's largest number at any name server."""
    day = F.explode(F.sequence(F.expr(f"t1 div {DAY_US}"), F.expr(f"(t2 - 1) div {DAY_US}")))
    of_topic = (
        topic_intervals.where(F.col("t2") > F.col("t1"))
        .select("topic", "broker", "r", day.alias("days"))
        .groupBy("days", "topic", "broker")
        .agg(F.max("r").alias("r"))
        .groupBy("days", "topic")
        .agg(F.sum("r").alias("r"))
    )
    counted = (
        with_kind(of_topic, system_topics)
        .groupBy("days", "kind")
        .agg(F.count("r").alias("topics"), F.sum("r").alias("queues"))
    )
    date = F.date_format(F.date_from_unix_date(F.col("days").cast("int")), "yyyy-MM-dd")
    return conform(counted.withColumn("day", date), TOPIC_DAYS)


def topic_inventory(
    topic_intervals: DataFrame, ns_uptime: DataFrame, system_topics: DataFrame, observation: Observation
) -> DataFrame:
    """TOPIC_INVENTORY. Brokers and queues are those at the end of the observation, 0 if there are none."""
    last, last_unknown = F.max("t2"), F.max(F.when(F.col("end_cause").isin(*NS_ENDINGS), F.col("t2")))
    gone = (last < observation.t1) & (last_unknown.isNull() | (last > last_unknown))
    lives = topic_intervals.groupBy("topic").agg(F.min("t1").alias("created"), F.when(gone, last).alias("removed"))
    now = (
        present_at_end(topic_intervals, ns_uptime)
        .groupBy("topic")
        .agg(F.count("broker").alias("brokers"), F.sum("r").alias("queues"))
    )
    frame = with_kind(lives.join(now, "topic", "left"), system_topics)
    return conform(
        frame.withColumns({"brokers": F.coalesce("brokers", F.lit(0)), "queues": F.coalesce("queues", F.lit(0))}),
        TOPIC_INVENTORY,
    )


def present_at_end(topic_intervals: DataFrame, ns_uptime: DataFrame) -> DataFrame:
    """topic, broker, r: the queues at name servers that were up to the end; the largest r where they differ."""
    end = F.broadcast(ns_uptime.agg(F.max("t2").alias("end")))
    return (
        topic_intervals.join(end, F.col("t2") >= F.col("end"), "inner")
        .groupBy("topic", "broker")
        .agg(F.max("r").alias("r"))
    )


def dead_topics(
    topic_intervals: DataFrame,
    callers: DataFrame,
    covered: DataFrame,
    ns_uptime: DataFrame,
    system_topics: DataFrame,
    observation: Observation,
    dead_days: int = DEAD_DAYS,
) -> DataFrame:
    """DEAD_TOPICS: present for the last ``dead_days`` days, and never looked up. Empty if a name server that was up on
    one of these days journalled no lookup on it: then it is unknown which topics were looked up. ``callers``: CALLERS,
    ``covered``: COVERED."""
    since = observation.t1 - dead_days * DAY_US
    asked = named(callers).groupBy("topic").agg(F.max("t2").alias("last_lookup"))
    there = topic_inventory(topic_intervals, ns_uptime, system_topics, observation).where(
        (F.col("queues") > 0) & (F.col("created") <= since)
    )
    quiet = F.col("last_lookup").isNull() | (F.col("last_lookup") < since)
    uncovered = F.broadcast(uncovered_days(covered, ns_uptime, observation, dead_days).select(F.lit(1)).limit(1))
    return conform(
        there.join(asked, "topic", "left")
        .where(quiet)
        .join(uncovered, F.lit(True), "left_anti")
        .withColumn("days", F.lit(dead_days)),
        DEAD_TOPICS,
    )


def uncovered_days(covered: DataFrame, ns_uptime: DataFrame, observation: Observation, dead_days: int) -> DataFrame:
    """UNCOVERED_DAYS: which name server journalled no lookup on which of the last ``dead_days`` 24-hour days before the
    end, although it was up for at least COVERED_US of it."""
    ago = F.explode(F.sequence(F.lit(0), F.lit(dead_days - 1)))
    day = ns_uptime.select("ns", "t1", "t2", ago.alias("ago"))
    end = F.lit(observation.t1) - F.col("ago") * DAY_US
    up = F.least(F.col("t2"), end) - F.greatest(F.col("t1"), end - DAY_US)
    expected = (
        day.groupBy("ns", "ago").agg(F.sum(F.greatest(up, F.lit(0))).alias("up")).where(F.col("up") >= COVERED_US)
    )
    ends = F.explode(F.array("first", "last")).alias("ts")  # an hour reaches into two of these days at most
    before_end = F.expr(f"({observation.t1 - 1} - ts) div {DAY_US}")
    wrote = covered.select("ns", ends).select("ns", before_end.alias("ago")).distinct()
    all_days = expected.sparkSession.range(dead_days).select(F.col("id").alias("ago"))
    nobody = all_days.join(expected, "ago", "left_anti").select(F.lit(None).cast("string").alias("ns"), "ago")
    return conform(
        expected.join(wrote, ["ns", "ago"], "left_anti").select("ns", "ago").unionByName(nobody), UNCOVERED_DAYS
    )


def hot_topics(callers: DataFrame, system_topics: DataFrame, observation: Observation) -> DataFrame:
    """HOT_TOPICS: ranked by lookups within their kind; ``share`` of all lookups."""
    asked = named(callers).groupBy("topic").agg(F.sum("n").alias("n"), F.sum("miss").alias("miss"))
    order = Window.partitionBy("kind").orderBy(F.col("n").desc(), "topic")
    total = F.broadcast(asked.agg(F.sum("n").alias("total")))
    return conform(
        with_kind(asked, system_topics)
        .crossJoin(total)
        .withColumns(
            {
                "rank": F.row_number().over(order),
                "share": F.try_divide("n", "total"),
                "per_s": F.col("n") / F.lit((observation.t1 - observation.t0) / 1e6),
            }
        ),
        HOT_TOPICS,
    )


def skew(topic_intervals: DataFrame, ns_uptime: DataFrame, system_topics: DataFrame) -> DataFrame:
    """SKEW: the most read queues on a broker divided by their mean; 1 is even, null without read queues."""
    of_topic = (
        present_at_end(topic_intervals, ns_uptime)
        .groupBy("topic")
        .agg(
            F.count("broker").alias("brokers"),
            F.min("r").alias("r_min"),
            F.max("r").alias("r_max"),
            F.avg("r").alias("r_mean"),
        )
    )
    return conform(with_kind(of_topic, system_topics).withColumn("skew", F.try_divide("r_max", "r_mean")), SKEW)


def _kind(topic: Column, own: Column) -> Column:
    system = topic.isin(SYSTEM_TOPICS) | topic.startswith(SYSTEM_PREFIX) | own
    return (
        F.when(topic.startswith("%RETRY%"), "retry")
        .when(topic.startswith("%DLQ%"), "dlq")
        .when(system, "system")
        .otherwise("user")
    )
