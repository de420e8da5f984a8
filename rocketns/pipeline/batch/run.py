"""A whole run: journals → events → every job of the catalogue, called in order → tables, summary.json, report.

Each table is computed once, written below --out, and read back by whatever needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from threading import Event
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.batch import observing, reporting
from rocketns.pipeline.contract.frames import Observation, Row, plain_rows
from rocketns.pipeline.contract.schema import ReadFile
from rocketns.pipeline.contract.terms import DEAD_DAYS, GROUP_SIZES, MIN_WINDOW_US, BadInput, moment
from rocketns.pipeline.jobs.access import admin_changes, new_addresses, refused_requests
from rocketns.pipeline.jobs.brokers import broker_stats, departures, heartbeat_gaps, stalls
from rocketns.pipeline.jobs.clocks import clock_days, corrected
from rocketns.pipeline.jobs.impact import group_members, imbalance, impact
from rocketns.pipeline.jobs.intervals import broker_intervals, topic_doubts, topic_intervals, topic_state
from rocketns.pipeline.jobs.quality import quality, sources
from rocketns.pipeline.jobs.reach import late_days, reaches, suspects, with_repaired_times
from rocketns.pipeline.jobs.state import Base, base
from rocketns.pipeline.jobs.tallies import LOOKUP, callers, covered, hours
from rocketns.pipeline.jobs.topics import (
    Uncovered,
    clients,
    dead_topics,
    missing_topics,
    system_topics,
    topics,
    uncovered,
    user_topics_of_brokers,
)
from rocketns.pipeline.jobs.unwritable import unwritable
from rocketns.pipeline.jobs.windows import divergences, key_windows, topic_segments
from rocketns.pipeline.saying import Say, _
from rocketns.pipeline.storage.folders import folder_at
from rocketns.pipeline.storage.ingest import ingest
from rocketns.pipeline.storage.results import (
    EVENTS_FOLDER,
    MATERIALIZED_MAX,
    SUMMARY,
    Results,
    current,
    materialized_if_small,
)
from rocketns.pipeline.storage.stored import OpenText, Stored, open_texts


class Request(NamedTuple):
    """The options of the command line. Times and durations are us. ``days``: how many, the last one counted; a request
    with them has no ``t0`` and no ``t1``. ``clocks``: by how much clocks differ at most, if that is known."""

    journal: str
    out: str
    t0: int | None = None
    t1: int | None = None
    min_window: int = MIN_WINDOW_US
    groups: Sequence[int] = GROUP_SIZES
    dead_days: int = DEAD_DAYS
    days: int | None = None
    clocks: int | None = None


def audit(spark: SparkSession, request: Request, say: Say) -> reporting.RunOutcome:
    """The whole run. BadInput if the journals cannot be read or have no record of the observation."""
    being_written = open_texts(spark, request.journal)
    _ingested(spark, request.journal, request.out, say)
    stored = Stored(spark, stored_in(request.out))
    results = Results(spark, folder_at(spark, request.out))
    observation, unlooked, since = computed(stored, request, being_written, results, say)
    say(_("report"))
    came = stored.delivered(since)
    results.clear()
    places = {"journal": folder_at(spark, request.journal).anywhere, "out": folder_at(spark, request.out).anywhere}
    shown_options = places | shown(request, observation, str(spark.sparkContext.master))
    facts = reporting.ReportFacts(request.t1, request.dead_days, request.clocks, unlooked)
    summary = reporting.summarise(results, observation, facts, shown_options, came)
    data = reporting.report_input(results, summary)
    summary |= reporting.incidents_in_short(data)
    results.publish(summary, reporting.pages_of(data))
    return reporting.outcome_of(summary, data, request.out)


def _ingested(spark: SparkSession, journal: str, out: str, say: Say) -> None:
    """Read new journal files into Parquet below ``out``."""
    say(_("reading %(journal)s") % {"journal": journal})
    done = ingest(spark, journal, stored_in(out))
    values = {"files": f"{done.files:,}", "mb": f"{done.size / 1e6:,.1f}", "skipped": f"{done.skipped:,}"}
    say(_("read %(files)s files with %(mb)s MB; %(skipped)s were there already") % values)
    for sentence in reporting.unread(done.foreign):
        say(_("warning: %(sentence)s") % {"sentence": sentence})


def stored_in(out: str) -> str:
    """The folder of the ingested events."""
    return f"{out.rstrip('/')}/{EVENTS_FOLDER}"


def computed(
    stored: Stored, request: Request, being_written: Sequence[OpenText], results: Results, say: Say
) -> tuple[Observation, int, str]:
    """Run every job on the ingested events and those of open files. The observation; on how many of the last days
    lookups were not journalled by every name server; the first day (``dt``) that was read, empty: all."""
    tail = stored.tail(being_written)
    files = [*stored.files(), *tail.files]
    begin = observing.last_days(files, request.days) if request.days else None
    if begin is not None:
        request = request._replace(t0=begin.t0)
        files = [one for one in files if one.dt >= begin.since]
    known = observing.extent(files)
    reached = reaches(stored.events(days=known.days).unionByName(tail.events))
    own = observing.by_own_clocks(request.t0, request.t1, known, reached)
    needed = own._replace(t1=known.last if request.t1 is None else request.t1)
    # A few rows in the plans themselves: most of a short run is the analysis of plans, which grows with their depth.
    every = stored.events(needed).unionByName(tail.events)
    events = every if stored.records() > MATERIALIZED_MAX else materialized_if_small(every)
    results.small = events is not every
    say(_("clocks"))
    inside = events.where((F.col("ts") >= own.t0) & (F.col("ts") < own.t1))
    clocks = clock_days(inside, request.clocks)
    results.save_rows("clock_days", clocks)
    latest = observing.last_day_of_each(clocks)
    ends = [observing.reach_of(row, latest.get(row["ns"]), is_open=row["ns"] in known.open) for row in reached]
    observation = observing.observed(request.t0, request.t1, known.first, observing.common_end(ends))
    unlooked = other_tables(RunInput(events, files, clocks), observation, request, results, say)
    return observation, unlooked, "" if begin is None else begin.since


def report_again(spark: SparkSession, out: str) -> reporting.RunOutcome:
    """The pages again, from the tables that the last run left below ``out``. BadInput if there was none, or if its
    summary has another version."""
    folder = folder_at(spark, out)
    summary = current(folder)
    if (version := summary.get("version")) != reporting.SUMMARY_VERSION:
        said = _(
            "%(path)s has version %(version)s, and this rocketns knows %(known)s. Start 'rocketns audit run' again, or "
            "use the rocketns that wrote it."
        )
        raise BadInput(said % {"path": folder.path(SUMMARY), "version": version, "known": reporting.SUMMARY_VERSION})
    results = Results(spark, folder, summary["run"])
    data = reporting.report_input(results, summary)
    results.show(reporting.pages_of(data))
    return reporting.outcome_of(summary, data, out)


def shown(request: Request, observation: Observation, master: str) -> dict[str, str]:
    """The options of a run that are no folders, for the page."""
    return {
        "from": moment(observation.t0),
        "to": moment(observation.t1),
        "min_window": f"{request.min_window / 1e6:g} s",
        "groups": ", ".join(map(str, request.groups)),
        "dead_days": str(request.dead_days),
        "master": master,
    } | ({} if request.clocks is None else {"clocks": f"{request.clocks / 1e6:g} s"})


# Planning a query takes one core; meanwhile the tasks of others use the rest.
AT_ONCE = 3
# Kinds with few records: their jobs read these alone, and not all events each.
RARE = ("admin", "drop", "refused", "stall")

Work = Callable[[], object]


class RunInput(NamedTuple):
    """What was read: EVENTS by each name server's own clock, the files, and the rows of CLOCK_DAYS."""

    events: DataFrame
    files: Sequence[ReadFile]
    clocks: Sequence[Row]


