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

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from rocketns.journal.record import MEMBER
from rocketns.pipeline.contract.frames import Observation, Row, any_of, by_group, columns, conform, plain_rows
from rocketns.pipeline.contract.schema import KEY_WINDOWS
from rocketns.pipeline.contract.terms import CONNECTION_ENDED, FAILURES, ROTATE_US, SECOND_US
from rocketns.pipeline.jobs.intervals import TOPIC, BootSpan, BootSpans, state_of_topic, topic_changes
from rocketns.pipeline.jobs.state import Boot, boots, stretches, uptime
from rocketns.pipeline.jobs.timeline import VALUE, server_steps
from rocketns.pipeline.jobs.windows import Judge, windows_of_topic

# Boots of a name server that are kept; if one batch holds more restarts, the older boots are left out.
BOOTS_MAX = 16


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
        return frozenset((row["ns"], row["boot"]) for row in self.uptime() if row["t2"] == self.watermark)

    def changed(self, compared: Iterable[tuple[str, int]]) -> bool:
        """Whether others were ``compared`` at the last watermark, or one was down since. Then every route counts."""
        whole = all((row["t1"], row["t2"]) == (self.before, self.watermark) for row in self.uptime())
        return not whole or self.compared() != frozenset(compared)

    def uptime(self, since: int | None = None) -> list[Row]:
        """NS_UPTIME within [before, watermark), or from ``since`` on; nothing of silent ones."""
        seen = Observation(self.before if since is None else since, self.watermark)
        rows = (uptime(boot, seen) for boot in self.boots if boot.ns not in self.silent)
        return [row for row in rows if row is not None and row["t2"] > self.before]


def boots_in(events: DataFrame) -> list[Boot]:
    """Of the events alone. A stray time stamp does not count."""
    return [
        boot._replace(last=boot.newest, begun=boot.begun and boot.start_ts is not None, holes=())
        for boot in boots(events, stretches(events))
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
    latest = [list(of)[-BOOTS_MAX:] for _ns, of in groupby(in_order, itemgetter(0))]
    boots = tuple(boot._replace(again=boot is not of[-1]) for of in latest for boot in of)
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


# RocketMQ's heartbeat period: 10 to 60 s, by default 30 s.
USUAL_MIN_MS, USUAL_MS, USUAL_MAX_MS = 10_000, 30_000, 60_000
# The last gaps determine the usual period, unless they are a burst of registrations.
GAPS_MAX, BURST_MS = 8, 60_000
# When a broker crashes, its connections have closed everywhere after this time. Clocks may differ by as much.
CLOSED_EVERYWHERE_US = 5_000_000
# A dropped member is forgotten after this time. By then nobody hears it, or there is an alert about it.
FORGET_US = 3_600_000_000


def members_at(remembered: Iterable[Row], events: DataFrame, servers: Servers) -> list[Row]:
    """The members of broker groups as of the watermark, from those of the last watermark and the events since: ns,
    boot, MEMBER; heard: its last heartbeat; up: not dropped; left, cause: of the last down; gaps: the last ones, ms."""
    down, in_time = F.col("ev") == "down", (F.col("ev") == "hb") & (F.col("gap") <= USUAL_MAX_MS)
    arrived = servers.of_current(events).where(F.col("ev").isin("reg", "hb", "down"))
    gaps = F.sort_array(F.collect_list(F.when(in_time, F.struct("seq", "gap"))), asc=False)
    grouped = arrived.groupBy("ns", "boot", *MEMBER).agg(
        F.max(F.when(~down, F.col("ts"))).alias("heard"),
        F.max_by(~down, "seq").alias("up"),
        F.max(F.when(down, F.col("ts"))).alias("left"),
        F.max_by("cause", F.when(down, F.col("seq"))).alias("cause"),
        F.slice(gaps, 1, GAPS_MAX)["gap"].alias("gaps"),
    )
    running = {(ns, boot.boot) for ns, boot in servers.current().items()}
    found = {_key(row): row for row in remembered if (row["ns"], row["boot"]) in running}
    for new in plain_rows(grouped):
        old = found.get(_key(new), NOT_HEARD)
        later = {name: new[name] if new[name] is not None else old[name] for name in ("heard", "left", "cause")}
        found[_key(new)] = {**new, **later, "gaps": [*old["gaps"], *reversed(new["gaps"])][-GAPS_MAX:]}
    forgotten = servers.watermark - FORGET_US
    return [row for row in found.values() if row["heard"] is not None and (row["up"] or row["left"] > forgotten)]


NOT_HEARD: Row = {"heard": None, "left": None, "cause": None, "gaps": []}


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("ns", "boot", *MEMBER))


def partitions(members: Iterable[Row], servers: Servers, grace_us: int) -> list[Row]:
    """ns, MEMBER, since (its last heartbeat), cause, by: late or dropped here, and heard since by these others."""
    running = _running(servers)
    groups: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in members:
        if row["ns"] in running:
            groups[_key(row)[2:]].append({**row, "silence": servers.watermark - row["heard"] - grace_us})
    found: list[Row] = []
    for same in groups.values():
        hearing = [row for row in same if row["up"] and row["silence"] <= usual_us(row["gaps"])]
        for row in same:
            by = sorted(one["ns"] for one in hearing if one is not row and _is_lost(row, one, servers.watermark))
            if by:
                cause = "late" if row["up"] else row["cause"]
                member = {name: row[name] for name in ("ns", *MEMBER)}
                found.append({**member, "since": row["heard"], "cause": cause, "by": by})
    return found


