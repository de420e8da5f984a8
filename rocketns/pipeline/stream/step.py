"""One batch: the memory before it and the new events → the lines to write and the memory after it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from rocketns.journal.record import MEMBER
from rocketns.pipeline.contract.frames import Row, any_of, plain_rows
from rocketns.pipeline.contract.schema import EVENTS
from rocketns.pipeline.contract.terms import GRACE_US, GROUP_SIZES, MIN_WINDOW_US, STREAM_SILENT_AFTER_US
from rocketns.pipeline.jobs.allocation import STRATEGIES, model_outcome
from rocketns.pipeline.jobs.impact import read_views
from rocketns.pipeline.jobs.state import Boot, Snapshot
from rocketns.pipeline.jobs.topics import system_topics
from rocketns.pipeline.jobs.windows import divergences
from rocketns.pipeline.stream import conditions
from rocketns.pipeline.stream.conditions import changes
from rocketns.pipeline.stream.memory import (
    ALL_READ,
    ROUTES,
    WINDOWS,
    Arriving,
    Servers,
    boots_in,
    members_at,
    partitions,
    remembered,
    remembered_and_new,
    routes_at,
    servers_at_watermark,
    windows_between,
)
from rocketns.pipeline.stream.outlets import Line

# waiting: events after the watermark.
SCHEMAS: dict[str, StructType] = {"waiting": EVENTS, "routes": ROUTES, "windows": WINDOWS}
Store = Callable[[str, DataFrame], DataFrame]


class Memory(NamedTuple):
    """The state after a batch: tables by the names of SCHEMAS, and plain values. ``watermark``: None before any record;
    ``compared``: the boots that were compared at it; ``members``: of `members_at`; ``windows``: the number of rows in
    that table."""

    tables: dict[str, DataFrame]
    watermark: int | None = None
    boots: tuple[Boot, ...] = ()
    compared: tuple[tuple[str, int], ...] = ()
    members: Sequence[Row] = ()
    alerts: Sequence[Line] = ()
    windows: int = 0

    @classmethod
    def of(cls, tables: dict[str, DataFrame], plain: Any) -> Memory:
        """From what ``plain`` gave, or None."""
        if plain is None:
            return cls(tables)
        boots = tuple(boot._replace(snapshots=[Snapshot(*one) for one in boot.snapshots])
                      for boot in (Boot(*row) for row in plain["boots"]))  # fmt: skip
        compared = tuple((ns, boot) for ns, boot in plain["compared"])
        return cls(tables, **{**plain, "boots": boots, "compared": compared})

    def plain(self) -> dict[str, Any]:
        """All but the tables, for JSON."""
        return {name: value for name, value in self._asdict().items() if name != "tables"}


class StreamLimits(NamedTuple):
    """Limits from the command line, in us. ``apart``: by how much two clocks may differ."""

    min_window: int = MIN_WINDOW_US
    grace: int = GRACE_US
    silent_after: int = STREAM_SILENT_AFTER_US
    apart: int = 0

    def shortest(self) -> Column:
        """The shortest certain window of a row of WINDOWS, us. Clock errors, or the time between two looks of an
        observer, may explain a shorter one."""
        looks = F.coalesce("t1_early", F.lit(0)) + F.coalesce("t2_early", F.lit(0))
        return F.greatest(F.lit(self.min_window), looks + self.apart)


class New(NamedTuple):
    """What arrived: EVENTS, what their journals lost (ns, lost, corrupt), and what may still arrive."""

    events: DataFrame
    losses: Sequence[Line] = ()
    arriving: Arriving = ALL_READ


def step(memory: Memory, new: New, limits: StreamLimits, store: Store) -> tuple[list[Line], Memory]:
    """One batch: the lines to write, and the memory after it. ``store`` writes a table of that memory and returns it;
    it is called once for each of SCHEMAS. A table that did not change is given to it as it was."""
    read = new.events.unionByName(memory.tables["waiting"])
    arrived = boots_in(read)
    if not arrived and not memory.boots:
        return _waited(memory, read, store)
    now = servers_at_watermark(memory.boots, arrived, memory.watermark, limits.silent_after, new.arriving)
    if now.watermark == memory.watermark:
        return _waited(memory, read, store)
    is_due = (F.col("ts") < now.watermark) | any_of([F.col("ns") == ns for ns in sorted(now.silent)])
    due = read.where(is_due)
    every = now.changed(memory.compared)
    moved = every or not due.where("topics is not null").isEmpty()
    members = members_at(memory.members, due, now)
    routes, windows = memory.tables["routes"], memory.tables["windows"]
    if moved:
        values = remembered_and_new(routes, due)
        routes, windows = (
            routes_at(values, now),
            windows_between(values, windows, now, system_topics(members), every=every),
        )
    elif memory.windows:  # no record changes routes, as in most batches: open windows stay open
        windows = remembered(windows, now)
    after = {"waiting": read.where(~is_due), "routes": routes, "windows": windows}
    tables = {name: store(name, frame) for name, frame in after.items()}
    may_differ = moved or memory.windows > 0
    current = [
        *map(conditions.partition, partitions(members, now, limits.grace)),
        *map(conditions.divergence, _divergences(memory, tables, now, limits) if may_differ else []),
        *conditions.silences(now),
        *conditions.kills(now, memory.boots),
        *conditions.losses(new.losses, now),
    ]
    changed = changes(memory.alerts, current, _reasons(memory.alerts, members, now), now.watermark)
    count = tables["windows"].count() if may_differ else 0
    compared = tuple(sorted(now.compared()))
    return changed.lines, Memory(tables, now.watermark, now.boots, compared, members, changed.open, count)


def _waited(memory: Memory, read: DataFrame, store: Store) -> tuple[list[Line], Memory]:
    """A batch that did not move the watermark: new events wait."""
    tables = {name: store(name, read if name == "waiting" else memory.tables[name]) for name in SCHEMAS}
    return [], memory._replace(tables=tables)


def _incidents(windows: DataFrame, now: Servers, limits: StreamLimits) -> list[Line]:
    """DIVERGENCES of windows that are long enough, if they are open or ended since the last watermark."""
    until = F.coalesce("t2", F.lit(now.watermark))
    at_watermark = windows.withColumn("t2", until)
    long_enough = at_watermark.where(F.col("t2") - F.col("t1") >= limits.shortest())
    ended = F.col("t2") < now.watermark
    lately = divergences(long_enough).withColumn("open", ~ended).where(~ended | (F.col("t2") >= now.before))
    return plain_rows(lately)


def _divergences(memory: Memory, tables: Mapping[str, DataFrame], now: Servers, limits: StreamLimits) -> list[Line]:
    """Rows of DIVERGENCES; those that go on, and have no alert yet, with ``orphaned`` and ``twice``: how many queues of
    user topics no consumer takes, and more than one, by the batch's model and the routes at the watermark."""
    known = {alert["key"] for alert in memory.alerts if alert["kind"] == "divergence"}
    found = _incidents(tables["windows"], now, limits)
    new = [row for row in found if row["open"] and conditions.divergence_key(row) not in known]
    harmed = _harm(tables["windows"], tables["routes"], now) if new else []
    for row in new:
        same = (one for one in harmed if (one["broker"], one["cause"]) == (row["broker"], row["cause"]))
        topics = {one["topic"]: one for one in same if row["t1"] <= one["t1"] <= row["t2"]}
        row |= {name: round(sum(one[name] for one in topics.values())) for name in ("orphaned", "twice")}
    return found


