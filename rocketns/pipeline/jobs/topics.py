"""Job (f): the topics and their queues, day by day; which topics nobody asks for, which are asked for most, which lie
unevenly on their brokers.

Every frame has ``kind``: user, system, retry (``%RETRY%``) or dlq (``%DLQ%``): the last three are reported apart.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.schema import Observation, columns, conform

DAY_US = 86_400_000_000
DEAD_DAYS = 7
# The shortest time that a name server must be up in a day for its lookups of the day to be expected.
COVERED_US = 3_600_000_000
# How an interval ends that the name server's own end closed: nothing is known of the topic from then on.
NS_ENDINGS = ["open", "stop", "start", "lost", "silent"]
# org.apache.rocketmq.common.topic.TopicValidator, 5.5.0
SYSTEM_TOPICS = [
    "TBW102", "SCHEDULE_TOPIC_XXXX", "BenchmarkTest", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC",
    "RMQ_SYS_TRACE_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC",
    "TRANS_CHECK_MAX_TIME_TOPIC", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT", "CHECKPOINT_TOPIC",
]  # fmt: skip
SYSTEM_PREFIX = "rmq_sys_"

# Of each UTC day (day: "2025-01-31"): topics present at any time of it, and their read queues.
TOPIC_DAYS = columns("day:string kind:string topics:long queues:long")
# created: first seen; removed: null if it was there at the end or the last who knew it stopped.
TOPIC_INVENTORY = columns("topic:string kind:string brokers:long queues:long created:long removed:long")
DEAD_TOPICS = columns("topic:string kind:string queues:long created:long last_lookup:long days:int")
HOT_TOPICS = columns("topic:string kind:string rank:int n:long miss:long share:double per_s:double")
# of the read queues that each broker has at the end
SKEW = columns("topic:string kind:string brokers:long r_min:int r_max:int r_mean:double skew:double")


def system_names(broker_intervals: DataFrame) -> DataFrame:
    """topic: the topics that each broker makes for itself: its own name, its cluster's, the cluster's reply topic."""
    cluster, reply = F.col("cluster"), F.concat("cluster", F.lit("_REPLY_TOPIC"))
    names = F.explode(F.array("broker", cluster, reply))
    return broker_intervals.select("cluster", "broker").distinct().select(names.alias("topic")).distinct()


def without_unread(segments: DataFrame, names: DataFrame, members: DataFrame) -> DataFrame:
    """``segments`` (topic, …) without system topics that nobody of ``members`` (topic, …) asked for: brokers make them
    for themselves, and on every broker, so that they would hide what matters to consumers."""
    kinds = with_kind(segments.select("topic").distinct(), names)
    unread = kinds.where("kind = 'system'").join(F.broadcast(members.select("topic").distinct()), "topic", "left_anti")
    return segments.join(F.broadcast(unread), "topic", "left_anti")


def with_kind(frame: DataFrame, names: DataFrame) -> DataFrame:
    """``frame`` (topic, …) with its ``kind``; ``names`` as from ``system_names``."""
    own = F.broadcast(names.select("topic", F.lit(True).alias("own")))
    return frame.join(own, "topic", "left").withColumn("kind", _kind(F.col("topic"), F.col("own"))).drop("own")


def topic_days(topic_intervals: DataFrame, names: DataFrame) -> DataFrame:
    """TOPIC_DAYS. A broker's queues of a topic count once, with their largest number of the day on any name server."""
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
        with_kind(of_topic, names).groupBy("days", "kind").agg(F.count("r").alias("topics"), F.sum("r").alias("queues"))
    )
    date = F.date_format(F.date_from_unix_date(F.col("days").cast("int")), "yyyy-MM-dd")
    return conform(counted.withColumn("day", date), TOPIC_DAYS)


def topic_inventory(topic_intervals: DataFrame, ns_uptime: DataFrame, names: DataFrame, seen: Observation) -> DataFrame:
    """TOPIC_INVENTORY. Brokers and queues are those at the end, 0 if there are none."""
    last, last_unknown = F.max("t2"), F.max(F.when(F.col("end_cause").isin(NS_ENDINGS), F.col("t2")))
    gone = (last < seen.t1) & (last_unknown.isNull() | (last > last_unknown))
    lives = topic_intervals.groupBy("topic").agg(F.min("t1").alias("created"), F.when(gone, last).alias("removed"))
    now = (
        present_at_end(topic_intervals, ns_uptime)
        .groupBy("topic")
        .agg(F.count("broker").alias("brokers"), F.sum("r").alias("queues"))
    )
    frame = with_kind(lives.join(now, "topic", "left"), names)
    return conform(
        frame.withColumns({"brokers": F.coalesce("brokers", F.lit(0)), "queues": F.coalesce("queues", F.lit(0))}),
        TOPIC_INVENTORY,
    )


