"""Job (a): when each name server was up, and what it knew of brokers and topics, as intervals.

The journal states effects, so a state is its last record. Three things complicate that. A name server that was killed
has no stop: it is unknown from its last record on. A journal that begins in the middle is unknown until its first whole
snapshot ends. And after lost records the next whole snapshot is what corrects the state; until then the records that
are there are taken at their word, and the data quality says that some are not.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.schema import (
    BROKER_INTERVALS,
    NS_UPTIME,
    TOPIC_INTERVALS,
    Keep,
    Observation,
    as_it_is,
    conform,
)
from rocketns.pipeline.jobs.history.holes import boots, holes, needed_snapshots, stretches, whole_snapshots

# A name server that ends without a stop is taken to be up until the end of the observation if it wrote within this
# time before it; brokers send heartbeats every 30 s, so a longer silence says that it is gone, or its files are.
SILENT_AFTER_US = 120_000_000

MEMBER = ("cluster", "broker", "bid", "addr")
FOUND_GONE = "snapshot"


class Base(NamedTuple):
    """What all of state is built on: NS_UPTIME; SNAPSHOTS that the state has to begin from; HOLES; what
    ``holes.boots`` tells. All are small."""

    uptime: DataFrame
    snapshots: DataFrame
    holes: DataFrame
    boots: DataFrame


def base(
    events: DataFrame,
    observation: Observation,
    silent_after_us: int = SILENT_AFTER_US,
    keep: Keep = as_it_is,
) -> Base:
    """From all events before the observation's end, of which those before its beginning tell the state there.

    ``keep`` is called on each small frame that others are built on.
    """
    before_end = events.where(F.col("ts") < observation.t1)
    seen = keep(stretches(before_end))
    lost = keep(holes(before_end, seen))
    started = keep(boots(seen))
    snapshots = keep(needed_snapshots(started, whole_snapshots(before_end, lost), lost))
    return Base(keep(_uptime(started, snapshots, observation, silent_after_us)), snapshots, lost, started)


def ns_uptime(events: DataFrame, observation: Observation, silent_after_us: int = SILENT_AFTER_US) -> DataFrame:
    """NS_UPTIME."""
    return base(events, observation, silent_after_us).uptime


def broker_intervals(events: DataFrame, base: Base, observation: Observation) -> DataFrame:
    """BROKER_INTERVALS."""
    told = counted(events, base, observation)
    is_member = F.col("bid").isNotNull() & F.col("addr").isNotNull()
    kinds = F.col("ev").isin("reg", "down", "snap") | ((F.col("ev") == "hb") & F.col("timeout_ms").isNotNull())
    present = F.when(F.col("ev") != "down", F.struct(F.lit(True).alias("present")))
    changes = told.where(is_member & kinds).select(
        "ns", "boot", "seq", "ts", *MEMBER, present.alias("value"), _cause().alias("cause"), "gap", "timeout_ms"
    )
    return conform(intervals(changes, MEMBER, base), BROKER_INTERVALS)


def topic_intervals(events: DataFrame, base: Base, observation: Observation) -> DataFrame:
    """TOPIC_INTERVALS."""
    changes = topic_changes(counted(events, base, observation), ("r", "w", "p"))
    return conform(intervals(changes, ("topic", "broker"), base).select("*", "value.*"), TOPIC_INTERVALS)


def topic_changes(events: DataFrame, fields: tuple[str, ...]) -> DataFrame:
    """A row for each topic of tput, tdel and snap records; ``value`` a struct of the fields, null where it is gone."""
    told = events.where(F.col("ev").isin("tput", "tdel", "snap") & F.col("topics").isNotNull())
    entries = told.select("ns", "boot", "seq", "ts", "ev", "broker", "cause", F.explode("topics").alias("entry"))
    value = F.when(F.col("ev") != "tdel", F.struct(*[F.col(f"entry.{field}").alias(field) for field in fields]))
    nothing = F.lit(None).cast("long")
    return entries.select(
        "ns", "boot", "seq", "ts", F.col("entry.t").alias("topic"), "broker", value.alias("value"),
        _cause().alias("cause"), nothing.alias("gap"), nothing.alias("timeout_ms"),
    )  # fmt: skip


def _cause() -> Column:
    return F.when(F.col("ev") == "snap", FOUND_GONE).otherwise(F.coalesce("cause", F.lit("register")))


def counted(events: DataFrame, base: Base, observation: Observation) -> DataFrame:
    """Events that count: before the end, and of snapshots only those that the state begins from."""
    counted = events.where(F.col("ts") < observation.t1)
    snaps = counted.where("ev = 'snap'").join(
        F.broadcast(base.snapshots.select("ns", "boot", "snap")), ["ns", "boot", "snap"], "left_semi"
    )
    return counted.where(F.col("ev").isin("reg", "hb", "down", "tput", "tdel")).unionByName(snaps)


def _uptime(boots: DataFrame, snapshots: DataFrame, observation: Observation, silent_after_us: int) -> DataFrame:
    first_known = snapshots.groupBy("ns", "boot").agg(F.min("end_ts").alias("known_ts"))
    begin = F.when(F.col("begun"), F.coalesce("start_ts", "first_ts")).otherwise(F.col("known_ts"))
    silent = F.lit(observation.t1) - F.col("last_ts") > silent_after_us
    end_cause = (
        F.when(F.col("stop_ts").isNotNull(), "stop")
        .when(F.col("next_boot").isNotNull(), "lost")
        .when(silent, "silent")
        .otherwise("open")
    )
    end = F.coalesce("stop_ts", F.when(F.col("end_cause") == "open", F.lit(observation.t1)).otherwise(F.col("last_ts")))
    return conform(
        boots.join(F.broadcast(first_known), ["ns", "boot"], "left")
        .withColumn("end_cause", end_cause)
        .withColumn("begin", begin)
        .where("begin is not null")  # greatest passes over nulls
        .withColumn("t1", F.greatest("begin", F.lit(observation.t0)))
        .withColumn("t2", end)
        .where("t1 < t2"),
        NS_UPTIME,
    )


def intervals(changes: DataFrame, key: tuple[str, ...], base: Base) -> DataFrame:
    """Intervals of equal, present ``value``, from changes in the order of seq, within the uptime of their boot.

    In: ns, boot, seq, ts, the key, value, cause, gap, timeout_ms. Out: ns, the key, t1, t2, value, cause, end_cause,
    gap (both of the record that closed it) and timeout_ms (the last one told).
    """
    in_order = Window.partitionBy("ns", "boot", *key).orderBy("seq")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    all_of_key = in_order.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    turns = (
        _with_found_gone(changes, key, base.snapshots)
        .withColumn("t1", F.max("ts").over(so_far))  # somebody may have set the clock back
        .withColumn("told_ms", F.last("timeout_ms", ignorenulls=True).over(so_far))
        .withColumn("before", F.lag("value").over(in_order))
        .withColumn("last_told_ms", F.last("timeout_ms", ignorenulls=True).over(all_of_key))
        .where(~F.col("value").eqNullSafe(F.col("before")))
    )
    spans = (
        turns.withColumn("next_t", F.lead("t1").over(in_order))
        .withColumn("next_cause", F.lead("cause").over(in_order))
        .withColumn("gap", F.lead("gap").over(in_order))
        .withColumn("timeout_ms", F.coalesce(F.lead("told_ms").over(in_order), "last_told_ms"))
        .where("value is not null")
    )
    return _within_uptime(spans, base.uptime, key)


def _with_found_gone(changes: DataFrame, key: tuple[str, ...], snapshots: DataFrame) -> DataFrame:
    """After a change whose key the next snapshot does not name, and nothing else does before its end: an absence."""
    begins = snapshots.groupBy("ns", "boot").agg(
        F.array_sort(F.collect_list(F.struct("snap", "end_seq", "end_ts"))).alias("begins")
    )
    in_order = Window.partitionBy("ns", "boot", *key).orderBy("seq")
    later = F.get(F.filter("begins", lambda begin: begin["snap"] > F.col("seq")), F.lit(0))
    passed_over = F.col("next_seq").isNull() | (F.col("next_seq") > later["end_seq"])
    names = [name for name in changes.columns if name not in ("ns", "boot", *key)]
    told = F.struct(*names)
    gone = {"seq": later["end_seq"], "ts": later["end_ts"], "cause": F.lit(FOUND_GONE)}
    absence = F.struct(*[gone.get(name, F.lit(None).cast(changes.schema[name].dataType)).alias(name) for name in names])
    rows = F.when(later.isNotNull() & passed_over, F.array(told, absence)).otherwise(F.array(told))
    return (
        changes.join(F.broadcast(begins), ["ns", "boot"], "left")
        .withColumn("next_seq", F.lead("seq").over(in_order))
        .select("ns", "boot", *key, F.explode(rows).alias("row"))
        .select("ns", "boot", *key, "row.*")
    )


def _within_uptime(spans: DataFrame, uptime: DataFrame, key: tuple[str, ...]) -> DataFrame:
    """Intervals end with their name server at the latest, and then for its reason."""
    up = uptime.select(
        "ns", "boot", F.col("t1").alias("up_t1"), F.col("t2").alias("up_t2"), F.col("end_cause").alias("up_end")
    )
    closed = F.col("next_t").isNotNull() & (F.col("next_t") <= F.col("up_t2"))
    return (
        spans.join(F.broadcast(up), ["ns", "boot"], "inner")
        .select(
            "ns", *key, "value", "cause",
            F.greatest("t1", "up_t1").alias("t1"),
            F.when(closed, F.col("next_t")).otherwise(F.col("up_t2")).alias("t2"),
            F.when(closed, F.col("next_cause")).otherwise(F.col("up_end")).alias("end_cause"),
            F.when(closed, F.col("gap")).alias("gap"),
            "timeout_ms",
        )
        .where("t1 < t2")
    )  # fmt: skip