def _harm(windows: DataFrame, routes: DataFrame, now: Servers) -> list[Row]:
    """topic, broker, cause, t1, orphaned, twice of each open window of a user topic whose views differ: the worst group
    size and strategy."""
    users = windows.where("t2 is null and kind = 'user'").select("topic", "broker", "cause", "t1")
    compared = any_of([(F.col("ns") == ns) & (F.col("boot") == boot) for ns, boot in sorted(now.compared())])
    views: defaultdict[str, defaultdict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for route in plain_rows(routes.where(compared).join(users.select("topic").distinct(), "topic", "left_semi")):
        views[route["topic"]][route["ns"]].append(route)
    harm = {}
    for topic, of_servers in views.items():
        if read := read_views({"ns": ns, "view": view} for ns, view in of_servers.items()):
            outcomes = [model_outcome(read.shape, c, how) for c, how in product(GROUP_SIZES, STRATEGIES)]
            worst = (max(outcome.orphaned_max for outcome in outcomes), max(outcome.dup_max for outcome in outcomes))
            harm[topic] = dict(zip(("orphaned", "twice"), worst, strict=True))
    return [row | harm[row["topic"]] for row in plain_rows(users) if row["topic"] in harm]


def _reasons(opened: Iterable[Line], members: Iterable[Row], now: Servers) -> dict[str, str]:
    """By key, why a partition that is no longer found is over; '' if it is not over. Silence of the name server that
    heard the broker, for example, is no reason."""
    found = {conditions.partition_key(row): row for row in members}
    # The name servers that have not dropped a member.
    up = [(row["ns"], [row[name] for name in MEMBER]) for row in found.values() if row["up"]]
    return {
        alert["key"]: conditions.heard_again(
            alert, found.get(alert["key"]), [ns for ns, member in up if member == [alert[name] for name in MEMBER]], now
        )
        for alert in opened
        if alert["kind"] == "partition"
    }