def present_at_end(topic_intervals: DataFrame, ns_uptime: DataFrame) -> DataFrame:
    """topic, broker, r: what a name server that lived longest still had; the largest r where they differ."""
    end = F.broadcast(ns_uptime.agg(F.max("t2").alias("end")))
    return (
        topic_intervals.join(end, F.col("t2") >= F.col("end"), "inner")
        .groupBy("topic", "broker")
        .agg(F.max("r").alias("r"))
    )


def dead_topics(
    topic_intervals: DataFrame,
    events: DataFrame,
    ns_uptime: DataFrame,
    names: DataFrame,
    seen: Observation,
    days: int = DEAD_DAYS,
) -> DataFrame:
    """DEAD_TOPICS: present for the last ``days`` days and asked for by nobody. Empty where a name server that was up on
    one of these days wrote no lookup: then nobody can tell."""
    since = seen.t1 - days * DAY_US
    asked = lookups(events, seen).groupBy("topic").agg(F.max("ts").alias("last_lookup"))
    there = topic_inventory(topic_intervals, ns_uptime, names, seen).where(
        (F.col("queues") > 0) & (F.col("created") <= since)
    )
    quiet = F.col("last_lookup").isNull() | (F.col("last_lookup") < since)
    uncovered = F.broadcast(uncovered_days(events, ns_uptime, seen, days).select(F.lit(1)).limit(1))
    return conform(
        there.join(asked, "topic", "left")
        .where(quiet)
        .join(uncovered, F.lit(True), "left_anti")
        .withColumn("days", F.lit(days)),
        DEAD_TOPICS,
    )


def uncovered_days(events: DataFrame, ns_uptime: DataFrame, seen: Observation, days: int) -> DataFrame:
    """ns, ago: which name server wrote no lookup on which of the last ``days`` 24-hour days before the end, though it
    was up for COVERED_US of it. ``ns`` is null for a day on which no name server was."""
    ago = F.explode(F.sequence(F.lit(0), F.lit(days - 1)))
    day = ns_uptime.select("ns", "t1", "t2", ago.alias("ago"))
    end = F.lit(seen.t1) - F.col("ago") * DAY_US
    up = F.least(F.col("t2"), end) - F.greatest(F.col("t1"), end - DAY_US)
    expected = (
        day.groupBy("ns", "ago").agg(F.sum(F.greatest(up, F.lit(0))).alias("up")).where(F.col("up") >= COVERED_US)
    )
    wrote = lookups(events, seen).select("ns", F.expr(f"({seen.t1 - 1} - ts) div {DAY_US}").alias("ago")).distinct()
    all_days = expected.sparkSession.range(days).select(F.col("id").alias("ago"))
    nobody = all_days.join(expected, "ago", "left_anti").select(F.lit(None).cast("string").alias("ns"), "ago")
    return expected.join(wrote, ["ns", "ago"], "left_anti").select("ns", "ago").unionByName(nobody)


def hot_topics(events: DataFrame, names: DataFrame, seen: Observation) -> DataFrame:
    """HOT_TOPICS: ranked by lookups within their kind; ``share`` of all lookups."""
    asked = lookups(events, seen).groupBy("topic").agg(F.sum("n").alias("n"), F.sum("miss").alias("miss"))
    order = Window.partitionBy("kind").orderBy(F.col("n").desc(), "topic")
    total = F.broadcast(asked.agg(F.sum("n").alias("total")))
    return conform(
        with_kind(asked, names)
        .crossJoin(total)
        .withColumns(
            {
                "rank": F.row_number().over(order),
                "share": F.try_divide("n", "total"),
                "per_s": F.col("n") / F.lit((seen.t1 - seen.t0) / 1e6),
            }
        ),
        HOT_TOPICS,
    )


def skew(topic_intervals: DataFrame, ns_uptime: DataFrame, names: DataFrame) -> DataFrame:
    """SKEW: the most read queues on a broker over their mean; 1 is even. A topic without read queues has none."""
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
    return conform(with_kind(of_topic, names).withColumn("skew", F.try_divide("r_max", "r_mean")), SKEW)


def lookups(events: DataFrame, seen: Observation) -> DataFrame:
    """ns, ts, topic, client, n, miss, iv_ms: the lookup rows of the observation that name a topic."""
    inside = (F.col("ts") >= seen.t0) & (F.col("ts") < seen.t1)
    named = F.col("topic").isNotNull() & (F.col("topic") != "*")
    return events.where((F.col("ev") == "lookup") & inside & named).select(
        "ns", "ts", "topic", "client", "n", F.coalesce("miss", F.lit(0)).alias("miss"), "iv_ms"
    )


def _kind(topic: Column, own: Column) -> Column:
    system = topic.isin(SYSTEM_TOPICS) | topic.startswith(SYSTEM_PREFIX) | own
    return (
        F.when(topic.startswith("%RETRY%"), "retry")
        .when(topic.startswith("%DLQ%"), "dlq")
        .when(system, "system")
        .otherwise("user")
    )
