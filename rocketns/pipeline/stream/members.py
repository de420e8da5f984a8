"""Members of broker groups as each name server heard them, and partitions: one name server does not hear a member that
another hears.

A partition is alerted long before the name server drops the broker. A broker sends its heartbeats to all name servers
at once. A heartbeat that is late at one name server (by the broker's usual period and a grace) and arrived in time at
another was lost on the way. Lateness at a name server is measured by its own clock. Where only one name server lost
the connection of a broker, it is alerted without waiting for another heartbeat.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, LongType, StructType

from rocketns.journal.record import MEMBER
from rocketns.pipeline.contract.causes import CONNECTION_ENDED, FAILURES
from rocketns.pipeline.contract.frames import columns, conform
from rocketns.pipeline.stream.servers import Servers, any_of

# RocketMQ's heartbeat period: 10 to 60 s, by default 30 s.
USUAL_MIN_MS, USUAL_MS, USUAL_MAX_MS = 10_000, 30_000, 60_000
# The last gaps determine the usual period, unless they are a burst of registrations.
GAPS_KEPT, BURST_MS = 8, 60_000
# When a broker crashes, its connections have closed everywhere after this time. Clocks may differ by as much.
KEPT_US = 5_000_000
# A dropped member is forgotten after this time. By then nobody hears it, or there is an alert about it.
FORGET_US = 3_600_000_000

# heard: its last heartbeat; up: not dropped; left, cause: of the last down; gaps: the last ones, in ms.
MEMBERS = StructType(
    [
        *columns("ns:string boot:long cluster:string broker:string bid:int addr:string").fields,
        *columns("heard:long up:boolean left:long cause:string gaps:gaps", gaps=ArrayType(LongType())).fields,
    ]
)
# since: its last heartbeat here; by: the name servers that still hear it.
PARTITIONS = columns("ns:string cluster:string broker:string bid:int addr:string since:long cause:string by:strings")


def members_at(remembered: DataFrame, events: DataFrame, servers: Servers) -> DataFrame:
    """MEMBERS as of the watermark, from the members of the last watermark and the events since."""
    now = servers.of_current(remembered).select(F.lit(0).cast("long").alias("seq"), *MEMBERS.names)
    heard = _heard(servers.of_current(events)).unionByName(now)
    order = F.struct("seq")
    grouped = heard.groupBy("ns", "boot", *MEMBER).agg(
        F.max("heard").alias("heard"),
        F.max_by("up", order).alias("up"),
        F.max("left").alias("left"),
        F.max_by("cause", F.when(F.col("left").isNotNull(), order)).alias("cause"),
        F.array_sort(F.collect_list(F.struct("seq", "gaps"))).alias("told"),
    )
    gaps = F.flatten(F.transform("told", lambda entry: entry.gaps))
    last = F.slice(gaps, F.greatest(F.size(gaps) - GAPS_KEPT + 1, F.lit(1)), GAPS_KEPT)
    known = F.col("up") | (F.col("left") > servers.watermark - FORGET_US)
    return conform(grouped.withColumn("gaps", last).where(known & F.col("heard").isNotNull()), MEMBERS)


def _heard(events: DataFrame) -> DataFrame:
    is_down = F.col("ev") == "down"
    nothing = F.array().cast("array<long>")
    gaps = F.when((F.col("ev") == "hb") & (F.col("gap") <= USUAL_MAX_MS), F.array("gap")).otherwise(nothing)
    return events.where(F.col("ev").isin("reg", "hb", "down")).select(
        "seq", "ns", "boot", *MEMBER,
        F.when(~is_down, F.col("ts")).alias("heard"),
        (~is_down).alias("up"),
        F.when(is_down, F.col("ts")).alias("left"),
        F.when(is_down, F.col("cause")).alias("cause"),
        gaps.alias("gaps"),
    )  # fmt: skip


def partitions(members: DataFrame, servers: Servers, grace_us: int) -> DataFrame:
    """PARTITIONS as of the watermark: late or dropped here, and heard elsewhere since."""
    judged = members.withColumn("usual", usual_us()).where(any_of([F.col("ns") == ns for ns in _running(servers)]))
    silence = F.lit(servers.watermark) - F.col("heard") - grace_us
    late = silence > F.col("usual")
    failed = ~F.col("up") & F.col("cause").isin(*FAILURES)
    may_be_late = silence > F.when(_is_habit(), F.col("usual")).otherwise(USUAL_MIN_MS * 1000)
    lost = judged.where(failed | (F.col("up") & may_be_late)).withColumns({"silence": silence, "habit": _is_habit()})
    other_gap = F.coalesce(F.try_element_at("gaps", F.lit(-1)), F.lit(USUAL_MS)) * 1000
    hearing = judged.where(F.col("up") & ~late).select(
        *MEMBER, F.col("ns").alias("other"), F.col("heard").alias("other_heard"), F.col("usual").alias("other_usual"),
        other_gap.alias("other_gap"),
    )  # fmt: skip
    after = F.col("other_heard") - F.col("other_usual") / 2 > F.col("heard")
    # Where a broker's habit is not known yet, the other name server shows how long it waited for the heartbeat.
    is_late = ~F.col("up") | F.col("habit") | (F.col("silence") > F.col("other_gap"))
    # When a broker crashes, it is dropped everywhere within moments. So others must have heard it since, or kept it.
    after_down = F.col("up") | (F.col("cause") == "expired") | (F.col("other_heard") > F.col("left"))
    is_kept = (
        ~F.col("up") & F.col("cause").isin(*CONNECTION_ENDED) & (F.lit(servers.watermark) - F.col("left") > KEPT_US)
    )
    heard_elsewhere = (
        lost.join(hearing, [*MEMBER], "inner")
        .where((F.col("ns") != F.col("other")) & (is_kept | after & is_late & after_down))
        .groupBy("ns", *MEMBER, "heard", "cause", "up")
        .agg(F.array_sort(F.collect_set("other")).alias("by"))
    )
    cause = F.when(F.col("up"), F.lit("late")).otherwise(F.col("cause"))
    return conform(heard_elsewhere.withColumns({"since": F.col("heard"), "cause": cause}), PARTITIONS)


def usual_us() -> Column:
    """How long after a heartbeat the next is due: the largest of the last gaps, and in a burst at least 30 s."""
    largest = F.coalesce(F.array_max("gaps"), F.lit(0))
    habit = F.when(_is_habit(), largest).otherwise(F.greatest(largest, F.lit(USUAL_MS)))
    return F.least(habit, F.lit(USUAL_MAX_MS)) * 1000


def _is_habit() -> Column:
    """Whether the last gaps show the usual period."""
    total = F.aggregate("gaps", F.lit(0).cast("long"), lambda sum_, gap: sum_ + gap)
    return total >= BURST_MS


def _running(servers: Servers) -> list[str]:
    """An observer sees no heartbeats, so what it watched is not among them."""
    current = servers.current().items()
    return [ns for ns, boot in current if boot.stopped is None and not boot.observed and ns not in servers.silent]