class BaseTables(NamedTuple):
    """What all other tables follow from. ``lookups``: the records of that kind; ``rare``: those of RARE; ``stalls``: as
    ``brokers.stalls`` has them; ``lives``: rows of BROKER_INTERVALS; ``topics``: TOPIC_INTERVALS; ``doubts``:
    TOPIC_DOUBTS, None if no record is missing; ``system_topics``: topics that brokers and clusters make for themselves;
    ``callers``: CALLERS; ``uncovered``: on which days not every name server journalled lookups."""

    events: DataFrame
    lookups: DataFrame
    rare: DataFrame
    stalls: Sequence[Row]
    base: Base
    lives: Sequence[Row]
    topics: DataFrame
    doubts: DataFrame | None
    system_topics: Set[str]
    callers: DataFrame
    uncovered: Set[Uncovered]
    clocks: Sequence[Row]


def other_tables(read: RunInput, seen: Observation, request: Request, results: Results, say: Say) -> int:
    """All tables but ``clock_days``, which is there. Returns on how many of the last days lookups were not journalled
    by every name server."""
    say(_("state: name servers, brokers, topics"))
    state = _state(read, seen, request, results)
    say(_("divergence, departures, topics, and what is missing from the journals"))
    together(
        partial(_divergence, state, seen, request, results),
        partial(_brokers, state, read, seen, results),
        partial(_topics, state, seen, request, results),
        partial(_journals, state, read, seen, results),
    )
    return len({ago for _ns, ago in state.uncovered})


