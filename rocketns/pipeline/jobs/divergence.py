"""When the running name servers disagreed about a key (topic, broker), and what each showed then.

Everything is one sweep over sorted points in time, so a broker that comes and goes a thousand times costs no more than
its records. Number the distinct values of a key: x is the number of a name server's value. All n known values are equal
exactly if n * sum(x²) = sum(x)². Three running sums therefore suffice; no point needs a look at every name server.
Three more sums leave out the values that are in doubt since records were lost: a window in which only those differ is
no proof of a difference.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.causes import LOST_RECORDS
from rocketns.pipeline.contract.defaults import MIN_WINDOW_US
from rocketns.pipeline.contract.frames import Keep, Observation, as_it_is, conform, each
from rocketns.pipeline.contract.schema import KEY_WINDOWS
from rocketns.pipeline.jobs.certainty import with_clocks
from rocketns.pipeline.jobs.history.state import TOPIC, VALUE
from rocketns.pipeline.jobs.points import knowing_topics, points_of
from rocketns.pipeline.jobs.topics import with_kind

SAME_REQUEST_US = 1_000_000  # a down and the tdel that it causes are written within this time

# Whether the name servers differ.
AGREE, PERHAPS, SURELY = 0, 1, 2
SUMS = ("n", "x", "xx", "sn", "sx", "sxx")


def key_windows(
    topic_intervals: DataFrame,
    ns_uptime: DataFrame,
    observation: Observation,
    min_window_us: int = MIN_WINDOW_US,
    broker_intervals: DataFrame | None = None,
    keep: Keep = as_it_is,
    *,
    topic_doubts: DataFrame | None = None,
    clock_days: DataFrame | None = None,
    system_topics: DataFrame | None = None,
) -> DataFrame:
    """KEY_WINDOWS of at least ``min_window_us``. A window is cut where doubt begins or ends. Without the broker
    intervals ``gap`` is null, without the doubts and the clocks ``doubt``, without the system topics ``kind``."""
    points = points_of(topic_intervals, ns_uptime, topic_doubts)
    found = _stretches_of_difference(points).where(
        (F.col("t2") - F.col("t1") >= min_window_us) & (F.col("t1") < observation.t1) & (F.col("t2") > observation.t0)
    )
    windows = _with_values(keep(found), topic_intervals, ns_uptime)
    windows = (
        _with_gap(windows, broker_intervals) if broker_intervals is not None else windows.withColumn("gap", F.lit(None))
    )
    if clock_days is not None:
        windows = with_clocks(windows, clock_days, topic_intervals, ns_uptime, topic_doubts, keep, min_window_us)
    windows = conform(windows.withColumn("kind", F.lit(None)), KEY_WINDOWS)
    return windows if system_topics is None else conform(with_kind(windows, system_topics), KEY_WINDOWS)


def _stretches_of_difference(points: DataFrame) -> DataFrame:
    """topic, broker, t1, t2, t1_early, t2_early, opened_by, cause, doubt (LOST_RECORDS where only values in doubt
    differ)."""
    in_order = Window.partitionBy(*TOPIC).orderBy("t")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    sums = [F.sum(name).over(so_far).alias(name) for name in SUMS]
    differ = F.col("n") * F.col("xx") != F.col("x") * F.col("x")
    surely = F.col("sn") * F.col("sxx") != F.col("sx") * F.col("sx")
    return (
        _steps(points)
        .groupBy(*TOPIC, "t")
        .agg(*each(F.sum, *SUMS), F.max("early").alias("early"), F.min(F.struct("ns", "cause")).alias("first"))
        .select(*TOPIC, "t", "early", "first", *sums)
        .withColumn("differ", F.when(surely, SURELY).when(differ, PERHAPS).otherwise(AGREE))
        .withColumn("differed", F.coalesce(F.lag("differ").over(in_order), F.lit(AGREE)))
        .where("differ <> differed")
        .withColumns({"t2": F.lead("t").over(in_order), "t2_early": F.lead("early").over(in_order)})
        .where(F.col("differ") != AGREE)
        .select(
            *TOPIC, F.col("t").alias("t1"), "t2", F.col("early").alias("t1_early"), "t2_early",
            F.col("first.ns").alias("opened_by"), "first.cause",
            F.when(F.col("differ") == PERHAPS, LOST_RECORDS).alias("doubt"),
        )
    )  # fmt: skip


def _steps(points: DataFrame) -> DataFrame:
    """What each point adds to the running sums: n (known values), x (their numbers), xx (the squares), and sn, sx, sxx
    of those that are not in doubt."""
    before = Window.partitionBy(*TOPIC, "ns").orderBy("t")

    def number(known: str) -> Column:
        return F.when(F.col(known), F.col("place")).otherwise(F.lit(0))

    now = {
        "n": F.col("known").cast("long"), "x": number("known"), "xx": number("known") * number("known"),
        "sn": F.col("sure").cast("long"), "sx": number("sure"), "sxx": number("sure") * number("sure"),
    }  # fmt: skip
    summed = F.struct(*[value.alias(name) for name, value in now.items()])
    was = F.lag("now").over(before)
    return (
        points.select(*TOPIC, "ns", "t", "cause", "early", summed.alias("now"))
        .withColumn("was", was)
        .select(
            *TOPIC, "ns", "t", "cause", "early",
            *[(F.col(f"now.{name}") - F.coalesce(F.col(f"was.{name}"), F.lit(0))).alias(name) for name in SUMS],
        )
        .where("n <> 0 or x <> 0 or sn <> 0")
    )  # fmt: skip


def _with_values(windows: DataFrame, topic_intervals: DataFrame, ns_uptime: DataFrame) -> DataFrame:
    """The windows with ``values``: those of the name servers whose state is known at t1."""
    up = knowing_topics(ns_uptime).select("ns", F.col("t1").alias("up_t1"), F.col("t2").alias("up_t2"))
    held = topic_intervals.select(*TOPIC, "ns", *VALUE, F.col("t1").alias("held_t1"), F.col("t2").alias("held_t2"))
    shown = (
        windows.select(*TOPIC, "t1")
        .join(held, [*TOPIC], "inner")
        .where((F.col("held_t1") <= F.col("t1")) & (F.col("held_t2") > F.col("t1")))
        .select(*TOPIC, "t1", "ns", *VALUE, F.lit(True).alias("present"))
    )
    is_up = (F.col("up_t1") <= F.col("t1")) & (F.col("up_t2") > F.col("t1"))
    value = F.struct("ns", F.coalesce("present", F.lit(False)).alias("present"), *VALUE)
    return (
        windows.join(F.broadcast(up), is_up, "inner")
        .join(shown, [*TOPIC, "t1", "ns"], "left")
        .groupBy(*TOPIC, "t1", "t2", "t1_early", "t2_early", "cause", "opened_by", "doubt")
        .agg(F.sort_array(F.collect_list(value)).alias("values"))
    )


def _with_gap(windows: DataFrame, broker_intervals: DataFrame) -> DataFrame:
    """The windows with ``gap``, of the down that opened the window: the fault began that much earlier."""
    downs = broker_intervals.where("gap is not null").select(
        F.col("ns").alias("opened_by"), "broker", F.col("t2").alias("down_t"), "gap"
    )
    written_with = F.col("down_t").between(F.col("t1") - SAME_REQUEST_US, F.col("t1"))
    gaps = (
        windows.select(*TOPIC, "t1", "opened_by")
        .join(downs, ["opened_by", "broker"], "inner")
        .where(written_with)
        .groupBy(*TOPIC, "t1", "opened_by")
        .agg(F.max("gap").alias("gap"))
    )
    return windows.join(gaps, [*TOPIC, "t1", "opened_by"], "left")
