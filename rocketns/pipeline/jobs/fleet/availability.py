"""How much of the error budget brokers, broker groups and clusters have left, as name servers saw them.

docs/audit-definitions.md, section 2, defines each column.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.causes import FAILURES, GRACEFUL, OBSERVED, SILENT
from rocketns.pipeline.contract.defaults import TARGET_PERCENT
from rocketns.pipeline.contract.frames import Observation, conform
from rocketns.pipeline.contract.schema import AVAILABILITY

UNIT = ("level", "cluster", "broker", "bid", "addr")
# The column ``what`` of a span of time: LISTED, or the cause of the end after which the unit was absent.
LISTED = "listed"


def availability(
    broker_intervals: DataFrame, ns_uptime: DataFrame, observation: Observation, target_percent: float = TARGET_PERCENT
) -> DataFrame:
    """AVAILABILITY. ``target_percent``: above 0, at most 100."""
    known = _within_known(_spans(_units(broker_intervals), observation), ns_uptime)
    failed = F.col("what").isin(*FAILURES)
    sums = known.groupBy(*UNIT).agg(
        F.size(F.collect_set("ns")).alias("name_servers"),
        _seconds(F.col("what") == LISTED).alias("listed_s"),
        _seconds(failed).alias("failed_s"),
        _seconds(F.col("what").isin(*GRACEFUL)).alias("planned_s"),
        _seconds(F.col("what").isin(*OBSERVED)).alias("observed_s"),
        (F.coalesce(F.sum(F.when(F.col("begins"), F.col("gap"))), F.lit(0)) / 1e3).alias("unheard_s"),
        F.count_if(failed & F.col("begins")).alias("failures"),
    )
    needed = F.col("listed_s") + F.col("failed_s")
    budget_s = F.lit(1 - target_percent / 100) * needed
    judged = sums.withColumns(
        {
            "target": F.lit(target_percent / 100),
            "availability": F.try_divide("listed_s", needed),
            "budget_s": budget_s,
            "left": 1 - F.try_divide("failed_s", budget_s),
        }
    )
    return conform(judged.where("listed_s > 0 or failed_s > 0"), AVAILABILITY)


def _units(broker_intervals: DataFrame) -> DataFrame:
    """The intervals once for each unit that a member belongs to: its address, its group, its group's master."""
    address = _unit("broker", F.col("broker"), F.col("bid"), F.col("addr"))
    group = _unit("group", F.col("broker"))
    master = F.when(F.col("bid") == 0, _unit("master", F.col("broker")))
    units = F.explode(F.filter(F.array(address, group, master), lambda unit: unit.isNotNull())).alias("unit")
    return broker_intervals.select(units, "ns", "t1", "t2", "end_cause", "gap").select("unit.*", "ns", "t1", "t2",
                                                                                      "end_cause", "gap")  # fmt: skip


def _unit(level: str, broker: Column, bid: Column | None = None, addr: Column | None = None) -> Column:
    nothing = F.lit(None)
    return F.struct(
        F.lit(level).alias("level"), "cluster", broker.cast("string").alias("broker"),
        (nothing if bid is None else bid).cast("int").alias("bid"),
        (nothing if addr is None else addr).cast("string").alias("addr"),
    )  # fmt: skip


def _spans(intervals: DataFrame, observation: Observation) -> DataFrame:
    """UNIT, ns, what, s1, s2, gap: when a unit was listed by any interval, and what ended the listing between.

    One sweep in the order of t1: an interval lists its unit from the end of all earlier ones on, and if it begins
    later than that, what lies between is a span of absence."""
    in_order = Window.partitionBy(*UNIT, "ns").orderBy("t1", "t2", "end_cause")
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    ending = F.struct("t2", "end_cause", "gap")
    before = F.max(ending).over(earlier)
    last = F.when(F.lead("t1").over(in_order).isNull(), F.max(ending).over(so_far))
    listed = _span(F.lit(LISTED), F.greatest("t1", "before.t2"), F.col("t2"))
    absent = _span(F.col("before.end_cause"), F.col("before.t2"), F.col("t1"), F.col("before.gap"))
    until_end = _span(F.col("last.end_cause"), F.col("last.t2"), F.lit(observation.t1), F.col("last.gap"))
    return (
        intervals.withColumns({"before": before, "last": last})
        .select(*UNIT, "ns", F.explode(F.array(listed, absent, until_end)).alias("span"))
        .select(*UNIT, "ns", "span.*")
        .where("s1 < s2")
    )


def _span(what: Column, s1: Column, s2: Column, gap: Column | None = None) -> Column:
    """``gap``: ms without a heartbeat before the span, where heartbeats stopped."""
    unheard = F.lit(None).cast("long") if gap is None else F.when(what.isin(*SILENT), gap)
    return F.struct(what.alias("what"), s1.alias("s1"), s2.alias("s2"), unheard.alias("gap"))


def _within_known(spans: DataFrame, ns_uptime: DataFrame) -> DataFrame:
    """UNIT, ns, what, us, begins, gap: the parts of the spans in which the name server was known. A group counts once
    more for its cluster. ``begins``: the span begins in this part."""
    boots = F.broadcast(ns_uptime.select("ns", F.col("t1").alias("k1"), F.col("t2").alias("k2")))
    us = F.least("s2", "k2") - F.greatest("s1", "k1")
    begins = (F.col("s1") >= F.col("k1")) & (F.col("s1") < F.col("k2"))
    nothing = F.lit(None)
    itself = F.struct(*UNIT)
    cluster = F.struct(
        F.lit("cluster").alias("level"), "cluster", nothing.cast("string").alias("broker"),
        nothing.cast("int").alias("bid"), nothing.cast("string").alias("addr"),
    )  # fmt: skip
    units = F.when(F.col("level") == "group", F.array(itself, cluster)).otherwise(F.array(itself))
    return (
        spans.join(boots, "ns", "inner")
        .withColumns({"us": us, "begins": begins})
        .where("us > 0")
        .select("ns", "what", "us", "begins", "gap", F.explode(units).alias("unit"))
        .select("unit.*", "ns", "what", "us", "begins", "gap")
    )


def _seconds(condition: Column) -> Column:
    return F.coalesce(F.sum(F.when(condition, F.col("us"))), F.lit(0)) / 1e6