def _state(read: RunInput, seen: Observation, request: Request, results: Results) -> BaseTables:
    events = corrected(read.events, results.frame("clock_days"))
    days = late_days(read.files, {(row["day"], row["ns"]): row["offset"] for row in read.clocks}, seen.t1)
    strays = suspects(events.where(F.col("dt").isin(days)), seen.t1) if days else {}
    events = with_repaired_times(events, strays, seen.t1)
    if results.small:
        events = materialized_if_small(events)
    lookups = events.where("ev = 'lookup'").select(*LOOKUP)
    known = base(events, seen)
    results.save_rows("ns_uptime", known.uptime)
    of_topics = topic_state(events, known, seen)
    lossy = any(boot.holes for boot in known.boots)
    if lossy:
        of_topics = results.checkpoint(of_topics)
    together(
        lambda: results.save("broker_intervals", broker_intervals(events, known, seen)),
        lambda: results.save("topic_intervals", topic_intervals(of_topics)),
    )
    lives = results.rows("broker_intervals")
    rare = results.materialize(events.where(F.col("ev").isin(*RARE)))
    return BaseTables(
        events, lookups, rare, stalls(rare), known,
        lives=lives,
        topics=results.frame("topic_intervals"),
        doubts=topic_doubts(of_topics) if lossy else None,
        system_topics=system_topics(lives),
        callers=results.materialize(callers(lookups, seen)),
        uncovered=uncovered(
            plain_rows(covered(lookups, seen)), known.uptime, seen, request.dead_days
        ),
        clocks=read.clocks,
    )  # fmt: skip


def _divergence(state: BaseTables, seen: Observation, request: Request, results: Results) -> None:
    up = state.base.uptime
    windows = key_windows(
        state.topics, up, seen, request.min_window, state.lives,
        topic_doubts=state.doubts, clock_days=state.clocks, system_topics=state.system_topics,
    )  # fmt: skip
    windows = results.save("key_windows", windows)
    results.save("divergences", divergences(windows, state.stalls))
    segments = results.save("topic_segments", topic_segments(state.topics, up, windows, seen))
    members = results.save("group_members", group_members(state.callers))
    system = state.system_topics
    results.save("impact", impact(segments, request.groups, results.checkpoint, members, system))
    results.save("imbalance", imbalance(segments, state.lives, members, system))
    shut = unwritable(state.topics, state.system_topics, seen, request.min_window)
    results.save("unwritable", shut)


def _brokers(state: BaseTables, read: RunInput, seen: Observation, results: Results) -> None:
    had = user_topics_of_brokers(state.topics, state.system_topics, seen)
    results.save_rows("departures", departures(state.lives, state.events, seen, read.clocks, had, state.stalls))
    gaps = plain_rows(heartbeat_gaps(state.events, seen))
    results.save_rows("broker_stats", broker_stats(state.lives, gaps, state.base.uptime, seen))
    results.save_rows("admin_changes", admin_changes(state.rare, seen))
    results.save_rows("refused_requests", refused_requests(state.rare, seen))
    results.save_rows("new_addresses", new_addresses(state.events, seen))


def _topics(state: BaseTables, seen: Observation, request: Request, results: Results) -> None:
    up, system = state.base.uptime, state.system_topics
    every = results.save("topics", topics(state.topics, state.lives, up, state.callers, system, seen))
    results.save("dead_topics", dead_topics(every, state.uncovered, seen, request.dead_days))
    results.save("missing_topics", missing_topics(hours(state.lookups, seen), system))
    results.save("clients", clients(state.callers))


def _journals(state: BaseTables, read: RunInput, seen: Observation, results: Results) -> None:
    results.save_rows("quality", quality(state.rare, read.files, state.base, seen))
    latest = observing.last_day_of_each(read.clocks)
    results.save_rows("sources", sources(state.base.counts, read.files, latest))


def together(*works: Work) -> None:
    """Run them in this order, AT_ONCE at a time. After an error or Ctrl-C no other is begun; the error is raised when
    the running ones have ended."""
    ended = Event()

    def run(work: Work) -> None:
        if not ended.is_set():
            try:
                work()
            except BaseException:
                ended.set()
                raise

    with ThreadPoolExecutor(AT_ONCE) as threads:
        futures = [threads.submit(run, work) for work in works]
        try:
            wait(futures)
        except BaseException:  # Ctrl-C
            ended.set()
            raise
    for future in futures:
        future.result()
