"""A whole run: journals → events → every job → result tables, summary.json and report.html.

Each table is computed once, written below --out, and read back by whatever needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.batch.findings import Outcome, incomplete
from rocketns.pipeline.batch.reporting import SUMMARY, summarise, write_page
from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.contract.schema import Observation
from rocketns.pipeline.jobs import topics
from rocketns.pipeline.jobs.brokers import broker_stats
from rocketns.pipeline.jobs.departures import departures
from rocketns.pipeline.jobs.divergence import key_windows, topic_segments
from rocketns.pipeline.jobs.history.clocks import clock_offsets, corrected
from rocketns.pipeline.jobs.history.quality import quality, sources
from rocketns.pipeline.jobs.history.state import Base, base, broker_intervals, topic_intervals
from rocketns.pipeline.jobs.incidents import incidents
from rocketns.pipeline.jobs.missing import missing_topics
from rocketns.pipeline.jobs.queues.consumers import group_members
from rocketns.pipeline.jobs.queues.imbalance import imbalance
from rocketns.pipeline.jobs.queues.impact import impact
from rocketns.pipeline.report.text import moment
from rocketns.pipeline.storage.ingest import ingest, read_events, read_files
from rocketns.pipeline.storage.paths import Folder
from rocketns.pipeline.storage.results import Results

Say = Callable[[str], None]

EVENTS_FOLDER = "events"
STATE = ("ns_uptime", "broker_intervals", "topic_intervals")


class Request(NamedTuple):
    """What the command line says. Times and durations are us."""

    journal: str
    out: str
    t0: int | None = None
    t1: int | None = None
    min_window: int = 5_000_000
    groups: Sequence[int] = (2, 3, 4)
    dead_days: int = topics.DEAD_DAYS
    csv: bool = False


def audit(spark: SparkSession, request: Request, say: Say) -> Outcome:
    """Do it all. BadInput where the journals or the observation are none."""
    out = Folder(spark, request.out)
    ingest_only(spark, request.journal, request.out, say)
    stored = out.path(EVENTS_FOLDER)
    results = Results(spark, out, csv=request.csv)
    files = results.cut(read_files(spark, stored))
    seen = observation(files, request.t0, request.t1)
    events, known = journalled(spark, stored, seen, results, say)
    state(events, known, seen, results, say)
    asked = results.cut(events.where("ev = 'lookup'"))
    together(
        lambda: routes(asked, seen, request, results, say),
        lambda: fleet(events, asked, files, known, seen, request, results, say),
    )
    say("report")
    faults = incomplete(results.frame("quality").groupBy("kind", "ns").agg(F.sum("n").alias("n")).collect())
    results.clear()
    summarise(results, out, seen, faults, shown(request, seen, str(spark.sparkContext.master)), notes(request, results))
    return write_page(results, out)


def journalled(
    spark: SparkSession, stored: str, seen: Observation, results: Results, say: Say
) -> tuple[DataFrame, Base]:
    """EVENTS by one clock, and what state is built on."""
    say("clocks")
    told = read_events(spark, stored, seen)
    offsets = results.keep("clock_offsets", clock_offsets(told.where(within(seen)), results.cut))
    events = corrected(told, offsets)
    return events, base(events, seen, keep=results.cut)


def together(*works: Callable[[], None]) -> None:
    """Do them at the same time: while one is planned, which takes one core, the others' tasks have the rest."""
    with ThreadPoolExecutor(len(works)) as threads:
        for future in [threads.submit(work) for work in works]:
            future.result()


def ingest_only(spark: SparkSession, journal: str, out: str, say: Say) -> str:
    """Bring what is new into Parquet below ``out``; one sentence of what that was."""
    say(f"reading {journal}")
    done = ingest(spark, journal, Folder(spark, out).path(EVENTS_FOLDER))
    told = f"read {done.files:,} files with {done.size / 1e6:,.1f} MB; {done.skipped:,} were there already"
    say(told)
    return told


def report_again(spark: SparkSession, out: str) -> Outcome:
    """report.html from the tables that an earlier run left below ``out``."""
    folder = Folder(spark, out)
    if not folder.exists(SUMMARY):
        raise BadInput(f"--out {out}: no {SUMMARY} of an earlier run is there; start with 'rocketns audit run'")
    return write_page(Results(spark, folder), folder)


