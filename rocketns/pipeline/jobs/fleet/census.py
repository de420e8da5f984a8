"""Who asks for routes: clients with their languages and releases, how often they poll, who asks for missing topics.

docs/audit-definitions.md, section 1, defines each column.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import conform, each
from rocketns.pipeline.contract.schema import CLIENT_CENSUS, CLIENTS, MISSING_ASKERS
from rocketns.pipeline.jobs.earlier.tallies import named
from rocketns.pipeline.jobs.topics import with_kind

# Half of pollNameServerInterval, the 30 s of RocketMQ's clients.
FAST_POLL_S = 15
# org.apache.rocketmq.common.MQVersion, 5.5.0: V5_0_0 is 413, each release and each snapshot takes one number, and each
# minor version has ten releases. Numbers before 4.0.0 are irregular.
V5_0_0, V4_0_0 = 413, 213
CALLER = ("client", "lang", "cv")


def asked(callers: DataFrame) -> DataFrame:
    """CALLER, topic, n, miss, iv_ms, ns, t1, t2: what each caller asked for, of CALLERS."""
    return (
        named(callers)
        .groupBy(*CALLER, "topic")
        .agg(*each(F.sum, "n", "miss", "iv_ms"), *each(F.collect_set, "ns"), *each(F.min, "t1"), *each(F.max, "t2"))
    )


def clients(asked: DataFrame) -> DataFrame:
    """CLIENTS, of ``asked``."""
    callers = asked.groupBy(*CALLER).agg(
        F.sort_array(F.array_distinct(F.flatten(F.collect_list("ns")))).alias("ns"),
        F.count("*").alias("topics"),
        *each(F.sum, "n", "miss", "iv_ms"),
        *each(F.min, "t1"),
        *each(F.max, "t2"),
    )
    poll_s = F.when(F.col("client").isNotNull(), F.try_divide(F.col("iv_ms") / 1000, "n"))
    return conform(callers.withColumn("poll_s", poll_s), CLIENTS)


def client_census(clients: DataFrame) -> DataFrame:
    """CLIENT_CENSUS, of CLIENTS."""
    host = F.regexp_extract("client", r"^(.*):[^:]*$", 1)
    versions = clients.groupBy("lang", "cv").agg(
        F.count("client").alias("clients"),
        F.size(F.collect_set(host)).alias("hosts"),
        *each(F.sum, "n", "miss"),
        F.percentile("poll_s", F.lit(0.5)).alias("poll_p50"),
        F.count_if(F.col("poll_s") < FAST_POLL_S).alias("fast"),
    )
    total = F.sum("n").over(Window.partitionBy())
    return conform(
        versions.withColumns({"release": release(F.col("cv")), "share": F.try_divide("n", total)}), CLIENT_CENSUS
    )


def missing_askers(asked: DataFrame, system_topics: DataFrame) -> DataFrame:
    """MISSING_ASKERS, of ``asked``."""
    missed = with_kind(asked.where("miss > 0"), system_topics)
    return conform(missed.withColumn("ns", F.sort_array("ns")), MISSING_ASKERS)


def release(cv: Column) -> Column:
    """``4.9.3`` of 399; null of a snapshot, and of a number that no release has."""
    digits = (F.floor((cv - V5_0_0) / 2) + 500).cast("string")
    named = F.concat_ws(".", F.substring(digits, 1, 1), F.substring(digits, 2, 1), F.substring(digits, 3, 1))
    return F.when((cv >= V4_0_0) & (cv % 2 == 1) & (F.length(digits) == 3), named)
