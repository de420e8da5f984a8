"""How topics, routes and the largest frames grow, and when a frame reaches its limit. Sizes are estimates.

docs/audit-definitions.md, section 6, defines each column.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Observation, conform
from rocketns.pipeline.contract.schema import GROWTH, GROWTH_LIMITS
from rocketns.pipeline.contract.times import DAY_US

# com.rocketmq.remoting.frameMaxLength
FRAME_BYTES_MAX = 16 * 1024 * 1024
# Bytes of RegisterBrokerBody in the JSON of a 5.x broker, with its frame and header; each topic's name is in it twice.
REGISTRATION_BYTES, TOPIC_BYTES = 663, 144
# Bytes of the answer to GET_ALL_TOPIC_LIST_FROM_NAMESERVER (206); a name has quotes and a comma.
LIST_BYTES, NAME_BYTES = 170, 3
HISTORY_DAYS, HISTORY_DAYS_MIN = 90, 3
AHEAD_DAYS = 3650


def sizes(topic_intervals: DataFrame, observation: Observation) -> DataFrame:
    """broker, day (since the epoch), n, bytes: a broker's topics and the size of its registration at the end of the
    day. Where broker is null: all topics, and the size of the list of their names."""
    lives = topic_intervals.groupBy("topic", "broker").agg(F.min("t1").alias("t1"), F.max("t2").alias("t2"))
    length = F.octet_length("topic")
    of_broker = lives.select("broker", "t1", "t2", (2 * length + TOPIC_BYTES).alias("size"))
    of_all = lives.groupBy("topic").agg(F.min("t1").alias("t1"), F.max("t2").alias("t2"))
    names = of_all.select(F.lit(None).cast("string").alias("broker"), "t1", "t2", (length + NAME_BYTES).alias("size"))
    begin, end = _change("t1", 1), F.when(F.col("t2") < observation.t1, _change("t2", -1))
    steps = (
        of_broker.unionByName(names)
        .select("broker", "size", F.explode(F.array(begin, end)).alias("change"))
        .where("change is not null")
        .groupBy("broker", F.col("change.day").alias("day"))
        .agg(F.sum("change.by").alias("n"), F.sum(F.col("change.by") * F.col("size")).alias("bytes"))
    )
    return _each_day(steps, (observation.t1 - 1) // DAY_US)


def growth(sizes: DataFrame) -> DataFrame:
    """GROWTH, of ``sizes``."""
    of_broker = F.when(F.col("broker").isNotNull(), F.struct("bytes", "broker"))
    by_day = (
        sizes.groupBy("day")
        .agg(
            F.max(F.when(F.col("broker").isNull(), F.col("n"))).alias("topics"),
            F.max(F.when(F.col("broker").isNull(), F.col("bytes"))).alias("list_bytes"),
            F.sum(F.when(F.col("broker").isNotNull(), F.col("n"))).alias("entries"),
            F.count("broker").alias("brokers"),
            F.max(of_broker).alias("largest"),
        )
        .withColumns(
            {
                "broker": F.col("largest.broker"),
                "registration_bytes": F.col("largest.bytes") + REGISTRATION_BYTES,
                "list_bytes": F.col("list_bytes") + LIST_BYTES,
                "day": F.date_format(F.date_from_unix_date(F.col("day").cast("int")), "yyyy-MM-dd"),
            }
        )
    )
    return conform(by_day, GROWTH)


def growth_limits(growth: DataFrame, observation: Observation) -> DataFrame:
    """GROWTH_LIMITS, of GROWTH."""
    measures = F.array(_measure("registration", "registration_bytes"), _measure("topic_list", "list_bytes"))
    last_days = (observation.t1 - 1) // DAY_US - HISTORY_DAYS
    days = growth.select(F.unix_date(F.to_date("day")).alias("x"), F.explode(measures).alias("of")).where(
        F.col("x") > last_days
    )
    slope = F.when(F.count("*") >= HISTORY_DAYS_MIN, F.regr_slope("of.bytes", "x"))
    trends = days.groupBy(F.col("of.measure").alias("measure")).agg(
        F.max_by("of.bytes", "x").alias("now"), slope.alias("per_day")
    )
    ahead = F.when(F.col("now") >= FRAME_BYTES_MAX, F.lit(0.0)).when(
        F.col("per_day") > 0, (FRAME_BYTES_MAX - F.col("now")) / F.col("per_day")
    )
    reached = F.when(F.col("ahead") <= AHEAD_DAYS, F.lit(observation.t1) + F.floor(F.col("ahead") * DAY_US))
    judged = trends.withColumn("ahead", ahead).withColumns(
        {"limit": F.lit(FRAME_BYTES_MAX), "used": F.col("now") / FRAME_BYTES_MAX, "reached": reached}
    )
    return conform(judged, GROWTH_LIMITS)


def _change(at: str, by: int) -> Column:
    return F.struct(F.expr(f"{at} div {DAY_US}").alias("day"), F.lit(by).alias("by"))


def _each_day(steps: DataFrame, last_day: int) -> DataFrame:
    """The running sums of the steps on each day from the first step on; days with nothing are left out."""
    in_order = Window.partitionBy("broker").orderBy("day")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    until = F.coalesce(F.lead("day").over(in_order) - 1, F.lit(last_day))
    sums = [F.sum(name).over(so_far).alias(name) for name in ("n", "bytes")]
    held = steps.select("broker", "day", until.alias("until"), *sums)
    days = F.explode(F.sequence("day", "until")).alias("day")
    return held.where("n > 0 and day <= until").select("broker", days, "n", "bytes")


def _measure(name: str, column: str) -> Column:
    return F.struct(F.lit(name).alias("measure"), F.col(column).alias("bytes"))
