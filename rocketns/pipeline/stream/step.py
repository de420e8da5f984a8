"""One batch: the memory before it and the events that arrived → the lines to write and the memory after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from rocketns.pipeline.contract.schema import EVENTS
from rocketns.pipeline.jobs.incidents import incidents
from rocketns.pipeline.stream import conditions
from rocketns.pipeline.stream.changes import Alert, changes
from rocketns.pipeline.stream.members import MEMBER, MEMBERS, members_at, partitions
from rocketns.pipeline.stream.routes import (
    ROUTES,
    WINDOWS,
    remembered,
    routes_at,
    told_values,
    windows_between,
)
from rocketns.pipeline.stream.servers import Boot, Fleet, any_of, as_boot, boots_in, fleet

# waiting: events after the cut.
SCHEMAS: dict[str, StructType] = {"waiting": EVENTS, "members": MEMBERS, "routes": ROUTES, "windows": WINDOWS}
Line = dict[str, Any]
Keep = Callable[[str, DataFrame], DataFrame]


class Memory(NamedTuple):
    """What is known after a batch: tables by the names of SCHEMAS, and plain values. ``cut``: None before a record."""

    tables: dict[str, DataFrame]
    cut: int | None = None
    boots: tuple[Boot, ...] = ()
    alerts: tuple[Alert, ...] = ()

    @classmethod
    def of(cls, tables: dict[str, DataFrame], plain: Any) -> Memory:
        """From what ``plain`` gave, or None."""
        if plain is None:
            return cls(tables)
        boots, alerts = (Boot(*row) for row in plain["boots"]), (Alert(*row) for row in plain["alerts"])
        return cls(tables, plain["cut"], tuple(boots), tuple(alerts))

    def plain(self) -> dict[str, Any]:
        """All but the tables, for JSON."""
        return {"cut": self.cut, "boots": [list(boot) for boot in self.boots], "alerts": [list(a) for a in self.alerts]}


class Limits(NamedTuple):
    """What the command line sets, in us."""

    min_window: int = 5_000_000
    grace: int = 8_000_000
    silent_after: int = 60_000_000


class Step(NamedTuple):
    """What a batch comes to: lines to write, and the memory after it."""

    lines: list[Line]
    memory: Memory


def step(memory: Memory, events: DataFrame, limits: Limits, keep: Keep) -> Step:
    """One batch. ``events``: EVENTS with ``corrupt``, true of a line that could not be read. ``keep`` writes a table of
    the memory after the batch and gives it back; it is called once for each of SCHEMAS."""
    read = events.where("not corrupt").select(*EVENTS.names).unionByName(memory.tables["waiting"])
    arrived = _rows(boots_in(read))
    now = _fleet(memory, arrived, limits)
    if now is None or now.cut == memory.cut:
        return _waited(memory, read, keep)
    is_due = (F.col("ts") < now.cut) | any_of([F.col("ns") == ns for ns in sorted(now.silent)])
    due = read.where(is_due)
    moved = now.changed or any(row["moved"] for row in arrived)
    tables = {
        "waiting": keep("waiting", read.where(~is_due)),
        "members": keep("members", members_at(memory.tables["members"], due, now)),
        **_routes(memory, due, now, keep, moved=moved),
    }
    found = [
        *map(conditions.partition, _rows(partitions(tables["members"], now, limits.grace))),
        *map(conditions.divergence, _incidents(tables["windows"], now, limits)),
        *conditions.silences(now),
        *conditions.kills(now, memory.boots),
        *conditions.losses(_losses(events), now),
    ]
    changed = changes(memory.alerts, found, _reasons(memory.alerts, tables["members"], now), now.cut)
    return Step(changed.lines, Memory(tables, now.cut, tuple(now.remembered()), tuple(changed.open)))


def _waited(memory: Memory, read: DataFrame, keep: Keep) -> Step:
    """A batch that has not moved the end of the journals: what arrived waits."""
    tables = {name: keep(name, read if name == "waiting" else memory.tables[name]) for name in SCHEMAS}
    return Step([], memory._replace(tables=tables))


def _routes(memory: Memory, due: DataFrame, now: Fleet, keep: Keep, *, moved: bool) -> dict[str, DataFrame]:
    """Routes and windows. Where no record is of routes, as in most batches, those that are open stay so."""
    routes, windows = memory.tables["routes"], memory.tables["windows"]
    if not moved:
        return {"routes": keep("routes", routes), "windows": keep("windows", remembered(windows, now))}
    told = told_values(routes, due)
    return {
        "routes": keep("routes", routes_at(told, now)),
        "windows": keep("windows", windows_between(told, windows, now)),
    }


def _fleet(memory: Memory, arrived: list[Line], limits: Limits) -> Fleet | None:
    """The fleet at the new cut, or None while no record was read."""
    boots = [as_boot(row) for row in arrived]
    return fleet(memory.boots, boots, memory.cut, limits.silent_after) if boots or memory.boots else None


def _incidents(windows: DataFrame, now: Fleet, limits: Limits) -> list[Line]:
    """INCIDENTS that are open, or ended since the last cut, of windows that are long enough."""
    until = F.coalesce("t2", F.lit(now.cut))
    long_enough = windows.withColumn("t2", until).where(F.col("t2") - F.col("t1") >= limits.min_window)
    ended = F.col("t2") < now.cut
    lately = incidents(long_enough).withColumn("open", ~ended).where(~ended | (F.col("t2") >= now.before))
    return _rows(lately)


def _losses(events: DataFrame) -> list[Line]:
    lost = F.sum(F.when(F.col("ev") == "drop", F.col("lost")).otherwise(0)).alias("lost")
    return _rows(events.groupBy("ns").agg(lost, F.count_if("corrupt").alias("corrupt")))


def _reasons(opened: Sequence[Alert], members: DataFrame, now: Fleet) -> dict[str, str]:
    """Why partitions that are not seen any more are over, '' for those that are not: silence of the name server that
    heard the broker, say, is no reason."""
    alerts = [alert for alert in opened if alert.kind == "partition"]
    if not alerts:
        return {}
    about = {alert.key: conditions.partition_of(alert) for alert in alerts}
    rows = _rows(members.where(F.col("broker").isin(sorted({of["broker"] for of in about.values()}))))
    found = {conditions.partition_key(row): row for row in rows}
    return {alert.key: conditions.heard_again(alert, found.get(alert.key), _up(rows, about[alert.key]), now)
            for alert in alerts}  # fmt: skip


def _up(rows: list[Line], member: Mapping[str, Any]) -> list[str]:
    """The name servers that have not given it up."""
    return [row["ns"] for row in rows if row["up"] and all(row[name] == member[name] for name in MEMBER)]


def _rows(frame: DataFrame) -> list[Line]:
    """A small table's rows."""
    return [row.asDict(recursive=True) for row in frame.collect()]
