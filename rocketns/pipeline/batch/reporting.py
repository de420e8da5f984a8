"""From the result tables of a run to summary.json and the page: what is collected, counted and said."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.batch.findings import Outcome, verdict
from rocketns.pipeline.contract.schema import Observation
from rocketns.pipeline.report.model import ReportInput, Table, Verdict
from rocketns.pipeline.report.page import render
from rocketns.pipeline.storage.paths import Folder
from rocketns.pipeline.storage.results import Results, read_json, write_json

REPORT, SUMMARY = "report.html", "summary.json"
SUMMARY_VERSION = 1
HARM = tuple(f"{loss}_qs_{how}" for loss in ("orphaned", "dup") for how in ("mean", "max"))
TABLES = tuple(field.name for field in dataclasses.fields(ReportInput) if field.default == Table())


def figures(results: Results) -> dict[str, float]:
    """Figures of the whole run, from the whole tables. Queue-seconds are of the group size that is hit hardest."""
    worst = (
        results.frame("impact")
        .groupBy("topic", "t1", "t2", "strategy")
        .agg(*[F.max(name).alias(name) for name in HARM])
        .groupBy("strategy")
        .agg(*[F.sum(name).alias(name) for name in HARM])
    )
    told = {f"{name}_{row['strategy']}": row[name] for row in worst.collect() for name in HARM}
    return told | _numbers(
        results,
        {
            "events": ("sources", F.sum("events")),
            "name_servers": ("ns_uptime", F.countDistinct("ns")),
            "brokers": ("broker_intervals", F.countDistinct("broker")),
            "topics": ("topic_inventory", F.count("topic")),
        },
    )


def findings(results: Results) -> dict[str, int]:
    """Counts by the names of ``findings.NAMES``."""
    return _numbers(
        results,
        {
            "incidents": ("incidents", F.count("broker")),
            "departures": ("departures", F.count_if(F.col("kind") != "graceful")),
            "flaps": ("broker_stats", F.sum("flaps")),
            "killed": ("ns_uptime", F.count_if(F.col("end_cause") == "lost")),
            "missing_topics": ("missing_topics", F.count("topic")),
        },
    )


def _numbers(results: Results, wanted: Mapping[str, tuple[str, Column]]) -> dict[str, int]:
    """One number of each table, by one query for all."""
    frames = [
        results.frame(table)
        .agg(F.coalesce(number, F.lit(0)).cast("long").alias("n"))
        .select(F.lit(name).alias("name"), "n")
        for name, (table, number) in wanted.items()
    ]
    found = {row["name"]: row["n"] for row in reduce(DataFrame.unionByName, frames).collect()}
    return {name: found[name] for name in wanted}


def summarise(
    results: Results,
    out: Folder,
    seen: Observation,
    incomplete: Sequence[str],
    options: Mapping[str, str],
    notes: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """Write summary.json."""
    found = findings(results)
    outcome = verdict(found, incomplete)
    summary = {
        "version": SUMMARY_VERSION,
        "verdict": outcome.value,
        "exit_status": Outcome(outcome, found, incomplete, "").exit_status,
        "observation": {"t0": seen.t0, "t1": seen.t1},
        "findings": found,
        "incomplete": list(incomplete),
        "figures": figures(results),
        "notes": {name: list(sentences) for name, sentences in notes.items()},
        "options": dict(options),
        "report": REPORT,
    }
    write_json(out, SUMMARY, summary)
    return summary


def write_page(results: Results, out: Folder) -> Outcome:
    """report.html from the tables and the summary that lie below ``out``."""
    summary = read_json(out, SUMMARY)
    tables = results.tables(TABLES)
    data = ReportInput(
        t0=summary["observation"]["t0"],
        t1=summary["observation"]["t1"],
        verdict=Verdict(summary["verdict"]),
        incomplete=summary["incomplete"],
        options=summary["options"],
        figures=summary["figures"],
        notes=summary["notes"],
        **tables,
    )
    out.write(REPORT, render(data).encode())
    return Outcome(data.verdict, summary["findings"], summary["incomplete"], out.path(REPORT))
