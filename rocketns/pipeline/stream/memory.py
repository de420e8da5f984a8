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

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, LongType, StructType

from rocketns.journal.record import MEMBER
from rocketns.pipeline.contract.frames import Checkpoint, Observation, as_it_is, columns, conform, frame_of
from rocketns.pipeline.contract.schema import KEY_WINDOWS, NS_UPTIME, TOPIC_INTERVALS
from rocketns.pipeline.contract.terms import CONNECTION_ENDED, FAILURES, ROTATE_US, SECOND_US, UNWATCHED
from rocketns.pipeline.jobs.state import TOPIC, VALUE, intervals, topic_changes
from rocketns.pipeline.jobs.windows import key_windows

# One start of a name server. known: from when on its whole state is known (its start, or the end of the first snapshot
# that is complete within one batch), null before that. stopped: time of its stop record, or null. compared: whether it
# was compared at the last watermark. moved: whether a record changes routes.
# rotate_s: as its `open` records say, or null. observed: it is an observer's, which watched the name server meanwhile.
# no_topics: and could not know its topics.
BOOTS = columns(
    "ns:string boot:long known:long stopped:long last:long compared:boolean rotate_s:long observed:boolean "
    "no_topics:boolean moved:boolean"
)

# Boots of a name server that are kept; if one batch holds more restarts, the older boots are left out.
BOOTS_KEPT = 16


class BootState(NamedTuple):
    """A row of BOOTS but for ``moved``; times are epoch us."""

    ns: str
    boot: int
    known: int | None
    stopped: int | None
    last: int
    compared: bool
    rotate_s: int | None = None
    observed: bool = False
    no_topics: bool = False


class Arriving(NamedTuple):
    """Records that may still arrive. ``pending``: name servers with more to read; ``opened``: name servers whose open
    file was read to its end, None for all."""

    pending: frozenset[str] = frozenset()
    opened: frozenset[str] | None = None

    def lag(self, boot: BootState) -> int:
        """How far behind its journal may be because of a file that is not closed yet, us."""
        if self.opened is None or boot.ns in self.opened:
            return 0
        return ROTATE_US if boot.rotate_s is None else boot.rotate_s * SECOND_US


ALL_READ = Arriving()


class Uptime(NamedTuple):
    """A row of NS_UPTIME."""

    ns: str
    boot: int
    t1: int
    t2: int
    end_cause: str
    observed: bool = False
    no_topics: bool = False


class Servers(NamedTuple):
    """The relevant boots since the last watermark, by name server and boot, and the watermark of this batch."""

    boots: tuple[BootState, ...]
    silent: frozenset[str]
    before: int
    watermark: int

    def current(self) -> dict[str, BootState]:
        """The last boot of each name server that began before the watermark."""
        return {boot.ns: boot for boot in self.boots if boot.boot * 1000 < self.watermark}

    def last(self) -> dict[str, BootState]:
        """The last boot of each name server."""
        return _last_boots(self.boots)

    def of_current(self, frame: DataFrame) -> DataFrame:
        """The rows (ns, boot, …) of the boots that run at the watermark: a name server starts with empty tables."""
        wanted = [(F.col("ns") == ns) & (F.col("boot") == boot.boot) for ns, boot in self.current().items()]
        return frame.where(any_of(wanted))

    def compared(self) -> frozenset[tuple[str, int]]:
        """The boots whose state is known at the watermark."""
        return frozenset((span.ns, span.boot) for span in self.uptime() if span.t2 == self.watermark)

    @property
    def changed(self) -> bool:
        """Whether the compared boots changed since the last watermark, or were down. Then every route counts."""
        whole = all((span.t1, span.t2) == (self.before, self.watermark) for span in self.uptime())
        return not whole or self.compared() != {(boot.ns, boot.boot) for boot in self.boots if boot.compared}

    def remembered(self) -> list[BootState]:
        """BOOTS for the next batch."""
        return [boot._replace(compared=(boot.ns, boot.boot) in self.compared()) for boot in self.boots]

    def uptime(self) -> list[Uptime]:
        """When the state of each name server was known, within [before, watermark); nothing of silent ones."""
        spans = []
        for boot, following in zip(self.boots, [*self.boots[1:], None], strict=True):
            lost = following is not None and following.ns == boot.ns
            end = boot.stopped if boot.stopped is not None else boot.last if lost else self.watermark
            start = max(boot.known or self.before, self.before)
            if boot.known is not None and boot.ns not in self.silent and start < min(end, self.watermark):
                cause = "stop" if boot.stopped is not None else "lost" if lost else "open"
                cause = UNWATCHED if boot.observed and cause != "open" else cause
                until = min(end, self.watermark)
                spans.append(Uptime(boot.ns, boot.boot, start, until, cause, boot.observed, boot.no_topics))
        return spans

    def uptime_since(self, start: int) -> list[Uptime]:
        """`uptime`, but from ``start`` on, before the last watermark, for name servers whose state was known then."""
        known = {(boot.ns, boot.boot) for boot in self.boots if boot.known is not None and boot.known <= start}
        return [span._replace(t1=start) if span.t1 == self.before and (span.ns, span.boot) in known else span
                for span in self.uptime()]  # fmt: skip


