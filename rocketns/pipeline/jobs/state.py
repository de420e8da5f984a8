"""When each name server was up, and which brokers and topics it had, as intervals.

The journal states effects, so the last record of a key is its state, while that of its boot is known
(``jobs.boots``). After lost records the next whole snapshot corrects the state; until then the remaining records
are believed, and the data quality table says that some are lost.

From changes to intervals, for the whole run and for the stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.record import MEMBER
from rocketns.pipeline.contract.frames import Observation, conform, frame_of
from rocketns.pipeline.contract.schema import BROKER_INTERVALS, HOLES, NS_UPTIME, SNAPSHOTS, TOPIC_INTERVALS
from rocketns.pipeline.jobs.boots import Boot, boots, uptime

TOPIC = ("topic", "broker")
VALUE = ("r", "w", "p")
ACTIVITY = ("reg", "hb", "down", "tput", "tdel")


class Base(NamedTuple):
    """What all state is built on: each boot, and of it NS_UPTIME, the SNAPSHOTS at which state begins, and HOLES."""

    boots: Sequence[Boot]
    uptime: DataFrame
    snapshots: DataFrame
    holes: DataFrame


def base(events: DataFrame, observation: Observation) -> Base:
    """From all events before the end of the observation. Those before its beginning give the state at the beginning."""
    spark, found = events.sparkSession, boots(events.where(F.col("ts") < observation.t1))
    return Base(
        found,
        frame_of(spark, [row for boot in found if (row := uptime(boot, observation))], NS_UPTIME),
        frame_of(spark, [(boot.ns, boot.boot, *one) for boot in found for one in boot.snapshots], SNAPSHOTS),
        frame_of(spark, [(boot.ns, boot.boot, *one) for boot in found for one in boot.holes], HOLES),
    )


def broker_intervals(events: DataFrame, base: Base, observation: Observation) -> DataFrame:
    """BROKER_INTERVALS."""
    counting = counted(events, base, observation)
    is_member = F.col("bid").isNotNull() & F.col("addr").isNotNull()
    kinds = F.col("ev").isin("reg", "down", "snap") | ((F.col("ev") == "hb") & F.col("timeout_ms").isNotNull())
    present = F.when(F.col("ev") != "down", F.struct(F.lit(True).alias("present")))
    changes = counting.where(is_member & kinds).select(
        "ns", "boot", "seq", "ts", early(), *MEMBER, present.alias("value"), _cause().alias("cause"), "gap", "asked",
        F.when(F.col("timeout_ms").isNotNull(), F.struct("timeout_ms", "zone")).alias("stated"),
    )  # fmt: skip
    in_order = Window.partitionBy("ns", "boot", *MEMBER).orderBy("seq")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    whole = in_order.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    timed = with_found_gone(changes, MEMBER, base.snapshots).withColumns(
        {
            "known": F.last("stated", ignorenulls=True).over(so_far),
            "last_known": F.last("stated", ignorenulls=True).over(whole),
        }
    )
    found = intervals(timed, MEMBER, base.uptime, "gap", "asked", "known").withColumns(
        {
            "gap": F.when(F.col("closed"), F.col("next.gap")),
            "asked": F.when(F.col("closed"), F.col("next.asked")),
            "of": F.coalesce("next.known", "last_known"),
        }
    )
    return conform(found.select("*", "of.*"), BROKER_INTERVALS)


def topic_intervals(events: DataFrame, base: Base, observation: Observation) -> DataFrame:
    """TOPIC_INTERVALS."""
    changes = topic_changes(counted(events, base, observation))
    return conform(held_topics(changes, base).select("*", "value.*"), TOPIC_INTERVALS)


def held_topics(changes: DataFrame, base: Base) -> DataFrame:
    """``intervals`` of ``topic_changes``; snapshots correct them after lost records."""
    return intervals(with_found_gone(changes, TOPIC, base.snapshots), TOPIC, base.uptime)


def topic_changes(events: DataFrame) -> DataFrame:
    """One row per topic of a tput, tdel or snap record: ns, boot, seq, ts, early, topic, broker, cause, and ``value``,
    a struct of VALUE, null where the topic is gone."""
    records = events.where(F.col("ev").isin("tput", "tdel", "snap") & F.col("topics").isNotNull())
    entries = records.select(
        "ns", "boot", "seq", "ts", early(), "ev", "broker", "cause", F.explode("topics").alias("entry")
    )
    value = F.when(F.col("ev") != "tdel", F.struct(*[F.col(f"entry.{name}").alias(name) for name in VALUE]))
    return entries.select(
        "ns", "boot", "seq", "ts", "early", F.col("entry.t").alias("topic"), "broker", value.alias("value"),
        _cause().alias("cause"),
    )  # fmt: skip


def early() -> Column:
    """By how much earlier than its ``ts`` a change may have come: since the observer's look before; 0 without one."""
    return F.greatest(F.coalesce(F.col("ts") - F.col("since"), F.lit(0)), F.lit(0)).alias("early")


