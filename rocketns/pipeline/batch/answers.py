"""`rocketns audit explain`: the route of a topic at a moment, in words, from the records around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.batch.around import around
from rocketns.pipeline.batch.run import EVENTS_FOLDER
from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.contract.times import exact_text
from rocketns.pipeline.jobs.history.clockdays import NONE, REFERENCE, clock_days, clock_offsets
from rocketns.pipeline.jobs.history.clocks import corrected, estimates
from rocketns.pipeline.jobs.history.explain import lost_before, routes_at
from rocketns.pipeline.jobs.history.intervals import FOUND_GONE
from rocketns.pipeline.jobs.history.state import topic_changes
from rocketns.pipeline.storage.paths import Folder
from rocketns.pipeline.storage.results import SUMMARY, Results

Row = Mapping[str, Any]
CLOCKS_TABLE = "clock_days"


def explained_route(spark: SparkSession, journal: str | None, out: str | None, topic: str, at: int) -> list[str]:
    """Lines for standard output. ``out``: the folder of an earlier run. BadInput if there is no record of that time."""
    if journal is None and out is None:
        raise BadInput("name the --journal, or the --out of an earlier run")
    folder = None if out is None else Folder(spark, out)
    found = around(spark, journal, folder.path(EVENTS_FOLDER) if folder else None, at)
    clocks = _cut(_clocks_of(spark, folder, found.events))
    events = _cut(corrected(found.events, clocks))
    offsets = clock_offsets(clocks.where(F.col("day") <= exact_text(at)[:10]))
    routes = _rows(routes_at(events, topic, at, keep=_cut))
    since = {(row["ns"], row["broker"]): row["last"] for row in _rows(_told(events, topic, at))}
    lost = {row["ns"]: row["t"] for row in _rows(lost_before(events, at, _cut))}
    told = [f"{topic} at {exact_text(at)}, from {found.source}", *_clocks(_rows(offsets))]
    for route in sorted(routes, key=lambda route: str(route["ns"])):
        told += [*_server(route, since), *_loss(lost.get(route["ns"]))]
    return told


def _clocks_of(spark: SparkSession, folder: Folder | None, events: DataFrame) -> DataFrame:
    """CLOCK_DAYS of the earlier run, which saw more samples; otherwise estimated from these events."""
    if folder is not None and folder.exists(SUMMARY):
        return Results.published(spark, folder).frame(CLOCKS_TABLE)
    return clock_days(estimates(events, _cut))


def _cut(frame: DataFrame) -> DataFrame:
    """The frame without how it was made: repeated lineage makes planning slow."""
    return frame.localCheckpoint()


def _rows(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.collect()]


def _told(events: DataFrame, topic: str, at: int) -> DataFrame:
    """ns, broker, last: the record that set the queues; a snapshot only if there is no other record."""
    naming = events.where((F.col("ts") <= at) & F.exists("topics", lambda entry: entry["t"] == topic))
    rows = topic_changes(naming, ("r",)).where(F.col("topic") == topic)
    order = F.struct(F.col("cause") != "snapshot", "boot", "seq")
    return rows.groupBy("ns", "broker").agg(F.max_by(F.struct("ts", "boot", "seq", "cause"), order).alias("last"))


def _clocks(offsets: Iterable[Row]) -> Iterable[str]:
    """Which clock the times are those of, and how far the others are off."""
    by_name = sorted(offsets, key=lambda row: str(row["ns"]))
    reference = next((row["reference"] for row in by_name), None)
    yield f"times are those of the clock of {reference}"
    for row in by_name:
        if row["method"] == NONE:
            yield f"  {row['ns']}: nothing shows how far its clock is off, so its times are its own"
        elif row["method"] != REFERENCE:
            known = f", known to {row['uncertainty'] / 1e6:g} s" if row["uncertainty"] is not None else ""
            yield f"  {row['ns']}: its clock is {row['offset'] / 1e6:+g} s off (from {row['method']}{known})"


def _server(route: Row, since: Mapping[tuple[str, str], Row]) -> Iterable[str]:
    if not route["known"]:
        return [f"{route['ns']}: not known: it was down, or its journal has nothing of that time"]
    if not route["queues"]:
        return [f"{route['ns']}: no route, it answered that the topic does not exist"]
    groups = {group["broker"]: group for group in route["groups"]}
    lines = [f"{route['ns']}:"]
    for queue in route["queues"]:
        record = since.get((route["ns"], queue["broker"]))
        addresses = ", ".join(f"{member['bid']} {member['addr']}" for member in groups[queue["broker"]]["addrs"])
        lines.append(
            f"  {queue['broker']}: {queue['r']} read queues, {queue['w']} write queues, perm {queue['p']}; {addresses}"
        )
        if record:
            since_when = exact_text(record["ts"])
            begin = f"{since_when} or before" if record["cause"] == FOUND_GONE else since_when
            lines.append(f"    since {begin} ({record['cause']}; boot {record['boot']}, seq {record['seq']})")
    return lines


def _loss(since: int | None) -> Iterable[str]:
    if since is not None:
        yield f"  records are missing since {exact_text(since)}, so this may be out of date"
