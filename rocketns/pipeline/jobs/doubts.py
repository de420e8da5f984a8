"""Where lost records may have held a topic change, so that the computed state of a name server may be wrong.

After a hole in the sequence numbers a name server's value of a topic on a broker is in doubt until its journal names
that topic on that broker again: in a record, or in the next whole snapshot. A snapshot that shows the value of before
the hole proves that no change was lost, so then there is no doubt. Most holes hold heartbeats only, and leave none.

By how much the clocks of name servers may be off, after they were corrected.

Name servers that were observed from outside have no clock of their own here: the observer's clock gave all their times
(method OBSERVED). It may be off from the others, and never differs between two of them. When an observed change
happened is known up to the time between two looks. That is of each record (``*_early``), and comes on top of this.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.clocks import OBSERVED
from rocketns.pipeline.contract.defaults import CLOCK_DOUBT_US
from rocketns.pipeline.contract.frames import Observation, conform, frame_of
from rocketns.pipeline.contract.schema import TOPIC_DOUBTS
from rocketns.pipeline.contract.times import DAY_US
from rocketns.pipeline.jobs.state import FOUND_GONE, TOPIC, Base, counted, topic_changes

BOOT = ("ns", "boot")


def topic_doubts(events: DataFrame, base: Base, topic_intervals: DataFrame, observation: Observation) -> DataFrame:
    """TOPIC_DOUBTS of the topics and brokers that any name server had (TOPIC_INTERVALS)."""
    if not any(boot.holes for boot in base.boots):
        return frame_of(events.sparkSession, [], TOPIC_DOUBTS)
    lost = base.holes.groupBy(*BOOT).agg(
        F.sort_array(F.collect_list(F.struct("after", "until", F.col("t1").alias("t")))).alias("holes")
    )
    keys = topic_intervals.select(*TOPIC).distinct()
    recorded = _recorded(events, base, lost, keys, observation)
    in_order = Window.partitionBy(*BOOT, *TOPIC).orderBy("seq")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    following = F.struct("seq", "t", "value", "whole")
    doubtful = (
        recorded.withColumn("t", F.max("ts").over(so_far))  # the clock may have been set back
        .withColumn("next", F.lead(following).over(in_order))
        .join(F.broadcast(lost), [*BOOT], "inner")
        .withColumn("hole", F.get(F.filter("holes", _between), F.lit(0)))
        .where(F.col("hole").isNotNull() & ~_proven())
        .select(*BOOT, *TOPIC, F.col("hole.t").alias("begin"), F.col("next.t").alias("end"))
    )
    return conform(_within_uptime(doubtful, base.uptime), TOPIC_DOUBTS)


def _recorded(events: DataFrame, base: Base, lost: DataFrame, keys: DataFrame, observation: Observation) -> DataFrame:
    """BOOT, seq, ts, TOPIC, value (null: absent), whole (of a snapshot), for boots with lost records: each value of a
    key in the journal, an absent one at the start, and an absent one where a snapshot does not name the key."""
    holed = F.broadcast(lost.select(*BOOT))
    naming = counted(events, base, observation).where("topics is not null").join(holed, [*BOOT], "left_semi")
    changes = topic_changes(naming).withColumn("whole", F.col("cause") == FOUND_GONE).drop("cause", "early")
    nothing = F.lit(None).cast(changes.schema["value"].dataType)
    first = lost.select(*BOOT, F.lit(0).cast("long").alias("seq"), F.lit(0).cast("long").alias("ts"))
    begun = first.crossJoin(keys).select(
        *BOOT, "seq", "ts", *TOPIC, nothing.alias("value"), F.lit(False).alias("whole")
    )
    passed_over = _passed_over(changes, base.snapshots.join(holed, [*BOOT], "left_semi"), keys)
    absent = passed_over.select(
        *BOOT, F.col("end_seq").alias("seq"), F.col("end_ts").alias("ts"), *TOPIC, nothing.alias("value"),
        F.lit(True).alias("whole"),
    )  # fmt: skip
    return begun.unionByName(changes).unionByName(absent)


def _passed_over(changes: DataFrame, snapshots: DataFrame, keys: DataFrame) -> DataFrame:
    """The snapshots with each key that no record between their beginning and their end names: it was not there."""
    named = changes.select(*BOOT, *TOPIC, F.col("seq").alias("named"))
    of_keys = F.broadcast(snapshots).crossJoin(keys).alias("s")
    during = F.col("named").between(F.col("s.snap"), F.col("s.end_seq"))
    same = [F.col(f"s.{name}") == F.col(f"n.{name}") for name in (*BOOT, *TOPIC)]
    return of_keys.join(named.alias("n"), [*same, during], "left_anti")


def _between(hole: Column) -> Column:
    """Whether the hole lies between a row and the next one of its key."""
    before_next = F.coalesce(hole["until"] <= F.col("next.seq"), F.lit(True))
    return (hole["after"] >= F.col("seq")) & before_next


def _proven() -> Column:
    """Whether the next record of the key is in a snapshot, with the value from before the hole."""
    same = F.col("value").eqNullSafe(F.col("next.value"))
    return F.coalesce(F.col("next.whole") & same, F.lit(False))


def _within_uptime(doubtful: DataFrame, uptime: DataFrame) -> DataFrame:
    up = uptime.select(*BOOT, F.col("t1").alias("up_t1"), F.col("t2").alias("up_t2"))
    return (
        doubtful.join(F.broadcast(up), [*BOOT], "inner")
        .withColumns({"t1": F.greatest("begin", "up_t1"), "t2": F.least("end", "up_t2")})
        .where("t1 < t2")
    )


Off = tuple[int, bool]  # off, shared


def off_by() -> Column:
    """A struct of rows of CLOCK_DAYS. ``off``: by how much the clock may be off, us. ``shared``: it is the
    observer's."""
    off = F.coalesce("uncertainty", F.lit(CLOCK_DOUBT_US)).cast("long")
    shared = F.coalesce(F.col("method") == OBSERVED, F.lit(False))
    return F.struct(off.alias("off"), shared.alias("shared"))