def observation(files: DataFrame, t0: int | None, t1: int | None) -> Observation:
    """What is asked for, and where nothing is, from the first record to just after the last. ``files``: FILES."""
    first, last = files.agg(F.min("first"), F.max("last")).collect()[0]
    if first is None:
        raise BadInput("the journals hold no record that can be read")
    seen = Observation(first if t0 is None else t0, last + 1 if t1 is None else t1)
    if seen.t0 >= seen.t1:
        raise BadInput(f"nothing to look at: it begins at {moment(seen.t0)} and ends at {moment(seen.t1)}")
    if seen.t0 > last or seen.t1 <= first:
        raise BadInput(f"the journals have nothing of that time: they go from {moment(first)} to {moment(last)}")
    return seen


def within(seen: Observation) -> Column:
    """Whether a record is of the observation."""
    return (F.col("ts") >= seen.t0) & (F.col("ts") < seen.t1)


def state(events: DataFrame, known: Base, seen: Observation, results: Results, say: Say) -> None:
    """Job (a)."""
    say("state: name servers, brokers, topics")
    results.keep("ns_uptime", known.uptime)
    results.keep("broker_intervals", broker_intervals(events, known, seen))
    results.keep("topic_intervals", topic_intervals(events, known, seen))


def routes(asked: DataFrame, seen: Observation, request: Request, results: Results, say: Say) -> None:
    """Jobs (b) to (d). ``asked``: the events that are look-ups."""
    uptime, members, views = (results.frame(name) for name in STATE)
    say("divergence: windows in which name servers disagree")
    windows = results.keep("key_windows", key_windows(views, uptime, seen, request.min_window, members, results.cut))
    results.keep("incidents", incidents(windows))
    segments = results.keep("topic_segments", topic_segments(views, uptime, windows, seen, results.cut))
    say("impact: what consumers and producers felt of it")
    groups = results.keep("group_members", group_members(asked))
    read = topics.without_unread(segments, topics.system_names(members), groups)
    results.keep("impact", impact(read, request.groups, groups, results.cut))
    results.keep("imbalance", imbalance(segments, members))


def fleet(
    events: DataFrame,
    asked: DataFrame,
    files: DataFrame,
    known: Base,
    seen: Observation,
    request: Request,
    results: Results,
    say: Say,
) -> None:
    """What is missing from the journals, and jobs (e) to (h)."""
    say("what is missing from the journals")
    uptime, members, views = (results.frame(name) for name in STATE)
    results.keep("sources", sources(events, files, results.frame("clock_offsets"), seen))
    results.keep("quality", quality(events, files, known, seen))
    say("brokers and departures")
    results.keep("broker_stats", broker_stats(members, events, uptime, seen))
    results.keep("departures", departures(members, events, seen))
    say("topics and look-ups")
    names = topics.system_names(members)
    results.keep("topic_days", topics.topic_days(views, names))
    results.keep("topic_inventory", topics.topic_inventory(views, uptime, names, seen))
    results.keep("uncovered_days", topics.uncovered_days(asked, uptime, seen, request.dead_days))
    results.keep("dead_topics", topics.dead_topics(views, asked, uptime, names, seen, request.dead_days))
    results.keep("hot_topics", topics.hot_topics(asked, names, seen))
    results.keep("skew", topics.skew(views, uptime, names))
    results.keep("missing_topics", missing_topics(asked, seen))


def notes(request: Request, results: Results) -> dict[str, list[str]]:
    """Sentences for the sections of the page whose tables cannot tell it themselves."""
    uncovered = results.frame("uncovered_days").select("ago").distinct().count()
    if not uncovered:
        return {}
    days = f"{uncovered} of the last {request.dead_days} days"
    return {"topics": [f"Look-ups were not journalled by every name server on {days}: no topic is judged dead."]}


def shown(request: Request, seen: Observation, master: str) -> dict[str, str]:
    """The options of a run, for the page."""
    return {
        "journal": request.journal,
        "from": moment(seen.t0),
        "to": moment(seen.t1),
        "min_window": f"{request.min_window / 1e6:g} s",
        "groups": ", ".join(map(str, request.groups)),
        "dead_days": str(request.dead_days),
        "master": master,
    }