def _cause() -> Column:
    return F.when(F.col("ev") == "snap", FOUND_GONE).otherwise(F.coalesce("cause", F.lit("register")))


def counted(events: DataFrame, base: Base, observation: Observation) -> DataFrame:
    """The events that count: before the end; of snapshots only those at which state begins."""
    begins = base.snapshots.select("ns", "boot", "snap", F.lit(True).alias("begins")).distinct()
    shown = events.where((F.col("ts") < observation.t1) & F.col("ev").isin(*ACTIVITY, "snap"))
    counts = (F.col("ev") != "snap") | F.col("begins")
    return shown.join(F.broadcast(begins), ["ns", "boot", "snap"], "left").where(counts).drop("begins")


FOUND_GONE = "snapshot"


def intervals(changes: DataFrame, key: Sequence[str], uptime: DataFrame, *ending: str) -> DataFrame:
    """Intervals in which a key has the same, present ``value``, within the uptime of their boot (NS_UPTIME).

    In: ns, boot, seq, ts, early, the key, value (null: gone), cause; changes apply in the order of seq. Out: all
    columns of the change that opened the interval, t1, t2, end_cause, ``closed`` (a change ended it, not its name
    server), t1_early and t2_early (by how much earlier these changes may have come, if they were observed), and
    ``next``: a struct of the next change's t, early, cause and ``ending`` columns, null if there is none."""
    in_order = Window.partitionBy("ns", "boot", *key).orderBy("seq")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    turns = (
        changes.withColumn("begin", F.max("ts").over(so_far))  # the clock may have been set back
        .withColumn("before", F.lag("value").over(in_order))
        .where(~F.col("value").eqNullSafe(F.col("before")))
    )
    following = F.struct(F.col("begin").alias("t"), "early", "cause", *ending)
    spans = turns.withColumn("next", F.lead(following).over(in_order)).where("value is not null")
    return _within_uptime(spans.drop("before"), uptime)


def _within_uptime(spans: DataFrame, uptime: DataFrame) -> DataFrame:
    """An interval ends with its name server at the latest, and then for the same reason."""
    up = uptime.select(
        "ns", "boot", F.col("t1").alias("up_t1"), F.col("t2").alias("up_t2"), F.col("end_cause").alias("up_end")
    )
    closed = F.coalesce(F.col("next.t") <= F.col("up_t2"), F.lit(False))
    return (
        spans.join(F.broadcast(up), ["ns", "boot"], "inner")
        .withColumns(
            {
                "closed": closed,
                "t1": F.greatest("begin", "up_t1"),
                "t2": F.when(closed, F.col("next.t")).otherwise(F.col("up_t2")),
                "end_cause": F.when(closed, F.col("next.cause")).otherwise(F.col("up_end")),
                "t1_early": F.when(F.col("begin") > F.col("up_t1"), F.coalesce("early", F.lit(0))).otherwise(0),
                "t2_early": F.when(closed, F.coalesce("next.early", F.lit(0))).otherwise(0),
            }
        )
        .where("t1 < t2")
    )


def with_found_gone(changes: DataFrame, key: Sequence[str], snapshots: DataFrame) -> DataFrame:
    """The changes, and an absence for each key that the next snapshot does not name: its removal was lost.

    The absence follows the last change before that snapshot, if no other change of the key comes before the
    snapshot's end.
    """
    begins = snapshots.groupBy("ns", "boot").agg(
        F.sort_array(F.collect_list(F.struct("snap", "end_seq", "end_ts"))).alias("begins")
    )
    in_order = Window.partitionBy("ns", "boot", *key).orderBy("seq")
    later = F.get(F.filter("begins", lambda begin: begin["snap"] > F.col("seq")), F.lit(0))
    passed_over = F.col("next_seq").isNull() | (F.col("next_seq") > later["end_seq"])
    names = [name for name in changes.columns if name not in ("ns", "boot", *key)]
    change = F.struct(*names)
    gone = {"seq": later["end_seq"], "ts": later["end_ts"], "cause": F.lit(FOUND_GONE)}
    absence = F.struct(*[gone.get(name, F.lit(None).cast(changes.schema[name].dataType)).alias(name) for name in names])
    rows = F.when(later.isNotNull() & passed_over, F.array(change, absence)).otherwise(F.array(change))
    return (
        changes.join(F.broadcast(begins), ["ns", "boot"], "left")
        .withColumn("next_seq", F.lead("seq").over(in_order))
        .select("ns", "boot", *key, F.explode(rows).alias("row"))
        .select("ns", "boot", *key, "row.*")
    )
