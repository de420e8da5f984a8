"""A whole run: journals → events → every job of the catalogue → result tables, summary.json and report.html.

Each table is computed once, written below --out, and read back by whatever needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import SparkSession

from rocketns.pipeline.batch.observing import (
    by_own_clocks,
    common_end,
    extent,
    last_day_of_each,
    last_days,
    observed,
    reach_of,
)
from rocketns.pipeline.batch.reporting import (
    SUMMARY_VERSION,
    RunOutcome,
    Told,
    incidents_in_short,
    outcome_of,
    pages_of,
    report_input,
    summarise,
    unread,
)
from rocketns.pipeline.batch.tables import JobOptions, RunInput, Say, clocks_table, other_tables
from rocketns.pipeline.contract.frames import Observation, plain_rows
from rocketns.pipeline.contract.terms import DEAD_DAYS, GROUP_SIZES, MIN_WINDOW_US, BadInput, moment
from rocketns.pipeline.jobs.reach import reaches
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.folders import folder_at
from rocketns.pipeline.storage.ingest import Ingested, ingest
from rocketns.pipeline.storage.results import EVENTS_FOLDER, SUMMARY, Results, current, materialized_if_small
from rocketns.pipeline.storage.stored import OpenText, delivered, open_texts, read_events, read_files, tail_after


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
    csv: bool = False
    days: int | None = None
    clocks: int | None = None


def audit(spark: SparkSession, request: Request, say: Say) -> RunOutcome:
    """The whole run. BadInput if the journals cannot be read or have no record of the observation."""
    being_written = open_texts(spark, [request.journal])
    ingest_only(spark, request.journal, request.out, say)
    results = Results(spark, folder_at(spark, request.out), csv=request.csv)
    observation, uncovered, since = computed(spark, request, being_written, results, say)
    say(_("report"))
    came = delivered(spark, stored_in(request.out), since)
    results.clear()
    places = {"journal": folder_at(spark, request.journal).anywhere, "out": folder_at(spark, request.out).anywhere}
    shown_options = places | shown(request, observation, str(spark.sparkContext.master))
    told = Told(request.t1, request.dead_days, request.clocks, uncovered)
    summary = summarise(results, observation, told, shown_options, came)
    data = report_input(results, summary)
    summary |= incidents_in_short(data)
    results.publish(summary, pages_of(data))
    return outcome_of(summary, data, request.out)


def ingest_only(spark: SparkSession, journal: str, out: str, say: Say) -> str:
    """Read new journal files into Parquet below ``out``; returns one sentence about them."""
    say(_("reading %(journal)s") % {"journal": journal})
    done = ingest(spark, journal, stored_in(out))
    text = in_words(done)
    say(text)
    for sentence in unread(done.foreign):
        say(_("warning: %(sentence)s") % {"sentence": sentence})
    return text


def in_words(done: Ingested) -> str:
    """The result of an ingest as a sentence."""
    values = {
        "files": f"{done.files:,}", "mb": f"{done.size / 1e6:,.1f}", "skipped": f"{done.skipped:,}",
        "repeated": f"{done.repeated:,}", "copies": f"{done.copies:,}",
    }  # fmt: skip
    if done.repeated:
        return (
            _(
                "read %(files)s files with %(mb)s MB; %(skipped)s were there already; %(repeated)s records were "
                "delivered again, %(copies)s whole files among them"
            )
            % values
        )
    return _("read %(files)s files with %(mb)s MB; %(skipped)s were there already") % values


def stored_in(out: str) -> str:
    """The folder of the ingested events."""
    return f"{out.rstrip('/')}/{EVENTS_FOLDER}"


class Computed(NamedTuple):
    """``uncovered``: how many days have no journalled lookups; ``since``: the first day (``dt``) that was read, empty:
    all."""

    observation: Observation
    uncovered: int
    since: str


def computed(
    spark: SparkSession, request: Request, being_written: Sequence[OpenText], results: Results, say: Say
) -> Computed:
    """Run every job on the ingested events and those of open files."""
    stored = stored_in(request.out)
    tail = tail_after(spark, stored, being_written)
    files = [*read_files(spark, stored), *tail.files]
    begin = last_days(files, request.days) if request.days else None
    if begin is not None:
        request = request._replace(t0=begin.t0)
        files = [one for one in files if one.dt >= begin.since]
    known = extent(files)
    last_files = read_events(spark, stored, days=known.days)
    reached = plain_rows(reaches(last_files.unionByName(tail.events)))
    own = by_own_clocks(request.t0, request.t1, known, reached)
    needed = own._replace(t1=known.last if request.t1 is None else request.t1)
    # A few rows in the plans themselves: most of a short run is the analysis of plans, which grows with their depth.
    every = read_events(spark, stored, needed).unionByName(tail.events)
    events = materialized_if_small(every)
    results.small = events is not every
    clocks_table(events, own, request.clocks, results, say)
    clocks = results.rows("clock_days")
    latest = last_day_of_each(clocks)
    ends = [reach_of(row, latest.get(row["ns"]), is_open=row["ns"] in known.open) for row in reached]
    observation = observed(request.t0, request.t1, known.first, common_end(ends))
    options = JobOptions(request.min_window, request.groups, request.dead_days, request.clocks)
    read = RunInput(events, files, clocks)
    uncovered = other_tables(read, observation, options, results, say)
    return Computed(observation, uncovered, "" if begin is None else begin.since)


def report_again(spark: SparkSession, out: str) -> RunOutcome:
    """The pages again, from the tables that the last run left below ``out``. BadInput if there was none, or if its
    summary has another version."""
    folder = folder_at(spark, out)
    summary = current(folder)
    if (version := summary.get("version")) != SUMMARY_VERSION:
        said = _(
            "%(path)s has version %(version)s, and this rocketns knows %(known)s. Start 'rocketns audit run' again, or "
            "use the rocketns that wrote it."
        )
        raise BadInput(said % {"path": folder.path(SUMMARY), "version": version, "known": SUMMARY_VERSION})
    results = Results(spark, folder, summary["run"])
    data = report_input(results, summary)
    results.show(pages_of(data))
    return outcome_of(summary, data, out)


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