def may_be_off(uncertainty: int | None) -> int:
    """The ``off`` of ``off_by`` of a plain value."""
    return CLOCK_DOUBT_US if uncertainty is None else uncertainty


def between(one: Column, other: Column) -> Column:
    """By how much these two clocks may differ, us."""
    return F.when(one["shared"] & other["shared"], F.lit(0)).otherwise(one["off"] + other["off"]).cast("long")


def apart(clocks: Column) -> Column:
    """By how much two of these clocks may differ, us: of an array of ``off_by``, the sum of the two largest, where all
    that are shared count as one."""

    def offs(shared: bool) -> Column:
        return F.transform(F.filter(clocks, lambda clock: clock["shared"] == F.lit(shared)), lambda clock: clock["off"])

    observer = F.slice(F.sort_array(offs(True), asc=False), 1, 1)
    worst = F.slice(F.sort_array(F.concat(offs(False), observer), asc=False), 1, 2)
    total = F.aggregate(worst, F.lit(0).cast("long"), lambda sum_, one: sum_ + one)
    return F.when(F.size(offs(False)) > 0, total).otherwise(F.lit(0))


def widest(clock_days: Iterable[Mapping[str, Any]]) -> int:
    """By how much two clocks may differ at most on any day of CLOCK_DAYS, us. A name server without a row on a day is
    unknown."""
    days: dict[str, dict[str, Off]] = defaultdict(dict)
    for row in clock_days:
        days[row["day"]][row["ns"]] = may_be_off(row["uncertainty"]), row["method"] == OBSERVED
    names = {ns for known in days.values() for ns in known}
    unknown = (CLOCK_DOUBT_US, False)
    found = (_apart(known.get(ns, unknown) for ns in names) for known in days.values())
    return max(found, default=2 * CLOCK_DOUBT_US)


def _apart(clocks: Iterable[Off]) -> int:
    """``apart`` of plain values."""
    known = list(clocks)
    own = [off for off, shared in known if not shared]
    return sum(sorted([*own, max((off for off, shared in known if shared), default=0)])[-2:]) if own else 0


def off_by_day(rows: DataFrame, time: str, clock_days: DataFrame) -> DataFrame:
    """The rows with ``clocks`` (map of ns to ``off_by``) of the day of their ``time``; see ``off_of``."""
    on_day = F.broadcast(_by_day(clock_days))
    return rows.withColumn("day", F.expr(f"{time} div {DAY_US}")).join(on_day, "day", "left").drop("day")


def off_of(ns: Column) -> Column:
    """``off_by`` of the clock of a name server, of a row of ``off_by_day``."""
    clocks = F.coalesce("clocks", F.create_map().cast("map<string,struct<off:bigint,shared:boolean>>"))
    return F.coalesce(F.try_element_at(clocks, ns), unknown())


def unknown(off: int = CLOCK_DOUBT_US) -> Column:
    """``off_by`` of a clock of which nothing else is known."""
    return F.struct(F.lit(off).cast("long").alias("off"), F.lit(False).alias("shared"))


def _by_day(clock_days: DataFrame) -> DataFrame:
    """day (since the epoch), clocks. A day without an estimate has that of the day before; the records of a day's last
    file go beyond midnight."""
    known = F.map_from_entries(F.collect_list(F.struct("ns", off_by().alias("clock"))))
    days = clock_days.groupBy(F.unix_date(F.to_date("day")).cast("long").alias("day")).agg(known.alias("clocks"))
    until = F.coalesce(F.lead("day").over(Window.orderBy("day")) - 1, F.col("day") + 1)
    return days.withColumn("until", until).select(F.explode(F.sequence("day", "until")).alias("day"), "clocks")
