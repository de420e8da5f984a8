"""By how much the clocks of name servers may be off, after they were corrected."""

from __future__ import annotations

from collections import defaultdict

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.reading.clocks import FAR_US, HEARTBEATS
from rocketns.pipeline.contract.defaults import CLOCK_DOUBT_US
from rocketns.pipeline.contract.times import DAY_US


def off_by() -> Column:
    """By how much a clock may be off, us, of rows of CLOCK_DAYS or OFFSETS. Heartbeats show an offset up to a multiple
    of their period."""
    return F.when(F.col("method") == HEARTBEATS, CLOCK_DOUBT_US).otherwise(F.coalesce("uncertainty", F.lit(FAR_US)))


def may_be_off(method: str, uncertainty: int | None) -> int:
    """``off_by`` of plain values."""
    if method == HEARTBEATS:
        return CLOCK_DOUBT_US
    return FAR_US if uncertainty is None else uncertainty


def apart(offs: Column) -> Column:
    """By how much two of these clocks may differ, us: the sum of the two largest of an array of ``off_by``."""
    worst = F.slice(F.sort_array(offs, asc=False), 1, 2)
    return F.aggregate(worst, F.lit(0).cast("long"), lambda total, one: total + one)


def widest(clock_days: DataFrame) -> int:
    """By how much two clocks may differ at most on any day, us. A name server without a row on a day is unknown."""
    days: dict[str, dict[str, int]] = defaultdict(dict)
    for row in clock_days.select("day", "ns", "method", "uncertainty").collect():
        days[row["day"]][row["ns"]] = may_be_off(row["method"], row["uncertainty"])
    names = {ns for known in days.values() for ns in known}
    return max((sum(sorted(known.get(ns, FAR_US) for ns in names)[-2:]) for known in days.values()), default=2 * FAR_US)


def off_by_day(rows: DataFrame, time: str, clock_days: DataFrame) -> DataFrame:
    """The rows with ``clocks`` (map of ns to ``off_by``) of the day of their ``time``; see ``off_of``."""
    on_day = F.broadcast(_by_day(clock_days))
    return rows.withColumn("day", F.expr(f"{time} div {DAY_US}")).join(on_day, "day", "left").drop("day")


def off_of(ns: Column) -> Column:
    """By how much the clock of a name server may be off, us, of a row of ``off_by_day``."""
    clocks = F.coalesce("clocks", F.create_map().cast("map<string,bigint>"))
    return F.coalesce(F.try_element_at(clocks, ns), F.lit(FAR_US))


def _by_day(clock_days: DataFrame) -> DataFrame:
    """day (since the epoch), clocks. A day without an estimate has that of the day before; the records of a day's last
    file go beyond midnight."""
    known = F.map_from_entries(F.collect_list(F.struct("ns", off_by())))
    days = clock_days.groupBy(F.unix_date(F.to_date("day")).cast("long").alias("day")).agg(known.alias("clocks"))
    until = F.coalesce(F.lead("day").over(Window.orderBy("day")) - 1, F.col("day") + 1)
    return days.withColumn("until", until).select(F.explode(F.sequence("day", "until")).alias("day"), "clocks")