def boots_in(events: DataFrame) -> DataFrame:
    """BOOTS of the events alone."""
    with_routes = F.coalesce("restored", F.lit(False)) | F.coalesce("observed", F.lit(False))
    grouped = events.groupBy("ns", "boot").agg(
        F.min(F.when((F.col("ev") == "start") & ~with_routes, F.col("ts"))).alias("begun"),
        F.max(F.when(F.col("ev") == "stop", F.coalesce("since", "ts"))).alias("stopped"),
        F.max(F.coalesce("observed", F.lit(False)) | F.col("since").isNotNull()).alias("observed"),
        F.max(F.coalesce("no_topics", F.lit(False))).alias("no_topics"),
        F.max_by("ts", "seq").alias("last"),  # a stray time stamp before it does not count
        F.max_by("rotate_s", F.when(F.col("rotate_s").isNotNull(), F.col("seq"))).alias("rotate_s"),
        F.max(F.col("topics").isNotNull()).alias("moved"),
        F.collect_set(F.when(F.col("part") == 0, F.col("snap"))).alias("firsts"),
        F.collect_set(F.when((F.col("ev") == "snap") & F.col("end"), F.struct("snap", "ts"))).alias("ends"),
    )
    whole = F.filter("ends", lambda end: F.array_contains("firsts", end.snap))
    known = F.coalesce("begun", F.array_min(F.transform(whole, lambda end: end.ts)))
    return conform(grouped.withColumns({"known": known, "compared": F.lit(False)}), BOOTS)


def servers_at_watermark(
    remembered: Iterable[BootState],
    arrived: Iterable[BootState],
    before: int | None,
    silent_after_us: int,
    arriving: Arriving = ALL_READ,
) -> Servers:
    """The name servers as of the new watermark. ``before`` is the last one, None in the first batch with a record."""
    found = _united([*remembered, *arrived])
    boots = tuple(boot for boot in found.values() if not _is_past(boot, found))
    newest = max(boot.last for boot in boots)
    running = [boot for boot in _last_boots(boots).values() if boot.stopped is None]
    behind = [boot for boot in running if newest - boot.last > silent_after_us + arriving.lag(boot)]
    silent = frozenset(boot.ns for boot in behind) - arriving.pending
    watermark = min((boot.last for boot in running if boot.ns not in silent), default=newest)
    first = min((boot.known for boot in boots if boot.known is not None), default=watermark)
    start = first if before is None else before
    return Servers(boots, silent, start, max(watermark, start))


def _united(boots: Iterable[BootState]) -> dict[tuple[str, int], BootState]:
    """One entry for each boot, in the order of name servers and boots."""
    found: dict[tuple[str, int], BootState] = {}
    for boot in boots:
        key = boot.ns, boot.boot
        found[key] = _merged(found[key], boot) if key in found else boot
    return dict(sorted(found.items()))


def _merged(one: BootState, other: BootState) -> BootState:
    def least(name: str) -> int | None:
        return min((value for value in (getattr(one, name), getattr(other, name)) if value is not None), default=None)

    rotate_s = one.rotate_s if other.rotate_s is None else other.rotate_s
    observed, no_topics = one.observed or other.observed, one.no_topics or other.no_topics
    return BootState(one.ns, one.boot, least("known"), least("stopped"), other.last, one.compared, rotate_s, observed,
                no_topics)  # fmt: skip


def _is_past(boot: BootState, boots: Mapping[tuple[str, int], BootState]) -> bool:
    later = [number for ns, number in boots if ns == boot.ns and number > boot.boot]
    return len(later) >= BOOTS_KEPT


def _last_boots(boots: Iterable[BootState]) -> dict[str, BootState]:
    return {boot.ns: boot for boot in boots}


def as_boot(row: Mapping[str, Any]) -> BootState:
    """A Boot from a collected row."""
    return BootState(*(row[name] for name in BootState._fields))


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
    return [ns for ns, boot in current if boot.stopped is None and not boot.observed and ns not in servers.silent]


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


def windows_between(
    values: DataFrame, before: DataFrame, servers: Servers, materialize: Checkpoint = as_it_is
) -> DataFrame:
    """WINDOWS that were open between the last watermark and this one, and recently ended windows of ``before``.

    The moment before the last watermark counts, too, because what happened at it is seen only now. ``materialize`` is
    called on frames that are used several times, and mostly have few rows.
    """
    start, spark = servers.before - 1, values.sparkSession
    uptime = frame_of(spark, [tuple(span) for span in servers.uptime_since(start)], NS_UPTIME)
    touched = values.where("ts is not null").select(*TOPIC).unionByName(before.where("t2 is null").select(*TOPIC))
    looked_at = values if servers.changed else values.join(touched.distinct(), [*TOPIC], "left_semi")
    shown = materialize(intervals_since(start, looked_at, uptime))
    found = materialize(key_windows(shown, uptime, Observation(start, servers.watermark), 1, checkpoint=materialize))
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
