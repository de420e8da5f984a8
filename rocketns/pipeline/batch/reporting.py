"""From the result tables of a run to summary.json, the page, and what is beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.batch.findings import Outcome, verdict
from rocketns.pipeline.contract.catalogue import JOBS, LISTED
from rocketns.pipeline.contract.exits import STATUS, Verdict
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.report.beside.lines import json_lines
from rocketns.pipeline.report.beside.markdown import markdown
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.page import render
from rocketns.pipeline.storage.paths import Folder
from rocketns.pipeline.storage.results import Results, read_json, write_json

REPORT, SUMMARY = "report.html", "summary.json"
MARKDOWN, LINES = "report.md", "incidents.jsonl"
SUMMARY_VERSION = 2
# The keys of summary.json. docs/tables.md is made from this.
SUMMARY_KEYS = {
    "version": f"version of this format: {SUMMARY_VERSION}",
    "verdict": "nothing, findings or incomplete",
    "exit_status": "0, 1 or 3: that of the run",
    "observation": "t0 and t1, epoch us: the time that was looked at is [t0, t1)",
    "findings": "how many of each finding; the table of result tables in audit.md names them",
    "incomplete": "why the input is incomplete, one sentence each",
    "figures": "events, name_servers, brokers, topics; queue-seconds of consumers by strategy",
    "notes": "sentences for sections of the page",
    "options": "options of the run, as texts",
    "report": "name of the page; report.md and incidents.jsonl are beside it",
}
HARM = tuple(f"{loss}_qs_{how}" for loss in ("orphaned", "dup") for how in ("mean", "max"))
# Figures of the whole run: a table, and SQL over it.
SIZES = {
    "events": ("sources", "sum(events)"),
    "name_servers": ("ns_uptime", "count(distinct ns)"),
    "brokers": ("broker_intervals", "count(distinct broker)"),
    "topics": ("topic_inventory", "count(topic)"),
}


def figures(results: Results) -> dict[str, float]:
    """Figures of the whole run, from the whole tables. Queue-seconds are those of the worst group size."""
    worst = (
        results.frame("impact")
        .groupBy("topic", "t1", "t2", "strategy")
        .agg(*[F.max(name).alias(name) for name in HARM])
        .groupBy("strategy")
        .agg(*[F.sum(name).alias(name) for name in HARM])
    )
    told = {f"{name}_{row['strategy']}": row[name] for row in worst.collect() for name in HARM}
    return told | _numbers(results, SIZES)


def findings(results: Results) -> dict[str, int]:
    """The count of each finding of the catalogue."""
    return _numbers(results, {job.finding.name: (job.name, job.finding.count) for job in JOBS if job.finding})


def _numbers(results: Results, wanted: Mapping[str, tuple[str, str]]) -> dict[str, int]:
    """One number of each table, by one query for all."""
    frames = [
        results.frame(table)
        .agg(F.coalesce(F.expr(number), F.lit(0)).cast("long").alias("n"))
        .select(F.lit(name).alias("name"), "n")
        for name, (table, number) in wanted.items()
    ]
    found = {row["name"]: row["n"] for row in reduce(DataFrame.unionByName, frames).collect()}
    return {name: found[name] for name in wanted}


def notes(results: Results, dead_days: int) -> dict[str, list[str]]:
    """Sentences for sections of the page, about facts that are not in their tables."""
    uncovered = results.frame("uncovered_days").select("ago").distinct().count()
    if not uncovered:
        return {}
    days = f"{uncovered} of the last {dead_days} days"
    return {"topics": [f"Not every name server journalled lookups on {days}, so no topic is called dead."]}


def summarise(
    results: Results,
    out: Folder,
    observation: Observation,
    incomplete: Sequence[str],
    options: Mapping[str, str],
    notes: Mapping[str, Sequence[str]],
) -> None:
    """Write summary.json."""
    found = findings(results)
    outcome = verdict(found, incomplete)
    summary = {
        "version": SUMMARY_VERSION,
        "verdict": outcome.value,
        "exit_status": STATUS[outcome],
        "observation": observation._asdict(),
        "findings": found,
        "incomplete": list(incomplete),
        "figures": figures(results),
        "notes": {name: list(sentences) for name, sentences in notes.items()},
        "options": dict(options),
        "report": REPORT,
    }
    write_json(out, SUMMARY, summary)


def write_page(results: Results, out: Folder) -> Outcome:
    """report.html, report.md and incidents.jsonl from the tables and the summary below ``out``."""
    summary = read_json(out, SUMMARY)
    data = ReportInput(
        t0=summary["observation"]["t0"],
        t1=summary["observation"]["t1"],
        verdict=Verdict(summary["verdict"]),
        incomplete=summary["incomplete"],
        options=summary["options"],
        figures=summary["figures"],
        notes=summary["notes"],
        tables=results.tables(LISTED),
    )
    out.write(LINES, json_lines(data).encode())
    out.write(MARKDOWN, markdown(data).encode())
    out.write(REPORT, render(data).encode())
    return Outcome(data.verdict, summary["findings"], summary["incomplete"], out.path(REPORT))
