"""Which differences of name servers may not be real: after lost records, or since clocks are not known well enough.

Clocks that are off make a difference of a change that reached all name servers at once. Then one name server shows what
another one shows a little earlier or later. So a difference is certain if one shows at its beginning what another one
did not show for as long before and after as their clocks may be off.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.causes import CLOCKS
from rocketns.pipeline.contract.frames import Keep, as_it_is
from rocketns.pipeline.jobs.history.state import TOPIC, VALUE
from rocketns.pipeline.jobs.history.unsure import apart, off_by_day, off_of, widest
from rocketns.pipeline.jobs.points import points_of

WINDOW = (*TOPIC, "t1")


def certain(key_windows: DataFrame) -> DataFrame:
    """The windows that count as a difference of name servers."""
    return key_windows.where("doubt is null")


def with_clocks(
    windows: DataFrame,
    clock_days: DataFrame,
    topic_intervals: DataFrame,
    ns_uptime: DataFrame,
    topic_doubts: DataFrame | None = None,
    keep: Keep = as_it_is,
    min_window_us: int = 0,
) -> DataFrame:
    """The windows, with CLOCKS as doubt if clocks may explain them: they are shorter than two of their name servers'
    clocks may differ by CLOCK_DAYS, and no two of these name servers differ for certain. None is shorter than
    ``min_window_us``."""
    if widest(clock_days) <= min_window_us:
        return windows
    with_apart = keep(_with_apart(windows, clock_days))
    suspects = with_apart.where(F.col("doubt").isNull() & (F.col("t2") - F.col("t1") < F.col("apart")))
    unclear = _unproven(suspects, topic_intervals, ns_uptime, topic_doubts).withColumn("unclear", F.lit(CLOCKS))
    joined = with_apart.join(unclear, [*WINDOW], "left")
    return joined.withColumn("doubt", F.coalesce("doubt", "unclear")).select(*windows.columns)


def _with_apart(windows: DataFrame, clock_days: DataFrame) -> DataFrame:
    """The windows with ``offs`` (values with ``off``) and ``apart``, the sum of the two largest."""

    def with_off(value: Column) -> Column:
        return value.withField("off", off_of(value["ns"]))

    dated = off_by_day(windows, "t1", clock_days)
    with_offs = dated.withColumn("offs", F.transform("values", with_off)).drop("clocks")
    return with_offs.withColumn("apart", apart(F.transform("offs", lambda value: value["off"])))


def _unproven(
    suspects: DataFrame, topic_intervals: DataFrame, ns_uptime: DataFrame, topic_doubts: DataFrame | None
) -> DataFrame:
    """WINDOW of the suspects in which no name server shows what another one did not show at any near time."""
    keys = F.broadcast(suspects.select(*TOPIC).distinct())
    doubts = None if topic_doubts is None else topic_doubts.join(keys, [*TOPIC], "left_semi")
    points = points_of(topic_intervals.join(keys, [*TOPIC], "left_semi"), ns_uptime, topic_doubts=doubts)
    until = F.lead("t").over(Window.partitionBy(*TOPIC, "ns").orderBy("t"))
    shown = points.select(*TOPIC, "ns", "t", until.alias("until"), "sure", "value")
    near = (F.col("t") <= F.col("high")) & (F.coalesce("until", F.col("high") + 1) > F.col("low"))
    same = ~F.col("sure") | F.col("value").eqNullSafe(F.col("wanted"))
    proven = (
        _pairs(suspects)
        .join(shown, [*TOPIC, "ns"], "inner")
        .where(near)
        .groupBy(*WINDOW, "one", "ns", "low")
        .agg(F.max(same).alias("same"), F.min("t").alias("first"))
        .where(~F.col("same") & (F.col("first") <= F.col("low")))
    )
    return suspects.select(*WINDOW).join(proven.select(*WINDOW).distinct(), [*WINDOW], "left_anti")


def _pairs(suspects: DataFrame) -> DataFrame:
    """WINDOW, one, wanted, ns, low, high: what name server ``one`` shows at t1, and from when to when ``ns`` may have
    shown the same by then, both included."""
    two = suspects.select(*WINDOW, "offs", F.explode("offs").alias("a")).select("*", F.explode("offs").alias("b"))
    both = F.col("a.off") + F.col("b.off")
    value = F.when(F.col("a.present"), F.struct(*[F.col(f"a.{name}").alias(name) for name in VALUE]))
    return two.where("a.ns <> b.ns").select(
        *WINDOW, F.col("a.ns").alias("one"), value.alias("wanted"), F.col("b.ns").alias("ns"),
        (F.col("t1") - both).alias("low"), (F.col("t1") + both).alias("high"),
    )  # fmt: skip
