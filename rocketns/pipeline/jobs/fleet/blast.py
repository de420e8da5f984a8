"""What goes if one broker or one zone goes: the topics that then have no master, or no write queue, at the end.

docs/audit-definitions.md, section 3, defines each column.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import conform
from rocketns.pipeline.contract.schema import BLAST_RADIUS, SOLE_TOPICS
from rocketns.pipeline.jobs.topics import with_kind

MASTER, WRITE = 0, 2
SAMPLE_MAX = 5


def sole_topics(
    topic_intervals: DataFrame, broker_intervals: DataFrame, ns_uptime: DataFrame, system_topics: DataFrame
) -> DataFrame:
    """SOLE_TOPICS: one grouping of the last routes by topic."""
    end = F.broadcast(ns_uptime.agg(F.max("t2").alias("end")))
    still = F.col("t2") >= F.col("end")
    masters = F.broadcast(
        broker_intervals.where(F.col("bid") == MASTER)
        .join(end, still, "inner")
        .groupBy("broker")
        .agg(F.max("zone").alias("zone"))
    )
    width = F.when(F.col("p").bitwiseAND(WRITE) != 0, F.col("w")).otherwise(0)
    last = topic_intervals.join(end, still, "inner").repartition("topic")
    brokers = last.groupBy("topic", "broker").agg(F.max(width).alias("w"))
    writes = F.col("w") > 0
    of_topic = (
        brokers.join(masters, "broker", "inner")
        .groupBy("topic")
        .agg(
            F.array(_scope("broker"), _scope("zone")).alias("scopes"),
            F.coalesce(F.sum(F.when(writes, F.col("w"))), F.lit(0)).alias("queues"),
        )
        .select("topic", "queues", F.explode("scopes").alias("of"))
        .select("topic", "queues", "of.*")
    )
    lost = of_topic.where("master is not null or writer is not null").withColumns(
        {
            "name": F.coalesce("writer", "master"),
            "loses_masters": F.col("master").isNotNull(),
            "loses_writes": F.col("writer").isNotNull(),
            "queues": F.when(F.col("writer").isNotNull(), F.col("queues")).otherwise(0),
        }
    )
    return conform(with_kind(lost, system_topics), SOLE_TOPICS)


def blast_radius(sole_topics: DataFrame) -> DataFrame:
    """BLAST_RADIUS, of SOLE_TOPICS."""
    names = F.sort_array(F.collect_list("topic"))
    radius = (
        sole_topics.where("kind = 'user'")
        .groupBy("scope", "name")
        .agg(
            F.count_if("loses_masters").alias("no_master"),
            F.count_if("loses_writes").alias("no_write"),
            F.sum("queues").alias("queues"),
            F.slice(names, 1, SAMPLE_MAX).alias("sample"),
        )
    )
    return conform(radius, BLAST_RADIUS)


def _scope(name: str) -> Column:
    """scope, master, writer: the only broker (or zone) with a master, and the only one with write queues; null if
    there are several, none, or a broker without a zone among them."""
    writes = F.col("w") > 0
    return F.struct(
        F.lit(name).alias("scope"),
        _only(F.col(name)).alias("master"),
        _only(F.when(writes, F.col(name)), F.count_if(writes)).alias("writer"),
    )


def _only(value: Column, of: Column | None = None) -> Column:
    """The value of a group if all its rows have it; ``of``: the number of rows that count, all by default."""
    count = F.count(F.lit(1)) if of is None else of
    return F.when((F.min(value) == F.max(value)) & (F.count(value) == count), F.max(value))