def _is_lost(row: Row, other: Row, watermark: int) -> bool:
    """Whether a member is late or dropped, and ``other`` shows that it sent a heartbeat since."""
    since: bool = other["heard"] - usual_us(other["gaps"]) / 2 > row["heard"]
    if row["up"]:
        # Where a broker's habit is not known yet, the other name server shows how long it waited for the heartbeat.
        other_us = (other["gaps"][-1] if other["gaps"] else USUAL_MS) * 1000
        habit = _is_habit(row["gaps"])
        return since and row["silence"] > (usual_us(row["gaps"]) if habit else max(other_us, USUAL_MIN_MS * 1000))
    # When a broker crashes, it is dropped everywhere within moments. So others must have heard it since, or kept it.
    still_listed: bool = row["cause"] in CONNECTION_ENDED and watermark - row["left"] > CLOSED_EVERYWHERE_US
    return row["cause"] in FAILURES and (
        still_listed or (since and (row["cause"] == "expired" or other["heard"] > row["left"]))
    )


def usual_us(gaps: Sequence[int]) -> int:
    """How long after a heartbeat the next is due: the largest of the last gaps, and in a burst at least 30 s."""
    return min(max([0 if _is_habit(gaps) else USUAL_MS, *gaps]), USUAL_MAX_MS) * 1000


def _is_habit(gaps: Iterable[int]) -> bool:
    """Whether the last gaps show the usual period."""
    return sum(gaps) >= BURST_MS


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


def remembered_and_new(routes: DataFrame, events: DataFrame) -> DataFrame:
    """The changes of routes in the events (``intervals.topic_changes``), and the remembered ROUTES as changes without
    ts."""
    old = routes.select("ns", "boot", "seq", *TOPIC, F.struct(*VALUE).alias("value"), "cause")
    return topic_changes(events).unionByName(old, allowMissingColumns=True)


def routes_at(values: DataFrame, servers: Servers) -> DataFrame:
    """ROUTES as of the watermark, of the last boot of each name server."""
    last = F.max_by(F.struct("seq", "value", "cause"), F.col("seq")).alias("last")
    return conform(
        servers.of_current(values).groupBy("ns", "boot", *TOPIC).agg(last).where("last.value is not null")
        .select("ns", "boot", *TOPIC, "last.seq", "last.value.*", "last.cause"),
        ROUTES,
    )  # fmt: skip


def windows_between(
    values: DataFrame, before: DataFrame, servers: Servers, system_topics: Set[str], *, every: bool
) -> DataFrame:
    """WINDOWS that were open between the last watermark and this one, and recently ended windows of ``before``.

    The moment before the last watermark counts, too, because what happened at it is seen only now. ``every``: look at
    all routes, and not only at those that changed.
    """
    start, is_open = servers.before - 1, F.col("t2").isNull()
    touched = values.where("ts is not null").select(*TOPIC).unionByName(before.where(is_open).select(*TOPIC))
    looked_at = values if every else values.join(touched.distinct(), [*TOPIC], "left_semi")
    since = F.greatest(F.coalesce("ts", F.lit(start)), F.lit(start))  # remembered values hold from the start on
    changes = looked_at.withColumns({"ts": since, "early": F.coalesce("early", F.lit(0))})
    uptime = servers.uptime(start)
    spans = {(up["ns"], up["boot"]): BootSpan(up["t1"], up["t2"], up["end_cause"]) for up in uptime}
    judge = Judge(server_steps(uptime), Observation(start, servers.watermark), 1, system_topics)
    work = partial(_continued, spans, judge)
    found = by_group("topic", work, WINDOWS, changes=changes, opened=before.where(is_open))
    return found.unionByName(remembered(before.where(~is_open), servers))


def _continued(spans: BootSpans, judge: Judge, topic: str, rows: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    """A topic's WINDOWS. One that touches the last watermark and was open before it keeps its beginning; an open one
    that is not found again ended at the watermark."""
    opened = {window["broker"]: window for window in rows["opened"]}
    state = (row.get("interval") for row in state_of_topic(spans, topic, rows))
    intervals = {"intervals": [interval for interval in state if interval]}
    for window in windows_of_topic(judge, topic, intervals):
        is_over = window["t2"] < judge.seen.t1
        now = {"t2": window["t2"] if is_over else None, "t2_early": window["t2_early"] if is_over else 0}
        if window["t1"] > judge.seen.t0:
            yield {**window, **now}
        else:
            begun = opened.pop(window["broker"], {**window, "t1": judge.seen.t0 + 1})
            yield {**begun, **now, "gap": window["gap"]}
    yield from ({**window, "t2": judge.seen.t0 + 1, "t2_early": 0, "gap": None} for window in opened.values())


def remembered(windows: DataFrame, servers: Servers) -> DataFrame:
    """The WINDOWS that are open or ended recently."""
    return windows.where(F.col("t2").isNull() | (F.col("t2") > servers.watermark - REMEMBERED_US))
