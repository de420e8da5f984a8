"""Storms of registrations at a name server: who registered, in which order, how many topics and bytes that brought.

docs/audit-definitions.md, section 4, defines each column.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.record import MEMBER
from rocketns.pipeline.contract.defaults import TIMEOUT_MS
from rocketns.pipeline.contract.frames import conform, each
from rocketns.pipeline.contract.schema import STORM_REGISTRATIONS, STORMS
from rocketns.pipeline.contract.times import DAY_US, SECOND_US
from rocketns.pipeline.jobs.fleet.growth import REGISTRATION_BYTES

APART_US = 30_000_000  # brokers register every 30 s
STORM_MIN = 5
SAME_REQUEST_US = 1_000_000  # a registration and the topics that it brings are written within this time
BOOT = ("ns", "up_t1")


def storm_registrations(
    broker_intervals: DataFrame, topic_intervals: DataFrame, ns_uptime: DataFrame, sizes: DataFrame
) -> DataFrame:
    """STORM_REGISTRATIONS. ``sizes``: of growth.sizes."""
    size = (F.col("bytes") + REGISTRATION_BYTES).alias("bytes")
    bodies = sizes.where("broker is not null").select("broker", "day", size)
    puts = F.filter("puts", lambda put: put["t"].between(F.col("t"), F.col("t") + SAME_REQUEST_US))
    registrations = (
        _in_storms(_registrations(broker_intervals, ns_uptime))
        .withColumn("day", F.expr(f"t div {DAY_US}"))
        .join(F.broadcast(bodies), ["broker", "day"], "left")
        .join(_puts(topic_intervals), ["ns", "broker"], "left")
        .withColumn("topics", F.aggregate(puts, F.lit(0).cast("long"), lambda before, put: before + put["n"]))
    )
    return conform(registrations.withColumn("topics", F.coalesce("topics", F.lit(0))), STORM_REGISTRATIONS)


def storms(storm_registrations: DataFrame) -> DataFrame:
    """STORMS, of STORM_REGISTRATIONS."""
    second = F.expr(f"t div {SECOND_US}")
    summed = (
        storm_registrations.groupBy("ns", "storm", "trigger", second.alias("second"))
        .agg(
            F.count("*").alias("n"),
            F.collect_set("broker").alias("names"),
            *each(F.sum, "topics", "bytes"),
            F.max("t").alias("t2"),
            F.min_by("broker", "place").alias("first"),
            F.max_by("broker", "place").alias("last"),
        )
        .groupBy("ns", "storm", "trigger")
        .agg(
            *each(F.max, "t2"),
            F.sum("n").alias("registrations"),
            F.size(F.array_distinct(F.flatten(F.collect_list("names")))).alias("brokers"),
            *each(F.sum, "topics", "bytes"),
            F.max("n").alias("peak_s"),
            F.min_by("first", "second").alias("first"),
            F.max_by("last", "second").alias("last"),
        )
    )
    return conform(summed.withColumn("t1", F.col("storm")), STORMS)


def _registrations(broker_intervals: DataFrame, ns_uptime: DataFrame) -> DataFrame:
    """BOOT, t, MEMBER, away_s: what began while its name server was known. What a name server had when it became known
    registered before."""
    boots = F.broadcast(ns_uptime.select("ns", F.col("t1").alias("up_t1"), F.col("t2").alias("up_t2")))
    before = F.lag("t2").over(Window.partitionBy("ns", *MEMBER).orderBy("t1"))
    return (
        broker_intervals.repartition("ns")
        .withColumn("away_s", (F.col("t1") - before) / 1e6)
        .join(boots, "ns", "inner")
        .where("t1 > up_t1 and t1 < up_t2")
        .select(*BOOT, F.col("t1").alias("t"), *MEMBER, "away_s")
    )


def _puts(topic_intervals: DataFrame) -> DataFrame:
    """ns, broker, puts: how many topics (n) came at which time (t) with registrations."""
    put = F.struct(F.col("t1").alias("t"), "n")
    return (
        topic_intervals.where(F.col("cause") == "register")
        .groupBy("ns", "broker", "t1")
        .agg(F.count("*").alias("n"))
        .groupBy("ns", "broker")
        .agg(F.collect_list(put).alias("puts"))
    )


def _in_storms(registrations: DataFrame) -> DataFrame:
    """The registrations of storms, with ``storm`` (its first t), ``place`` and ``trigger``."""
    in_order = Window.partitionBy(*BOOT).orderBy("t", *MEMBER)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    begins = F.coalesce(F.col("t") - F.lag("t").over(in_order) > APART_US, F.lit(True))
    of_run = Window.partitionBy(*BOOT, "storm")
    started = F.col("storm") - F.col("up_t1") <= TIMEOUT_MS * 1000
    returned = F.count("away_s").over(of_run) * 2 > F.count("*").over(of_run)
    return (
        registrations.withColumn("begins", begins)
        .withColumn("storm", F.max(F.when(F.col("begins"), F.col("t"))).over(so_far))
        .withColumns(
            {
                "n": F.count("*").over(of_run),
                "place": F.row_number().over(of_run.orderBy("t", *MEMBER)),
                "trigger": F.when(started, "start").when(returned, "return").otherwise("new"),
            }
        )
        .where(F.col("n") >= STORM_MIN)
    )
