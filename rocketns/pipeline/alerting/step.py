"""One batch: the memory before it and the events that arrived → the lines to write and the memory after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from rocketns.pipeline.alerting import conditions
from rocketns.pipeline.alerting.changes import ALERTS, Alert, changes
from rocketns.pipeline.alerting.members import MEMBER, MEMBERS, members_at, partitions
from rocketns.pipeline.alerting.routes import ROUTES, WINDOWS, routes_at, told_values, windows_between
from rocketns.pipeline.alerting.servers import BOOTS, Boot, Fleet, any_of, as_boot, boots_in, fleet
from rocketns.pipeline.incidents import incidents
from rocketns.pipeline.schema import EVENTS, columns

CUTS = columns("cut:long")
# waiting: events after the cut.
SCHEMAS: dict[str, StructType] = {
    "cuts": CUTS, "boots": BOOTS, "waiting": EVENTS, "members": MEMBERS, "routes": ROUTES, "windows": WINDOWS,
    "alerts": ALERTS,
}  # fmt: skip
Memory = dict[str, DataFrame]
Line = dict[str, Any]


class Limits(NamedTuple):
    """What the command line sets, in us."""

    min_window: int = 5_000_000
    grace: int = 8_000_000
    silent_after: int = 60_000_000


def step(memory: Memory, events: DataFrame, limits: Limits, keep: Callable[[str, DataFrame], DataFrame]) -> list[Line]:
    """The batch's lines. ``events``: EVENTS with ``corrupt``, a line that could not be read, else null. ``keep`` writes
    a table of the memory after the batch and gives it back; it is called once for each of SCHEMAS."""
    spark = events.sparkSession
    read = events.where("corrupt is null").select(*EVENTS.names).unionByName(memory["waiting"])
    known = [as_boot(row.asDict()) for row in memory["boots"].collect()]
    now = _fleet(memory, known, read, limits)
    if now is None or (known and now.cut == now.before):
        return _waited(memory, read, keep)
    is_due = (F.col("ts") < now.cut) | any_of([F.col("ns") == ns for ns in sorted(now.silent)])
    due = read.where(is_due)
    told = told_values(memory["routes"], due)
    keep("waiting", read.where(~is_due))
    keep("routes", routes_at(told, now))
    members = keep("members", members_at(memory["members"], due, now))
    windows = keep("windows", windows_between(told, memory["windows"], now))
    opened = [Alert(*row) for row in memory["alerts"].collect()]
    found = [
        *map(conditions.partition, _rows(partitions(members, now, limits.grace))),
        *map(conditions.divergence, _incidents(windows, now, limits)),
        *conditions.silences(now),
        *conditions.kills(now, known),
        *conditions.losses(_losses(events), now),
    ]
    changed = changes(opened, found, _reasons(opened, members, now), now.cut)
    keep("cuts", spark.createDataFrame([(now.cut,)], CUTS))
    keep("boots", spark.createDataFrame([tuple(boot) for boot in now.remembered()], BOOTS))
    keep("alerts", spark.createDataFrame([tuple(alert) for alert in changed.open], ALERTS))
    return changed.lines


def _waited(memory: Memory, read: DataFrame, keep: Callable[[str, DataFrame], DataFrame]) -> list[Line]:
    """A batch that no journal's end has moved in: what arrived waits."""
    for name in SCHEMAS:
        keep(name, read if name == "waiting" else memory[name])
    return []


def _fleet(memory: Memory, known: list[Boot], read: DataFrame, limits: Limits) -> Fleet | None:
    """The fleet at the new cut, or None while no record was read."""
    arrived = [as_boot(row) for row in _rows(boots_in(read))]
    cuts = _rows(memory["cuts"])
    if not known and not arrived:
        return None
    return fleet(known, arrived, cuts[0]["cut"] if cuts else None, limits.silent_after)


def _incidents(windows: DataFrame, now: Fleet, limits: Limits) -> list[Line]:
    """INCIDENTS that are open, or ended since the last cut, of windows that are long enough."""
    until = F.coalesce("t2", F.lit(now.cut))
    long_enough = windows.withColumn("t2", until).where(F.col("t2") - F.col("t1") >= limits.min_window)
    ended = F.col("t2") < now.cut
    lately = incidents(long_enough).withColumn("open", ~ended).where(~ended | (F.col("t2") >= now.before))
    return _rows(lately)


def _losses(events: DataFrame) -> list[Line]:
    lost = F.sum(F.when(F.col("ev") == "drop", F.col("lost")).otherwise(0)).alias("lost")
    return _rows(events.groupBy("ns").agg(lost, F.count("corrupt").alias("corrupt")))


def _reasons(opened: list[Alert], members: DataFrame, now: Fleet) -> dict[str, str]:
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
