"""A whole run: journals → events → every job of the catalogue → result tables, summary.json and report.html.

Each table is computed once, written below --out, and read back by whatever needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.batch.findings import Outcome, incomplete
from rocketns.pipeline.batch.inputs import Inputs, function_of
from rocketns.pipeline.batch.reporting import SUMMARY, notes, summarise, write_page
from rocketns.pipeline.contract.catalogue import JOBS
from rocketns.pipeline.contract.defaults import DEAD_DAYS, GROUP_SIZES, MIN_WINDOW_US, TARGET_PERCENT
from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.job import PHASES, STAGES
from rocketns.pipeline.contract.times import moment
from rocketns.pipeline.storage.ingest import ingest, read_events, read_files
from rocketns.pipeline.storage.paths import Folder
from rocketns.pipeline.storage.results import Results

Say = Callable[[str], None]

EVENTS_FOLDER = "events"


class Request(NamedTuple):
    """The options of the command line. Times and durations are us."""

    journal: str
    out: str
    t0: int | None = None
    t1: int | None = None
    min_window: int = MIN_WINDOW_US
    groups: Sequence[int] = GROUP_SIZES
    dead_days: int = DEAD_DAYS
    csv: bool = False
    target: float = TARGET_PERCENT


def audit(spark: SparkSession, request: Request, say: Say) -> Outcome:
    """The whole run. BadInput if the journals cannot be read or have no record of the observation."""
    out = Folder(spark, request.out)
    ingest_only(spark, request.journal, request.out, say)
    results = Results(spark, out, csv=request.csv)
    observation = computed(spark, request, results, say)
    say("report")
    faults = incomplete(results.frame("quality").groupBy("kind", "ns").agg(F.sum("n").alias("n")).collect())
    results.clear()
    options = shown(request, observation, str(spark.sparkContext.master))
    summarise(results, out, observation, faults, options, notes(results, request.dead_days))
    return write_page(results, out)


def ingest_only(spark: SparkSession, journal: str, out: str, say: Say) -> str:
    """Read new journal files into Parquet below ``out``; returns one sentence about them."""
    say(f"reading {journal}")
    done = ingest(spark, journal, Folder(spark, out).path(EVENTS_FOLDER))
    told = f"read {done.files:,} files with {done.size / 1e6:,.1f} MB; {done.skipped:,} were there already"
    say(told)
    return told


def computed(spark: SparkSession, request: Request, results: Results, say: Say) -> Observation:
    """Run every job on the ingested events; returns the observation."""
    stored = f"{request.out.rstrip('/')}/{EVENTS_FOLDER}"
    files = results.cut(read_files(spark, stored))
    observation = observed(files, request.t0, request.t1)
    given = {
        "min_window_us": request.min_window, "group_sizes": request.groups, "dead_days": request.dead_days,
        "target_percent": request.target,
    }  # fmt: skip
    inputs = Inputs(results, read_events(spark, stored, observation), files, observation, given)
    for lanes in PHASES:
        together(*[partial(run_stages, stages, inputs, results, say) for stages in lanes])
    return observation


def run_stages(stages: Sequence[str], inputs: Inputs, results: Results, say: Say) -> None:
    """The jobs of these stages, one after another."""
    for stage in stages:
        say(STAGES[stage])
        for job in JOBS:
            if job.stage == stage:
                results.keep(job.name, function_of(job)(**inputs.of(job)))


def together(*works: Callable[[], None]) -> None:
    """Run them at the same time. Planning a query takes one core; meanwhile the tasks of the others use the rest."""
    with ThreadPoolExecutor(len(works)) as threads:
        for future in [threads.submit(work) for work in works]:
            future.result()


def report_again(spark: SparkSession, out: str) -> Outcome:
    """report.html from the tables that an earlier run left below ``out``."""
    folder = Folder(spark, out)
    if not folder.exists(SUMMARY):
        raise BadInput(f"--out {out} has no {SUMMARY} of an earlier run. Start with 'rocketns audit run'.")
    return write_page(Results(spark, folder), folder)


def observed(files: DataFrame, t0: int | None, t1: int | None) -> Observation:
    """The requested time; without a request from the first record to just after the last. ``files``: FILES."""
    first, last = files.agg(F.min("first"), F.max("last")).collect()[0]
    if first is None:
        raise BadInput("the journals hold no record that can be read")
    observation = Observation(first if t0 is None else t0, last + 1 if t1 is None else t1)
    begin, end = moment(observation.t0), moment(observation.t1)
    if observation.t0 >= observation.t1:
        raise BadInput(f"nothing to look at: the observation begins at {begin} and ends at {end}")
    if observation.t0 > last or observation.t1 <= first:
        raise BadInput(f"the journals have no record of that time: they go from {moment(first)} to {moment(last)}")
    return observation


def shown(request: Request, observation: Observation, master: str) -> dict[str, str]:
    """The options of a run, for the page."""
    return {
        "journal": request.journal,
        "from": moment(observation.t0),
        "to": moment(observation.t1),
        "min_window": f"{request.min_window / 1e6:g} s",
        "groups": ", ".join(map(str, request.groups)),
        "dead_days": str(request.dead_days),
        "target": f"{request.target:g} %",
        "master": master,
    }
