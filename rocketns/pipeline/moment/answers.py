"""`rocketns audit explain`: the route of a topic at a moment, in words, from the records around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from rocketns.journal.reading.clockbounds import bounded_days
from rocketns.journal.reading.clockdays import Clocks, chained
from rocketns.journal.reading.clocks import GIVEN, NONE, OBSERVED, REFERENCE, estimates
from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.contract.schema import CLOCK_DAYS
from rocketns.pipeline.contract.times import exact_text
from rocketns.pipeline.jobs.history.intervals import FOUND_GONE
from rocketns.pipeline.moment.around import around
from rocketns.pipeline.moment.evidence import Cause, causes, lost_before, maybe_already
from rocketns.pipeline.moment.routes import Route, routes_at
from rocketns.pipeline.moment.told import Day, Told
from rocketns.pipeline.report.scripts import strict
from rocketns.pipeline.report.words.clocks import known_to
from rocketns.pipeline.storage.files.folder import Folder
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.results import EVENTS_FOLDER, SUMMARY, clocks_of

Row = Mapping[str, Any]


def explained_route(
    spark: SparkSession | None, journal: str | None, out: str | None, topic: str, at: int, within: int | None = None
) -> list[str]:
    """Lines for standard output, in which nothing can disturb a terminal. ``out``: the folder of an earlier run.
    ``spark`` None: both folders are on this machine. ``within``: --clocks, us. BadInput if there is no record of that
    time."""
    if journal is None and out is None:
        raise BadInput("name the --journal, or the --out of an earlier run")
    folder = None if out is None else folder_at(spark, out)
    found = around(spark, journal, folder.path(EVENTS_FOLDER) if folder else None, topic, at)
    clocks = _clocks_of(spark, folder, found.told, within)
    told = found.told.corrected(_offsets_of(clocks, found.told.days))
    since, lost, maybe = causes(told, at), lost_before(told, at), maybe_already(told, at)
    watched = {boot.ns for boot in told.boots() if boot.observed}
    offsets = {row["ns"]: row for row in clocks if row["day"] <= exact_text(at)[:10]}
    lines = [f"{topic} at {exact_text(at)}, from {found.source}", *_clocks(offsets.values())]
    for route in routes_at(told, topic, at):
        lines += [*_server(route, since, watched=route.ns in watched), *_loss(lost.get(route.ns))]
        lines += [_perhaps(broker, seen) for (ns, broker), seen in sorted(maybe.items()) if ns == route.ns]
    return [strict(line) for line in lines]


def _clocks_of(
    spark: SparkSession | None, folder: Folder | None, told: Told, within: int | None
) -> list[dict[str, Any]]:
    """CLOCK_DAYS of the earlier run, which saw more samples; otherwise estimated from these records."""
    if folder is not None and folder.exists(SUMMARY):
        days = [tuple(row[name] for name in CLOCK_DAYS.names) for row in clocks_of(spark, folder)]
    else:
        days = list(chained(estimates(told.days, told.shown(), told.heard), Clocks()).days)
    return [dict(zip(CLOCK_DAYS.names, day, strict=True)) for day in bounded_days(days, within)]


def _offsets_of(clocks: Iterable[Row], days: Iterable[Day]) -> dict[Day, int]:
    """The offset (us) of each day, and of a day that has none, the last one before it."""
    found: dict[Day, int] = {}
    for row in clocks:
        found |= {(day, ns): row["offset"] for day, ns in days if ns == row["ns"] and day >= row["day"]}
    return found


def _clocks(offsets: Iterable[Row]) -> Iterable[str]:
    """Which clock the times are those of, and how far the others are off."""
    by_name = sorted(offsets, key=lambda row: str(row["ns"]))
    reference = next((row["reference"] for row in by_name), None)
    looked = bool(by_name) and all(row["method"] == OBSERVED for row in by_name)
    alone = "times are those of the clock of what watched the name servers from outside" if looked else (
        "each name server's times are its own clock's"
    )  # fmt: skip
    yield f"times are those of the clock of {reference}" if reference else alone
    for row in by_name:
        if row["method"] == NONE:
            yield f"  {row['ns']}: nothing shows how far its clock is off, so its times are not corrected"
        elif row["method"] in (GIVEN, OBSERVED) and not row["samples"] and row["uncertainty"]:
            yield f"  {row['ns']}: its clock is known {known_to(GIVEN, row['uncertainty'])}, and not corrected"
        elif row["method"] == OBSERVED and row["uncertainty"] is None:
            yield f"  {row['ns']}: nothing shows how far the clock of what watched it is off, so it is not corrected"
        elif row["method"] != REFERENCE and not looked:
            known = known_to(row["method"], row["uncertainty"])
            yield f"  {row['ns']}: its clock is {row['offset'] / 1e6:+g} s off (from {row['method']}, known {known})"


def _server(route: Route, since: Mapping[tuple[str, str], Cause], *, watched: bool) -> Iterable[str]:
    if route.no_topics:
        return [f"{route.ns}: not known: it was watched, but did not list its topics (enableAllTopicList)"]
    if not route.known and watched:
        return [f"{route.ns}: not known: it was not watched then, or its journal has nothing of that time"]
    if not route.known:
        return [f"{route.ns}: not known: it was down, or its journal has nothing of that time"]
    if not route.queues:
        return [f"{route.ns}: no route, it answered that the topic does not exist"]
    groups = {group.broker: group for group in route.groups}
    lines = [f"{route.ns}:"]
    for queue in route.queues:
        record = since.get((route.ns, queue.broker))
        addresses = ", ".join(f"{bid} {addr}" for bid, addr in groups[queue.broker].addrs)
        lines.append(f"  {queue.broker}: {queue.r} read queues, {queue.w} write queues, perm {queue.p}; {addresses}")
        if record:
            since_when = _seen(record)
            begin = f"{since_when} or before" if record.cause == FOUND_GONE else since_when
            lines.append(f"    since {begin} ({record.cause}; boot {record.boot}, seq {record.seq})")
    return lines


def _seen(record: Cause) -> str:
    """When it came; of an observed change between which two looks."""
    return exact_text(record.ts) if record.since is None else f"a moment {_between(record)}"


def _perhaps(broker: str, seen: Cause) -> str:
    return f"  {broker}: a change came {_between(seen)}, so maybe before this moment (boot {seen.boot}, seq {seen.seq})"


def _between(seen: Cause) -> str:
    return f"between {exact_text(seen.since or seen.ts)} and {exact_text(seen.ts)}"


def _loss(since: int | None) -> Iterable[str]:
    if since is not None:
        yield f"  records are missing since {exact_text(since)}, so this may be out of date"
