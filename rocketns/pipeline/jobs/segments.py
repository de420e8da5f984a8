"""Stretches of a topic's difference in which each name server's view of it stays the same."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Keep, Observation, as_it_is, conform
from rocketns.pipeline.contract.schema import TOPIC_SEGMENTS
from rocketns.pipeline.jobs.certainty import certain
from rocketns.pipeline.jobs.history.state import TOPIC, VALUE
from rocketns.pipeline.jobs.points import points_of


def topic_segments(
    topic_intervals: DataFrame,
    ns_uptime: DataFrame,
    key_windows: DataFrame,
    observation: Observation,
    keep: Keep = as_it_is,
) -> DataFrame:
    """TOPIC_SEGMENTS: the time of the certain key windows, cut wherever a name server's view of the topic changes."""
    windows = certain(key_windows).where((F.col("t1") < observation.t1) & (F.col("t2") > observation.t0))
    diverging = windows.select("topic").distinct()
    all_points = points_of(topic_intervals.join(diverging, ["topic"], "left_semi"), ns_uptime)
    points = keep(all_points.select(*TOPIC, "ns", "t", "known", "value"))
    return conform(_merged(_views(points, _pieces(points, _covers(windows)))), TOPIC_SEGMENTS)


def _covers(windows: DataFrame) -> DataFrame:
    """The union of a topic's windows: topic, t1, t2. No cover begins where another one ends."""
    in_order = Window.partitionBy("topic").orderBy("t1", "t2")
    earlier = in_order.rowsBetween(Window.unboundedPreceding, -1)
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    begins = F.coalesce(F.col("t1") > F.max("t2").over(earlier), F.lit(True)).cast("int")
    return (
        windows.select("topic", "t1", "t2")
        .withColumn("begins", begins)
        .withColumn("cover", F.sum("begins").over(so_far))
        .groupBy("topic", "cover")
        .agg(F.min("t1").alias("t1"), F.max("t2").alias("t2"))
    )


def _pieces(points: DataFrame, covers: DataFrame) -> DataFrame:
    """topic, t1, t2 between successive points within the covers."""
    no_end = F.lit(None).cast("long")
    begin = F.struct(F.col("t1").alias("t"), F.col("t2").alias("end"))
    end = F.struct(F.col("t2").alias("t"), no_end.alias("end"))
    bounds = covers.select("topic", F.explode(F.array(begin, end)).alias("bound")).select("topic", "bound.*")
    times = points.select("topic", "t", no_end.alias("end")).unionByName(bounds)
    in_order = Window.partitionBy("topic").orderBy("t")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        times.groupBy("topic", "t")
        .agg(F.max("end").alias("end"))
        .withColumn("cover_end", F.last("end", ignorenulls=True).over(so_far))
        .withColumn("t2", F.lead("t").over(in_order))
        .where("t < cover_end")
        .select("topic", F.col("t").alias("t1"), "t2")
    )


def _views(points: DataFrame, pieces: DataFrame) -> DataFrame:
    """topic, t1, t2, views. A point applies to the pieces that begin until its key's next point at its name server. The
    pieces of a topic are counted in one sweep, so that no point is compared with pieces that it does not apply to."""
    numbered = _numbered(points, pieces)
    last = F.coalesce(F.lead("before").over(Window.partitionBy(*TOPIC, "ns").orderBy("t")), F.col("all"))
    shown = F.struct("broker", *[F.col(f"value.{name}").alias(name) for name in VALUE])
    views = (
        numbered.where("t2 is null")
        .withColumns({"last": last, "shown": F.when(F.col("value").isNotNull(), shown)})
        .where("known and last > before")
        .select("topic", "ns", "shown", F.explode(F.sequence(F.col("before") + 1, "last")).alias("piece"))
        .groupBy("topic", "piece", "ns")
        .agg(F.sort_array(F.collect_list("shown")).alias("view"))
        .groupBy("topic", "piece")
        .agg(F.sort_array(F.collect_list(F.struct("ns", "view"))).alias("views"))
    )
    begins = numbered.where("t2 is not null").select(
        "topic", F.col("before").alias("piece"), F.col("t").alias("t1"), "t2"
    )
    return begins.join(views, ["topic", "piece"]).drop("piece")


def _numbered(points: DataFrame, pieces: DataFrame) -> DataFrame:
    """Points and pieces (those with ``t2``) by time ``t``, with ``before``: how many pieces of the topic begin before a
    point, and a piece's own number; ``all``: how many there are."""
    begins = pieces.select("topic", F.col("t1").alias("t"), "t2")
    every = points.unionByName(begins, allowMissingColumns=True)
    topic = Window.partitionBy("topic")
    # A null comes first: a point applies to a piece that begins at the same time.
    so_far = topic.orderBy("t", "t2").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return every.withColumns({"before": F.count("t2").over(so_far), "all": F.count("t2").over(topic)})


def _merged(pieces: DataFrame) -> DataFrame:
    """Join successive pieces with the same views into one segment."""
    in_order = Window.partitionBy("topic").orderBy("t1")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    goes_on = (F.lag("views").over(in_order) == F.col("views")) & (F.lag("t2").over(in_order) == F.col("t1"))
    return (
        pieces.withColumn("begins", F.when(goes_on, 0).otherwise(1))
        .withColumn("segment", F.sum("begins").over(so_far))
        .groupBy("topic", "segment")
        .agg(F.min("t1").alias("t1"), F.max("t2").alias("t2"), F.first("views").alias("views"))
    )
