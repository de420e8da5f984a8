"""`rocketns audit explain`: the route of a topic at a moment, in words, from the records around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark.sql import SparkSession

from rocketns.pipeline.clocks.bounds import bounded_days
from rocketns.pipeline.clocks.days import Clocks, chained
from rocketns.pipeline.clocks.estimates import GIVEN, NONE, OBSERVED, REFERENCE, estimates
from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.contract.schema import CLOCK_DAYS
from rocketns.pipeline.contract.times import exact_text
from rocketns.pipeline.jobs.state import FOUND_GONE
from rocketns.pipeline.moment.around import Cause, around, causes, lost_before, maybe_already
from rocketns.pipeline.moment.recorded import Day, Recorded, Route, routes_at
from rocketns.pipeline.report.text import code, strict
from rocketns.pipeline.report.words.sources import known_to
from rocketns.pipeline.saying import _
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
        raise BadInput(_("name the --journal, or the --out of an earlier run"))
    folder = None if out is None else folder_at(spark, out)
    found = around(spark, journal, folder.path(EVENTS_FOLDER) if folder else None, topic, at)
    clocks = _clocks_of(spark, folder, found.recorded, within)
    recorded = found.recorded.corrected(_offsets_of(clocks, found.recorded.days))
    since, lost, maybe = causes(recorded, at), lost_before(recorded, at), maybe_already(recorded, at)
    watched = {boot.ns for boot in recorded.boots() if boot.said.observed}
    offsets = {row["ns"]: row for row in clocks if row["day"] <= exact_text(at)[:10]}
    head = _("%(topic)s at %(at)s, from %(source)s")
    lines = [head % {"topic": topic, "at": exact_text(at), "source": found.source}, *_clocks(offsets.values())]
    for route in routes_at(recorded, topic, at):
        lines += [*_server(route, since, watched=route.ns in watched), *_loss(lost.get(route.ns))]
        lines += [_perhaps(broker, seen) for (ns, broker), seen in sorted(maybe.items()) if ns == route.ns]
    return [strict(line) for line in lines]


def _clocks_of(
    spark: SparkSession | None, folder: Folder | None, recorded: Recorded, within: int | None
) -> list[dict[str, Any]]:
    """CLOCK_DAYS of the earlier run, which saw more samples; otherwise estimated from these records."""
    if folder is not None and folder.exists(SUMMARY):
        days = [tuple(row[name] for name in CLOCK_DAYS.names) for row in clocks_of(spark, folder)]
    else:
        days = list(chained(estimates(recorded.days, recorded.shown(), recorded.heard), Clocks()).days)
    return [dict(zip(CLOCK_DAYS.names, day, strict=True)) for day in bounded_days(days, within)]


def _offsets_of(clocks: Iterable[Row], days: Iterable[Day]) -> dict[Day, int]:
    """The offset (us) of each day, and of a day that has none, the last one before it."""
    found: dict[Day, int] = {}
    for row in clocks:
        found |= {(day, ns): row["offset"] for day, ns in days if ns == row["ns"] and day >= row["day"]}
    return found


def _clocks(offsets: Iterable[Row]) -> Iterator[str]:
    """Which clock the times are those of, and how far the others are off."""
    by_name = sorted(offsets, key=lambda row: str(row["ns"]))
    reference = next((row["reference"] for row in by_name), None)
    looked = bool(by_name) and all(row["method"] == OBSERVED for row in by_name)
    if reference:
        yield _("times are those of the clock of %(ns)s") % {"ns": reference}
    elif looked:
        yield _("times are those of the clock of what watched the name servers from outside")
    else:
        yield _("each name server's times are its own clock's")
    yield from (line for row in by_name for line in _clock(row, looked=looked))


def _clock(row: Row, *, looked: bool) -> Iterator[str]:
    shown = {"ns": row["ns"], "method": code(row["method"]), "known": known_to(row["method"], row["uncertainty"])}
    if row["method"] == NONE:
        yield _("  %(ns)s: nothing shows how far its clock is off, so its times are not corrected") % shown
    elif row["method"] in (GIVEN, OBSERVED) and not row["samples"] and row["uncertainty"]:
        given = shown | {"known": known_to(GIVEN, row["uncertainty"])}
        yield _("  %(ns)s: its clock is known %(known)s, and not corrected") % given
    elif row["method"] == OBSERVED and row["uncertainty"] is None:
        said = _("  %(ns)s: nothing shows how far the clock of what watched it is off, so it is not corrected")
        yield said % shown
    elif row["method"] != REFERENCE and not looked:
        off = shown | {"off": f"{row['offset'] / 1e6:+g}"}
        yield _("  %(ns)s: its clock is %(off)s s off (from %(method)s, known %(known)s)") % off


def _server(route: Route, since: Mapping[tuple[str, str], Cause], *, watched: bool) -> Iterable[str]:
    shown = {"ns": route.ns}
    if route.no_topics:
        said = _("%(ns)s: not known: it was watched, but did not list its topics (enableAllTopicList)")
        return [said % shown]
    if not route.known and watched:
        return [_("%(ns)s: not known: it was not watched then, or its journal has nothing of that time") % shown]
    if not route.known:
        return [_("%(ns)s: not known: it was down, or its journal has nothing of that time") % shown]
    if not route.queues:
        return [_("%(ns)s: no route, it answered that the topic does not exist") % shown]
    return [_("%(ns)s:") % shown, *_queues(route, since)]


def _queues(route: Route, since: Mapping[tuple[str, str], Cause]) -> Iterator[str]:
    groups = {group.broker: group for group in route.groups}
    for queue in route.queues:
        addresses = ", ".join(f"{bid} {addr}" for bid, addr in groups[queue.broker].addrs)
        shown = {"broker": queue.broker, "r": queue.r, "w": queue.w, "p": queue.p, "addrs": addresses}
        yield _("  %(broker)s: %(r)s read queues, %(w)s write queues, perm %(p)s; %(addrs)s") % shown
        if record := since.get((route.ns, queue.broker)):
            yield _since(record)


def _since(record: Cause) -> str:
    shown = {"since": _seen(record), "cause": record.cause, "boot": record.boot, "seq": record.seq}
    if record.cause == FOUND_GONE:
        return _("    since %(since)s or before (%(cause)s; boot %(boot)s, seq %(seq)s)") % shown
    return _("    since %(since)s (%(cause)s; boot %(boot)s, seq %(seq)s)") % shown


def _seen(record: Cause) -> str:
    """When it came; of an observed change between which two looks."""
    if record.since is None:
        return exact_text(record.ts)
    return _("a moment between %(begin)s and %(end)s") % _between(record)


def _perhaps(broker: str, seen: Cause) -> str:
    shown = _between(seen) | {"broker": broker, "boot": seen.boot, "seq": seen.seq}
    return (
        _(
            "  %(broker)s: a change came between %(begin)s and %(end)s, so maybe before this moment (boot %(boot)s, "
            "seq %(seq)s)"
        )
        % shown
    )


def _between(seen: Cause) -> dict[str, Any]:
    return {"begin": exact_text(seen.since or seen.ts), "end": exact_text(seen.ts)}


def _loss(since: int | None) -> Iterable[str]:
    if since is not None:
        said = _("  records are missing since %(since)s, so this may be out of date")
        yield said % {"since": exact_text(since)}
