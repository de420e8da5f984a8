"""Which differences of name servers may not be real: after lost records, or since clocks are not known well enough.

Clocks that are off make a difference of a change that reached all name servers at once. Then one name server shows what
another one shows a little earlier or later. So a difference is certain if one shows at its beginning what another one
did not show for as long before and after as their clocks may be off.

The same holds for changes that were observed from outside, of which only two looks are known between which they came:
the later one is their time, and by ``early`` they may be earlier. They are certain if the difference lasted for the
shortest window at least, whenever between the looks they came.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.causes import CLOCKS
from rocketns.pipeline.contract.frames import Keep, as_it_is
from rocketns.pipeline.jobs.history.state import TOPIC, VALUE
from rocketns.pipeline.jobs.history.unsure import apart, between, off_by_day, off_of, widest
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
    clocks may differ by CLOCK_DAYS and than their ends may be earlier, and no two of these name servers differ for
    certain. None is shorter than ``min_window_us``."""
    if widest(clock_days) <= min_window_us:
        return windows
    with_apart = keep(_with_apart(windows, clock_days))
    suspects = with_apart.where(F.col("doubt").isNull() & (F.col("t2") - F.col("t1") < F.col("apart")))
    lasting = F.when(_looks() > 0, min_window_us).otherwise(0).cast("long")
    unproven = _unproven(suspects.withColumn("lasting", lasting), topic_intervals, ns_uptime, topic_doubts)
    unclear = unproven.withColumn("unclear", F.lit(CLOCKS))
    joined = with_apart.join(unclear, [*WINDOW], "left")
    return joined.withColumn("doubt", F.coalesce("doubt", "unclear")).select(*windows.columns)


def _with_apart(windows: DataFrame, clock_days: DataFrame) -> DataFrame:
    """The windows with ``offs`` (values with their clock) and ``apart``: by how much two times of the same moment may
    differ, of the clocks and of both ends."""

    def with_off(value: Column) -> Column:
        return value.withField("clock", off_of(value["ns"]))

    dated = off_by_day(windows, "t1", clock_days)
    with_offs = dated.withColumn("offs", F.transform("values", with_off)).drop("clocks")
    clocks = apart(F.transform("offs", lambda value: value["clock"]))
    return with_offs.withColumn("apart", clocks + _looks())


def _looks() -> Column:
    """By how much earlier both ends of a window may have been, us."""
    return F.coalesce("t1_early", F.lit(0)) + F.coalesce("t2_early", F.lit(0))


def _unproven(
    suspects: DataFrame, topic_intervals: DataFrame, ns_uptime: DataFrame, topic_doubts: DataFrame | None
) -> DataFrame:
    """WINDOW of the suspects in which no name server shows what another one did not show at any near time. What was
    observed may have been shown earlier than its point, and the value before it only up to then."""
    keys = F.broadcast(suspects.select(*TOPIC).distinct())
    doubts = None if topic_doubts is None else topic_doubts.join(keys, [*TOPIC], "left_semi")
    points = points_of(topic_intervals.join(keys, [*TOPIC], "left_semi"), ns_uptime, doubts)
    in_order = Window.partitionBy(*TOPIC, "ns").orderBy("t")
    until, surely_until = F.lead("t").over(in_order), F.lead(F.col("t") - F.col("early")).over(in_order)
    shown = points.select(
        *TOPIC, "ns", F.col("t").alias("at"), (F.col("t") - F.col("early")).alias("t"), until.alias("until"), "sure",
        "value", surely_until.alias("surely_until"),
    )  # fmt: skip
    near = (F.col("t") <= F.col("high")) & (F.coalesce("until", F.col("high") + 1) > F.col("low"))
    same = ~F.col("sure") | F.col("value").eqNullSafe(F.col("wanted"))
    proven = (
        _lasting(_pairs(suspects), shown)
        .join(shown, [*TOPIC, "ns"], "inner")
        .where(near)
        .groupBy(*WINDOW, "one", "ns", "low")
        .agg(F.max(same).alias("same"), F.min("t").alias("first"))
        .where(~F.col("same") & (F.col("first") <= F.col("low")))
    )
    return suspects.select(*WINDOW).join(proven.select(*WINDOW).distinct(), [*WINDOW], "left_anti")


def _lasting(pairs: DataFrame, shown: DataFrame) -> DataFrame:
    """The pairs in which ``one`` shows for certain what it shows at t1, for as long as it is to last."""
    of_one = shown.select(*TOPIC, F.col("ns").alias("one"), "at", "until", "surely_until")
    at_t1 = (F.col("at") <= F.col("t1")) & (F.col("until").isNull() | (F.col("until") > F.col("t1")))
    stays = F.col("surely_until").isNull() | (F.col("surely_until") >= F.col("t1") + F.col("lasting"))
    certain = pairs.where("lasting > 0").join(of_one, [*TOPIC, "one"], "inner").where(at_t1 & stays)
    return pairs.where("lasting = 0").unionByName(certain.select(*pairs.columns))


def _pairs(suspects: DataFrame) -> DataFrame:
    """WINDOW, one, wanted, ns, low, high, lasting: what name server ``one`` shows at t1, and from when to when ``ns``
    may have shown the same by then, both included."""
    first = suspects.select(*WINDOW, "lasting", "offs", F.explode("offs").alias("a"))
    two = first.select("*", F.explode("offs").alias("b"))
    both = between(F.col("a.clock"), F.col("b.clock"))
    value = F.when(F.col("a.present"), F.struct(*[F.col(f"a.{name}").alias(name) for name in VALUE]))
    return two.where("a.ns <> b.ns").select(
        *WINDOW, F.col("a.ns").alias("one"), value.alias("wanted"), F.col("b.ns").alias("ns"),
        (F.col("t1") - both).alias("low"), (F.col("t1") + both + F.col("lasting")).alias("high"), "lasting",
    )  # fmt: skip
