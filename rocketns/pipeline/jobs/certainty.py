"""Which differences of name servers may not be real: after lost records, or shorter than the clocks' uncertainty."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.causes import CLOCKS, LOST_RECORDS
from rocketns.pipeline.contract.times import DAY_US
from rocketns.pipeline.jobs.history.clocks import FAR_US

KEY = ("topic", "broker")


def certain(key_windows: DataFrame) -> DataFrame:
    """The windows that count as a difference of name servers: not those that rest on lost records."""
    return key_windows.where(~F.col("doubt").eqNullSafe(F.lit(LOST_RECORDS)))


def with_sure(points: DataFrame, topic_doubts: DataFrame | None) -> DataFrame:
    """The points with ``sure``: the value is known and not in doubt. Doubt that begins or ends is a point too."""
    if topic_doubts is None:
        return points.withColumn("sure", F.col("known"))
    doubted = F.broadcast(topic_doubts.select(*KEY).distinct())
    told = F.struct("known", "value").alias("told")
    begin = F.struct(F.col("t1").alias("t"), F.lit(True).alias("doubt"))
    end = F.struct(F.col("t2").alias("t"), F.lit(False).alias("doubt"))
    marks = topic_doubts.select(*KEY, "ns", F.explode(F.array(begin, end)).alias("mark")).select(*KEY, "ns", "mark.*")
    in_order = Window.partitionBy(*KEY, "ns").orderBy("t")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    filled = (
        points.join(doubted, [*KEY], "left_semi")
        .select(*KEY, "ns", "t", "cause", told, F.lit(None).cast("boolean").alias("doubt"))
        .unionByName(marks.withColumns({"cause": F.lit(None).cast("string"), "told": _nothing(points)}))
        .groupBy(*KEY, "ns", "t")
        .agg(
            F.first("cause", ignorenulls=True).alias("cause"),
            F.first("told", ignorenulls=True).alias("told"),
            F.max("doubt").alias("doubt"),  # one stretch may begin where another ends
        )
        .withColumn("told", F.last("told", ignorenulls=True).over(so_far))
        .withColumn("doubt", F.coalesce(F.last("doubt", ignorenulls=True).over(so_far), F.lit(False)))
        .select(
            *KEY, "ns", "t", F.coalesce("told.known", F.lit(False)).alias("known"), "told.value",
            F.coalesce("cause", F.lit(LOST_RECORDS)).alias("cause"), "doubt",
        )
        .select("*", (F.col("known") & ~F.col("doubt")).alias("sure"))
        .drop("doubt")
    )  # fmt: skip
    untouched = points.join(doubted, [*KEY], "left_anti").withColumn("sure", F.col("known"))
    return untouched.unionByName(filled)


def with_clocks(windows: DataFrame, clock_days: DataFrame) -> DataFrame:
    """The windows with CLOCKS as doubt where they are shorter than the clocks of two of their name servers may differ,
    by CLOCK_DAYS. A change that reached all name servers at once makes windows of that length at most."""
    on_day = F.broadcast(_by_day(clock_days))
    clocks = F.coalesce("clocks", F.create_map().cast("map<string,bigint>"))
    each = F.transform("values", lambda value: F.coalesce(F.try_element_at(clocks, value["ns"]), F.lit(FAR_US)))
    worst = F.slice(F.sort_array(each, asc=False), 1, 2)
    apart = F.aggregate(worst, F.lit(0).cast("long"), lambda total, one: total + one)
    unclear = F.when(F.col("t2") - F.col("t1") < apart, CLOCKS)
    dated = windows.withColumn("day", F.expr(f"t1 div {DAY_US}")).join(on_day, "day", "left")
    return dated.withColumn("doubt", F.coalesce("doubt", unclear)).drop("clocks", "day")


def _by_day(clock_days: DataFrame) -> DataFrame:
    """day (since the epoch), clocks (map of ns to uncertainty). A day without an estimate has that of the day before;
    the records of a day's last file go beyond midnight."""
    known = F.map_from_entries(F.collect_list(F.struct("ns", F.coalesce("uncertainty", F.lit(FAR_US)))))
    days = clock_days.groupBy(F.unix_date(F.to_date("day")).cast("long").alias("day")).agg(known.alias("clocks"))
    until = F.coalesce(F.lead("day").over(Window.orderBy("day")) - 1, F.col("day") + 1)
    return days.withColumn("until", until).select(F.explode(F.sequence("day", "until")).alias("day"), "clocks")


def _nothing(points: DataFrame) -> Column:
    """A null of the type of struct<known, value>."""
    value = F.lit(None).cast(points.schema["value"].dataType).alias("value")
    return F.when(F.lit(False), F.struct(F.lit(False).alias("known"), value))
