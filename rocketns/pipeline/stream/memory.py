"""Which name servers write, and the watermark: the moment up to which all their journals have arrived.

Files of different name servers arrive at different times. A batch is therefore evaluated as of the watermark, and
records after it wait. A name server whose journal lags behind the newest one by more than the limit, and by more than a
file that is not closed yet may hold, is called silent. The stream does not wait for it, and does not compare its last
state with anything until it is back.

Members of broker groups as each name server heard them, and partitions: one name server does not hear a member that
another hears.

A partition is alerted long before the name server drops the broker. A broker sends its heartbeats to all name servers
at once. A heartbeat that is late at one name server (by the broker's usual period and a grace) and arrived in time at
another was lost on the way. Lateness at a name server is measured by its own clock. Where only one name server lost
the connection of a broker, it is alerted without waiting for another heartbeat.

The routes of each name server, and the windows in which they disagree, updated from watermark to watermark.

Windows come from the same job as in a whole run, applied to the time between two cuts. Windows that were open at the
first watermark are continued. The result is the windows of a whole run, wherever the journals were cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, LongType, StructType

from rocketns.journal.record import MEMBER
from rocketns.pipeline.contract.frames import Observation, columns, conform, frame_of
from rocketns.pipeline.contract.schema import KEY_WINDOWS, NS_UPTIME, TOPIC_INTERVALS
from rocketns.pipeline.contract.terms import CONNECTION_ENDED, FAILURES, ROTATE_US, SECOND_US
from rocketns.pipeline.jobs.state import TOPIC, VALUE, Boot, boots, intervals, topic_changes, uptime
from rocketns.pipeline.jobs.windows import key_windows
from rocketns.pipeline.storage.results import materialized_if_small as few

# Boots of a name server that are kept; if one batch holds more restarts, the older boots are left out.
BOOTS_KEPT = 16


class Arriving(NamedTuple):
    """Records that may still arrive. ``pending``: name servers with more to read; ``opened``: name servers whose open
    file was read to its end, None for all."""

    pending: frozenset[str] = frozenset()
    opened: frozenset[str] | None = None

    def lag(self, boot: Boot) -> int:
        """How far behind its journal may be because of a file that is not closed yet, us."""
        if self.opened is None or boot.ns in self.opened:
            return 0
        return ROTATE_US if boot.rotate_s is None else boot.rotate_s * SECOND_US


ALL_READ = Arriving()


class Servers(NamedTuple):
    """The relevant boots since the last watermark, by name server and boot, and the watermark of this batch."""

    boots: tuple[Boot, ...]
    silent: frozenset[str]
    before: int
    watermark: int

    def current(self) -> dict[str, Boot]:
        """The last boot of each name server that began before the watermark."""
        return {boot.ns: boot for boot in self.boots if boot.boot * 1000 < self.watermark}

    def of_current(self, frame: DataFrame) -> DataFrame:
        """The rows (ns, boot, …) of the boots that run at the watermark: a name server starts with empty tables."""
        wanted = [(F.col("ns") == ns) & (F.col("boot") == boot.boot) for ns, boot in self.current().items()]
        return frame.where(any_of(wanted))

    def compared(self) -> frozenset[tuple[str, int]]:
        """The boots whose state is known at the watermark."""
        return frozenset((ns, boot) for ns, boot, _t1, t2, *_rest in self.uptime() if t2 == self.watermark)

    def changed(self, compared: Iterable[tuple[str, int]]) -> bool:
        """Whether others were ``compared`` at the last watermark, or one was down since. Then every route counts."""
        whole = all(span[2:4] == (self.before, self.watermark) for span in self.uptime())
        return not whole or self.compared() != frozenset(compared)

    def uptime(self, since: int | None = None) -> list[tuple[str, int, int, int, str, bool, bool]]:
        """NS_UPTIME within [before, watermark), or from ``since`` on; nothing of silent ones."""
        seen = Observation(self.before if since is None else since, self.watermark)
        rows = (uptime(boot, seen) for boot in self.boots if boot.ns not in self.silent)
        return [row for row in rows if row is not None and row[3] > self.before]


def boots_in(events: DataFrame) -> list[Boot]:
    """Of the events alone. A stray time stamp does not count."""
    return [
        boot._replace(last=boot.newest, begun=boot.begun and boot.start_ts is not None, holes=())
        for boot in boots(events)
    ]


def servers_at_watermark(
    remembered: Iterable[Boot],
    arrived: Iterable[Boot],
    before: int | None,
    silent_after_us: int,
    arriving: Arriving = ALL_READ,
) -> Servers:
    """The name servers as of the new watermark. ``before`` is the last one, None in the first batch with a record."""
    found: dict[tuple[str, int], Boot] = {}
    for boot in (*remembered, *arrived):
        key = boot.ns, boot.boot
        found[key] = _merged(found[key], boot) if key in found else boot
    in_order = sorted(found.values(), key=itemgetter(0, 1))
    kept = [list(of)[-BOOTS_KEPT:] for _ns, of in groupby(in_order, itemgetter(0))]
    boots = tuple(boot._replace(again=boot is not of[-1]) for of in kept for boot in of)
    newest = max(boot.last for boot in boots)
    running = [boot for boot in boots if not boot.again and boot.stop_ts is None]
    behind = [boot for boot in running if newest - boot.last > silent_after_us + arriving.lag(boot)]
    silent = frozenset(boot.ns for boot in behind) - arriving.pending
    watermark = min((boot.last for boot in running if boot.ns not in silent), default=newest)
    first = min((boot.known_from for boot in boots if boot.known_from is not None), default=watermark)
    start = first if before is None else before
    return Servers(boots, silent, start, max(watermark, start))


def _merged(one: Boot, other: Boot) -> Boot:
    def least(name: str) -> int | None:
        return min((value for value in (getattr(one, name), getattr(other, name)) if value is not None), default=None)

    return other._replace(
        first=min(one.first, other.first), start_ts=least("start_ts"), stop_ts=least("stop_ts"),
        observed=one.observed or other.observed, no_topics=one.no_topics or other.no_topics,
        begun=one.begun or other.begun, snapshots=one.snapshots or other.snapshots,
        rotate_s=one.rotate_s if other.rotate_s is None else other.rotate_s,
    )  # fmt: skip


def any_of(conditions: Iterable[Column]) -> Column:
    """Whether any of them holds; false if there are none."""
    return reduce(Column.__or__, conditions, F.lit(False))


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
    return [ns for ns, boot in current if boot.stop_ts is None and not boot.observed and ns not in servers.silent]


# A window is kept for this time after its end, so windows that begin soon after it join its incident.
REMEMBERED_US = 60_000_000

# A topic's queues on a broker at a name server, as of the watermark; seq and cause: of the record that set them.
ROUTES = columns("ns:string boot:long seq:long topic:string broker:string r:int w:int p:int cause:string")
# t2 is null while the window is open.
WINDOWS = StructType([*KEY_WINDOWS.fields])


def remembered_and_new(remembered: DataFrame, events: DataFrame) -> DataFrame:
    """ns, boot, seq, ts, early, topic, broker, value (r, w, p; null: gone), cause. Remembered values have no ts."""
    value = F.struct(*VALUE)
    nothing = F.lit(None).cast("long")
    old = remembered.select(
        "ns", "boot", "seq", nothing.alias("ts"), nothing.alias("early"), *TOPIC, value.alias("value"), "cause"
    )
    new = topic_changes(events)
    return old.unionByName(new.select("ns", "boot", "seq", "ts", "early", *TOPIC, "value", "cause"))


def routes_at(values: DataFrame, servers: Servers) -> DataFrame:
    """ROUTES as of the watermark, of the last boot of each name server."""
    last = F.max_by(F.struct("seq", "value", "cause"), F.col("seq")).alias("last")
    return conform(
        servers.of_current(values).groupBy("ns", "boot", *TOPIC).agg(last).where("last.value is not null")
        .select("ns", "boot", *TOPIC, "last.seq", "last.value.*", "last.cause"),
        ROUTES,
    )  # fmt: skip


def windows_between(values: DataFrame, before: DataFrame, servers: Servers, *, every: bool) -> DataFrame:
    """WINDOWS that were open between the last watermark and this one, and recently ended windows of ``before``.

    The moment before the last watermark counts, too, because what happened at it is seen only now. ``every``: look at
    all routes, and not only at those that changed.
    """
    start, spark = servers.before - 1, values.sparkSession
    uptime = frame_of(spark, servers.uptime(start), NS_UPTIME)
    touched = values.where("ts is not null").select(*TOPIC).unionByName(before.where("t2 is null").select(*TOPIC))
    looked_at = values if every else values.join(touched.distinct(), [*TOPIC], "left_semi")
    shown, seen = few(intervals_since(start, looked_at, uptime)), Observation(start, servers.watermark)
    found = few(key_windows(shown, uptime, seen, 1, checkpoint=few))
    ended = F.when(F.col("t2") < servers.watermark, F.col("t2"))
    later = found.where(F.col("t1") > start).withColumn("t2", ended)
    opened, over = before.where("t2 is null"), remembered(before.where("t2 is not null"), servers)
    first = found.where(F.col("t1") == start).withColumn("t1", F.lit(servers.before))
    return conform(_continued(first, opened, servers).unionByName(later).unionByName(over), WINDOWS)


def remembered(windows: DataFrame, servers: Servers) -> DataFrame:
    """The WINDOWS that are open or ended recently."""
    return windows.where(F.col("t2").isNull() | (F.col("t2") > servers.watermark - REMEMBERED_US))


def _continued(first: DataFrame, opened: DataFrame, servers: Servers) -> DataFrame:
    """Windows that touch the last watermark. A window that was open before it keeps its beginning; an open one that is
    not found again ended at the watermark."""
    new = first.select(*TOPIC, F.struct(*WINDOWS.names).alias("new"))
    both = new.join(opened.select(*TOPIC, F.struct(*WINDOWS.names).alias("old")), [*TOPIC], "full")
    begun = F.coalesce("old", "new")
    ended = F.when(F.col("new").isNull(), F.lit(servers.before)).when(
        F.col("new.t2") < servers.watermark, F.col("new.t2")
    )
    late = ("t2", "t2_early", "gap")
    kept = [begun[name].alias(name) for name in WINDOWS.names if name not in (*TOPIC, *late)]
    early = F.when(F.col("new.t2") < servers.watermark, F.col("new.t2_early")).otherwise(F.lit(0)).alias("t2_early")
    return both.select(*TOPIC, ended.alias("t2"), early, F.col("new.gap").alias("gap"), *kept)


def intervals_since(start: int, values: DataFrame, uptime: DataFrame) -> DataFrame:
    """TOPIC_INTERVALS of the boots of ``uptime``. Remembered values hold from ``start`` on."""
    since = F.greatest(F.coalesce("ts", F.lit(start)), F.lit(start))
    return conform(intervals(values.withColumn("ts", since), [*TOPIC], uptime).select("*", "value.*"), TOPIC_INTERVALS)
