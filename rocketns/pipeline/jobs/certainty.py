"""Which differences of name servers may not be real: after lost records, or shorter than the clocks' uncertainty."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.causes import CLOCKS, LOST_RECORDS
from rocketns.pipeline.contract.times import DAY_US
from rocketns.pipeline.jobs.history.clocks import FAR_US


def certain(key_windows: DataFrame) -> DataFrame:
    """The windows that count as a difference of name servers: not those that rest on lost records."""
    return key_windows.where(~F.col("doubt").eqNullSafe(F.lit(LOST_RECORDS)))


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
