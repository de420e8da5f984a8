"""Topics whose keys moved to other queues, because the number or the order of their write queues changed.

docs/audit-definitions.md, section 5, defines each column, and why ``_stay`` is exact without trying each hash. A broker
that comes and goes makes the same two steps again and again, so each pair of lists is judged once.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Keep, as_it_is, conform, each
from rocketns.pipeline.contract.schema import ORDERED_KEYS
from rocketns.pipeline.jobs.topics import with_kind

WRITE = 2
# pollNameServerInterval: after this time each running producer has asked for the route.
SETTLED_US = 30_000_000
ORDER_NAMESPACE = "ORDER_TOPIC_CONFIG"
VIEW = ("ns", "topic")
STEP = (*VIEW, "t", "steps", "latest")
# The sums of the hashes of 2^19 brokers fit a long.
HASH_SHIFT = 20
# Euclid's algorithm takes at most so many steps for each decimal digit of the smaller number (Lamé).
EUCLID_STEPS = 5


def ordered_keys(
    topic_intervals: DataFrame, events: DataFrame, system_topics: DataFrame, keep: Keep = as_it_is
) -> DataFrame:
    """ORDERED_KEYS."""
    points = _points(topic_intervals)
    steps = keep(_pairs(_steps(points)))
    moved = _judged(_lists(steps, points))
    by_server = moved.groupBy(*VIEW).agg(
        F.sum("steps").alias("steps"),
        F.max(F.struct("moved", (-F.col("t")).alias("back"), "n_before", "n_after", "broker")).alias("worst"),
        F.min("t").alias("t1"),
        F.max("latest").alias("t2"),
    )
    by_topic = by_server.groupBy("topic").agg(
        F.sort_array(F.collect_set("ns")).alias("ns"), *each(F.max, "steps", "worst", "t2"), *each(F.min, "t1")
    )
    configured = events.where((F.col("ns_key") == ORDER_NAMESPACE) & F.col("val").isNotNull())
    in_order = F.broadcast(configured.select(F.col("key").alias("topic"), F.lit(True).alias("in_order")).distinct())
    named = with_kind(by_topic, system_topics).join(in_order, "topic", "left")
    worst = {name: F.col(f"worst.{name}") for name in ("n_before", "n_after", "broker")}
    return conform(
        named.withColumns(
            {
                **worst, "moved_max": F.col("worst.moved"), "at": -F.col("worst.back"),
                "ordered": F.coalesce("in_order", F.lit(False)),
            }
        ),
        ORDERED_KEYS,
    )  # fmt: skip


def _points(topic_intervals: DataFrame) -> DataFrame:
    """VIEW, t, broker, w, by: w write queues of the broker come (by 1) or go (by -1)."""
    come, go = (F.struct(F.col(t).alias("t"), F.lit(by).alias("by")) for t, by in (("t1", 1), ("t2", -1)))
    used = topic_intervals.where((F.col("w") > 0) & (F.col("p").bitwiseAND(WRITE) != 0))
    points = used.select(*VIEW, "broker", F.col("w").cast("long").alias("w"), F.inline(F.array(come, go)))
    return points.repartition("topic")  # so that no later step needs another shuffle


def _steps(points: DataFrame) -> DataFrame:
    """VIEW, t, before, list, last_list: a settled list began at ``t`` that is another one than the settled list that
    began at ``before``. A list is known by the sum of the hashes of its parts."""
    part = F.shiftright(F.xxhash64("broker", "w"), HASH_SHIFT)
    in_order = Window.partitionBy(*VIEW).orderBy("t")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        points.groupBy(*VIEW, "t")
        .agg(F.sum(F.col("by") * part).alias("turn"), F.sum(F.col("by") * F.col("w")).alias("more"))
        .where("turn <> 0")
        .select(
            *VIEW, "t", F.sum("turn").over(so_far).alias("list"), F.sum("more").over(so_far).alias("n"),
            F.lead("t").over(in_order).alias("until"),
        )
        .where((F.col("n") > 0) & (F.col("until") - F.col("t") >= SETTLED_US))
        .withColumns({"before": F.lag("t").over(in_order), "last_list": F.lag("list").over(in_order)})
        .where("last_list <> list")
        .select(*VIEW, "t", "before", "list", "last_list")
    )  # fmt: skip


def _pairs(steps: DataFrame) -> DataFrame:
    """VIEW, t, before, steps, latest: the first step from one list to another, and how many there are up to when."""
    first = F.min(F.struct("t", "before")).alias("first")
    found = steps.groupBy(*VIEW, "last_list", "list").agg(
        first, F.count("*").alias("steps"), F.max("t").alias("latest")
    )
    return found.select(*VIEW, "first.*", "steps", "latest")


def _lists(steps: DataFrame, points: DataFrame) -> DataFrame:
    """STEP, brokers: both lists of each step, as an array of (broker, a, b) by name: a queues before, b after.

    One sweep over the points of each broker up to the last step; each list is asked for at the time when it began."""
    views = steps.groupBy(*VIEW).agg(F.max("t").alias("end"))
    queues = points.join(views, [*VIEW], "inner").where("t <= end").groupBy(*VIEW, "broker", "t").agg(
        F.max(F.when(F.col("by") > 0, F.col("w")).otherwise(0)).alias("w")
    )  # fmt: skip
    of_both = F.inline(
        F.array(
            F.struct(F.col("before").alias("at"), F.lit(0).alias("side")),
            F.struct(F.col("t").alias("at"), F.lit(1).alias("side")),
        )
    )
    brokers = queues.select(*VIEW, "broker").distinct()
    asked = steps.select(*STEP, of_both).join(brokers, [*VIEW], "inner")
    set_at = queues.select(*VIEW, "broker", F.col("t").alias("at"), "w")
    rows = set_at.unionByName(asked, allowMissingColumns=True)
    in_order = Window.partitionBy(*VIEW, "broker").orderBy("at", F.col("side").isNotNull())
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    width = F.coalesce(F.last("w", ignorenulls=True).over(so_far), F.lit(0))
    brokers_of = F.sort_array(F.collect_list(F.struct("broker", "side", "width")))
    return (
        rows.repartition("topic")
        .withColumn("width", width)
        .where("t is not null")
        .groupBy(*STEP)
        .agg(brokers_of.alias("widths"))
        .select(*STEP, F.zip_with(_of_side(0), _of_side(1), _both).alias("brokers"))
    )


def _judged(lists: DataFrame) -> DataFrame:
    """STEP, n_before, n_after, moved, broker: the first one by name that differs."""
    both = F.aggregate(
        "brokers",
        F.struct(F.lit(0).cast("long").alias("a"), F.lit(0).cast("long").alias("b")),
        lambda sums, entry: F.struct((sums["a"] + entry["a"]).alias("a"), (sums["b"] + entry["b"]).alias("b")),
    )
    differs = F.filter("brokers", lambda entry: entry["a"] != entry["b"])
    return (
        lists.withColumn("n", both)
        .withColumn("g", _gcd(F.col("n.a"), F.col("n.b")))
        .select(
            *STEP, F.col("n.a").alias("n_before"), F.col("n.b").alias("n_after"),
            (1 - _stay()).alias("moved"), differs[0]["broker"].alias("broker"),
        )
    )  # fmt: skip


def _stay() -> Column:
    """The part of all hashes whose queue is the same in both lists."""
    start = F.struct(*[F.lit(0).cast("long").alias(name) for name in ("a", "b", "kept")])

    def step(sums: Column, entry: Column) -> Column:
        in_place = (sums["a"] - sums["b"]) % F.col("g") == 0
        kept = sums["kept"] + F.when(in_place, F.least(entry["a"], entry["b"])).otherwise(0)
        return F.struct((sums["a"] + entry["a"]).alias("a"), (sums["b"] + entry["b"]).alias("b"), kept.alias("kept"))

    common = F.aggregate("brokers", start, step, lambda sums: sums["kept"])
    return common / (F.col("n.a").cast("double") / F.col("g") * F.col("n.b"))


def _gcd(a: Column, b: Column) -> Column:
    def step(pair: Column, _: Column) -> Column:
        rest = F.struct(pair["b"].alias("a"), (pair["a"] % F.greatest(pair["b"], F.lit(1))).alias("b"))
        return F.when(pair["b"] == 0, pair).otherwise(rest)

    rounds = F.sequence(F.lit(1), EUCLID_STEPS * F.length(F.least(a, b).cast("string")) + 1)
    return F.aggregate(rounds, F.struct(a.alias("a"), b.alias("b")), step, lambda pair: pair["a"])


def _of_side(side: int) -> Column:
    return F.filter("widths", lambda entry: entry["side"] == side)


def _both(old: Column, new: Column) -> Column:
    """Each broker has a row of each side, so both sides have the same brokers in the same order."""
    return F.struct(old["broker"].alias("broker"), old["width"].alias("a"), new["width"].alias("b"))
