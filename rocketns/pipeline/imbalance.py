"""Job (d): how unevenly producers write while the name servers disagree on a topic.

A producer spreads its messages over the write queues that its own view shows, of brokers that have a master. Where
views differ, the brokers that all of them show get more than their queues would give them in the union of the views.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812  (the name under which everybody knows it)

from rocketns.pipeline.schema import IMBALANCE, conform

WRITE = 2  # the bit of ``p`` without which a producer leaves a broker's queues out
MASTER = 0
SEGMENT = ["topic", "t1", "t2"]
# The segment first, so that one exchange by SEGMENT serves every grouping and window that follows.
PIECE = [*SEGMENT, "p1", "p2"]


def imbalance(
    topic_segments: DataFrame, broker_intervals: DataFrame, weights: Mapping[str, float] | None = None
) -> DataFrame:
    """IMBALANCE of TOPIC_SEGMENTS, with the masters from BROKER_INTERVALS. A segment in which a master comes or goes
    has a row for each piece in between. ``weights``: the share of producers at each name server, all equal by default.
    Where no view has a writable queue, all figures are null.
    """
    shares = _shares(writable(topic_segments, broker_intervals), weights)
    brokers = shares.groupBy(*PIECE, "broker").agg(
        F.sum("weighted").alias("weighted"), F.max("w").alias("w"), F.first("no_share_ns").alias("no_share_ns")
    )
    compared = brokers.withColumns({"share": _part("weighted", _whole(*PIECE)), "fair": _part("w", _whole(*PIECE))})
    off = F.abs(F.col("share") - F.col("fair"))
    over = F.when(F.col("fair") > 0, F.col("share") / F.col("fair"))
    figures = {"tvd": F.sum(off).over(_whole(*PIECE)) / 2, "peak": F.max(over).over(_whole(*PIECE))}
    shown = compared.withColumns(figures).where(F.coalesce(F.col("fair") > 0, F.lit(True)))
    return conform(shown.withColumns({"t1": F.col("p1"), "t2": F.col("p2")}), IMBALANCE)


def writable(topic_segments: DataFrame, broker_intervals: DataFrame) -> DataFrame:
    """PIECE, ns, broker, w (long): the write queues that a producer of the name server uses; 0 without permission or
    master. An empty view is none: a running client keeps its last route."""
    ruled = _ruled(_entries(topic_segments), broker_intervals).withColumn("pieces", _pieces())
    pieces = ruled.select(*SEGMENT, "ns", "broker", "w", "m1", "m2", F.inline("pieces"))
    has_master = (F.col("m1") <= F.col("p1")) & (F.col("m2") >= F.col("p2"))
    used = F.when(has_master, F.col("w")).otherwise(0)
    return pieces.groupBy(*PIECE, "ns", "broker").agg(F.max(used).cast("long").alias("w"))


def _entries(topic_segments: DataFrame) -> DataFrame:
    """SEGMENT, ns, broker, w."""
    views = topic_segments.select(*SEGMENT, F.explode("views").alias("known"))
    rows = views.select(*SEGMENT, "known.ns", F.explode("known.view").alias("entry"))
    allowed = F.col("entry.p").bitwiseAND(WRITE) != 0
    return rows.select(*SEGMENT, "ns", "entry.broker", F.when(allowed, F.col("entry.w")).otherwise(0).alias("w"))


def _ruled(entries: DataFrame, broker_intervals: DataFrame) -> DataFrame:
    """Each entry with each stretch [m1, m2) of the segment in which its broker has a master; null if there is none."""
    masters = broker_intervals.where(F.col("bid") == MASTER).select(
        "ns", "broker", F.col("t1").alias("since"), F.col("t2").alias("until")
    )
    e, m = entries.alias("e"), masters.alias("m")
    same = (F.col("e.ns") == F.col("m.ns")) & (F.col("e.broker") == F.col("m.broker"))
    within = (F.col("since") < F.col("e.t2")) & (F.col("until") > F.col("e.t1"))
    return e.join(m, same & within, "left").select(
        "e.*",
        F.when(F.col("since").isNotNull(), F.greatest("since", "t1")).alias("m1"),
        F.when(F.col("until").isNotNull(), F.least("until", "t2")).alias("m2"),
    )


def _pieces() -> Column:
    """array<struct<p1, p2>>: a row's segment, cut wherever the master of a broker with write queues comes or goes."""
    masters = F.when((F.col("w") > 0) & F.col("m1").isNotNull(), F.array("m1", "m2"))
    inner = F.flatten(F.collect_set(masters).over(_whole(*SEGMENT)))
    cuts = F.sort_array(F.array_distinct(F.concat(F.array("t1", "t2"), inner)))
    return F.zip_with(
        F.slice(cuts, 1, F.size(cuts) - 1),
        F.slice(cuts, 2, F.size(cuts)),
        lambda start, end: F.struct(start.alias("p1"), end.alias("p2")),
    )


def _shares(entries: DataFrame, weights: Mapping[str, float] | None) -> DataFrame:
    """The entries with ``weighted``, what they get of all producers' messages, and the piece's no_share_ns."""
    weight = F.lit(1.0)
    if weights is not None:
        weight = F.coalesce(*[F.when(F.col("ns") == ns, F.lit(float(x))) for ns, x in weights.items()], F.lit(0.0))
    share = _part("w", _whole(*PIECE, "ns"))
    without = F.collect_set(F.when(share.isNull(), F.col("ns"))).over(_whole(*PIECE))
    return entries.withColumns(
        {"weighted": F.coalesce(share * weight, F.lit(0.0)), "no_share_ns": F.sort_array(without)}
    )


def _part(column: str, whole: WindowSpec) -> Column:
    """A column by its sum over the window; null where that is 0."""
    total = F.sum(column).over(whole)
    return F.when(total > 0, F.col(column) / total)


def _whole(*keys: str) -> WindowSpec:
    return Window.partitionBy(*keys).rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
