"""How unevenly producers write while name servers disagree about a topic.

A producer spreads its messages over the write queues of its own view, of brokers that have a master. Where views
differ, brokers that all views contain get more messages than their part of all queues.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812  (the name under which everybody knows it)

from rocketns.pipeline.contract.frames import conform
from rocketns.pipeline.contract.schema import IMBALANCE

WRITE = 2  # the bit of ``p`` without which a producer leaves a broker's queues out
MASTER = 0
SEGMENT = ["topic", "t1", "t2"]
PIECE = [*SEGMENT, "p1", "p2"]


def imbalance(read_segments: DataFrame, broker_intervals: DataFrame) -> DataFrame:
    """IMBALANCE of TOPIC_SEGMENTS, with the masters from BROKER_INTERVALS. A segment is cut where a master comes or
    goes, and each piece has rows of its own. Where no view has a writable queue, all figures are null."""
    shares = _shares(writable(read_segments, broker_intervals))
    brokers = shares.groupBy(*PIECE, "broker").agg(
        F.sum("weighted").alias("weighted"), F.max("w").alias("w"), F.first("no_share_ns").alias("no_share_ns")
    )
    compared = brokers.withColumns({"share": _part("weighted", _whole(*PIECE)), "fair": _part("w", _whole(*PIECE))})
    off = F.abs(F.col("share") - F.col("fair"))
    over = F.when(F.col("fair") > 0, F.col("share") / F.col("fair"))
    figures = {"tvd": F.sum(off).over(_whole(*PIECE)) / 2, "peak": F.max(over).over(_whole(*PIECE))}
    shown = compared.withColumns(figures).where(F.coalesce(F.col("fair") > 0, F.lit(True)))
    return conform(shown.withColumns({"t1": F.col("p1"), "t2": F.col("p2")}), IMBALANCE)


def writable(read_segments: DataFrame, broker_intervals: DataFrame) -> DataFrame:
    """PIECE, ns, broker, w (int): the write queues that a producer of the name server uses; 0 without permission or
    master. An empty view does not count: a running client keeps its last route."""
    masters = broker_intervals.where(F.col("bid") == MASTER)
    lives = masters.groupBy("ns", "broker").agg(F.collect_list(F.struct("t1", "t2")).alias("lives"))
    whole = F.exists("lives", lambda life: (life.t1 <= F.col("p1")) & (life.t2 >= F.col("p2")))
    entries = _entries(_pieces(read_segments, masters), PIECE).join(lives, ["ns", "broker"], "left")
    return entries.withColumn("w", F.when(whole, F.col("w")).otherwise(0))


def _pieces(read_segments: DataFrame, masters: DataFrame) -> DataFrame:
    """PIECE, views: each segment, cut wherever the master of a broker with write queues comes or goes."""
    changes = masters.select("ns", "broker", F.explode(F.array("t1", "t2")).alias("cut"))
    within = (F.col("t1") < F.col("cut")) & (F.col("cut") < F.col("t2"))
    used = _entries(read_segments, SEGMENT).where(F.col("w") > 0)
    cuts = used.join(changes, ["ns", "broker"], "inner").where(within)
    inner = cuts.groupBy(*SEGMENT).agg(F.sort_array(F.collect_set("cut")).alias("cuts"))
    inside = F.coalesce("cuts", F.array().cast("array<long>"))
    starts, ends = F.concat(F.array("t1"), inside), F.concat(inside, F.array("t2"))
    pieces = F.zip_with(starts, ends, lambda start, end: F.struct(start.alias("p1"), end.alias("p2")))
    return read_segments.join(inner, SEGMENT, "left").select(*SEGMENT, F.inline(pieces), "views")


def _entries(frame: DataFrame, keys: list[str]) -> DataFrame:
    """The keys, ns, broker, w: a row for each broker in each of the frame's views."""
    views = frame.select(*keys, F.explode("views").alias("known"))
    rows = views.select(*keys, "known.ns", F.explode("known.view").alias("entry"))
    allowed = F.col("entry.p").bitwiseAND(WRITE) != 0
    return rows.select(*keys, "ns", "entry.broker", F.when(allowed, F.col("entry.w")).otherwise(0).alias("w"))


def _shares(entries: DataFrame) -> DataFrame:
    """The entries with ``weighted``, their part of the messages of one name server's producers, and with the piece's
    no_share_ns."""
    share = _part("w", _whole(*PIECE, "ns"))
    without = F.collect_set(F.when(share.isNull(), F.col("ns"))).over(_whole(*PIECE))
    return entries.withColumns({"weighted": F.coalesce(share, F.lit(0.0)), "no_share_ns": F.sort_array(without)})


def _part(column: str, whole: WindowSpec) -> Column:
    """A column divided by its sum over the window; null where the sum is 0."""
    total = F.sum(column).over(whole)
    return F.when(total > 0, F.col(column) / total)


def _whole(*keys: str) -> WindowSpec:
    return Window.partitionBy(*keys).rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
