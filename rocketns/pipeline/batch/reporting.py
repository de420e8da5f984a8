"""From the result tables of a run to summary.json and the page.

How many topics and consumers the listed incidents affected. The list may be made from a part of the tables' rows, so
this is counted in the whole tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.languages import language
from rocketns.languages.texts import ENGLISH
from rocketns.pipeline.batch.findings import RunOutcome, verdict
from rocketns.pipeline.batch.observing import last_day_of_each
from rocketns.pipeline.contract.catalogue import CERTAIN, JOBS, LISTED
from rocketns.pipeline.contract.causes import CLOCKS, LOST_RECORDS
from rocketns.pipeline.contract.exits import STATUS, Verdict
from rocketns.pipeline.contract.frames import Observation, columns, each, frame_of
from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.incidents.model import Incident
from rocketns.pipeline.report.beside import json_lines, markdown
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.page import render
from rocketns.pipeline.report.summary import headline, numbers
from rocketns.pipeline.report.words.sources import clock_notes, given_notes, outside_notes
from rocketns.pipeline.saying import OTHERS, _, speaking
from rocketns.pipeline.storage.results import LINES, MARKDOWN, REPORT, Results
from rocketns.pipeline.storage.stored import Delivered

SUMMARY_VERSION = 2
# The keys of summary.json. docs/tables.md is made from this.
SUMMARY_KEYS = {
    "version": f"version of this format: {SUMMARY_VERSION}",
    "run": "id of the run that counts",
    "results": "folder of its tables, below `--out`",
    "verdict": "nothing, findings or incomplete",
    "exit_status": "0, 1 or 3: that of the run",
    "observation": "t0 and t1, epoch us: the time that was looked at is [t0, t1)",
    "findings": "how many of each finding; the table of result tables in audit-reference.md names them",
    "incomplete": "why the input is incomplete, one sentence each",
    "input": "records and files that were delivered more than once, files of another version",
    "figures": "sizes of the fleet, of user topics and windows; queue-seconds of consumers by strategy",
    "incidents": "how many incidents of the one list go on, and how many there are of each level and kind",
    "headline": "what is wrong, in one sentence: the first sentence of report.html",
    "notes": "sentences for sections of the page; `clocks`: name servers whose clocks are not known well enough",
    "translations": "`incomplete` and `notes` in other languages, by language, for `report --language`",
    "options": "options of the run, as texts",
    "report": "name of the page; report.md and incidents.jsonl are beside it",
}
# Divergences whose name servers are followed over time, topics of each, and the rows that are read for that.
FOLLOWED_MAX, TOPICS_FOLLOWED, FOLLOWED_ROWS_MAX = 3_000, 2, 50_000
# The tables with the effects of incidents. If the list is made from a part of their rows, all rows are counted.
EFFECTS = ("key_windows", "impact")
HARM = tuple(f"{loss}_qs_{how}" for loss in ("orphaned", "dup") for how in ("mean", "max"))
# Figures of the whole run: a table, and SQL over it.
SIZES = {
    "events": ("sources", "sum(events)"),
    "name_servers": ("ns_uptime", "count(distinct ns)"),
    "brokers": ("broker_intervals", "count(distinct broker)"),
    "topics": ("topics", "count_if(kind = 'user' and created is not null)"),
    "dead_topics": ("dead_topics", "count_if(kind = 'user')"),
    "uneven_topics": ("topics", "count_if(kind = 'user' and skew > 1)"),
    "sole_topics": ("topics", "count_if(kind = 'user' and served = 1)"),
    "missing_hours": ("missing_topics", "count_if(topic_kind <> 'system')"),
    "incidents": ("incidents", f"count_if({CERTAIN})"),
    "lost_incidents": ("incidents", f"count_if(doubt = '{LOST_RECORDS}')"),
    "clock_incidents": ("incidents", f"count_if(doubt = '{CLOCKS}')"),
    "windows": ("key_windows", f"count_if({CERTAIN} and kind = 'user')"),
    "lost_windows": ("key_windows", f"count_if(doubt = '{LOST_RECORDS}' and kind = 'user')"),
    "clock_windows": ("key_windows", f"count_if(doubt = '{CLOCKS}' and kind = 'user')"),
}


def figures(results: Results) -> dict[str, float]:
    """Figures of the whole run, from the whole tables. Queue-seconds are those of the worst group size."""
    worst = (
        results.frame("impact")
        .groupBy("topic", "t1", "t2", "strategy")
        .agg(*each(F.max, *HARM))
        .groupBy("strategy")
        .agg(*each(F.sum, *HARM))
    )
    harm = {f"{name}_{row['strategy']}": row[name] for row in worst.collect() for name in HARM}
    return harm | _numbers(results, SIZES)


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


class Noted(NamedTuple):
    """What notes are made of: how many days are uncovered, and rows of SOURCES, NS_UPTIME and
    CLOCK_DAYS, of the last day of each name server."""

    uncovered: int
    sources: Sequence[Mapping[str, Any]]
    uptime: Sequence[Mapping[str, Any]]
    clocks: Sequence[Mapping[str, Any]]


def noted(results: Results, uncovered: int) -> Noted:
    """From the tables of the run. ``uncovered``: days without journalled lookups."""
    sources, uptime, clocks = (results.rows(name) for name in ("sources", "ns_uptime", "clock_days"))
    return Noted(uncovered, sources, uptime, list(last_day_of_each(clocks).values()))


def worded(noted: Noted, dead_days: int, delivered: Delivered, within: int | None) -> dict[str, list[str]]:
    """Sentences for sections of the page, about facts that are not in their tables, in the current language.
    ``within``: --clocks, us."""
    sentences: dict[str, list[str]] = {}
    if noted.uncovered:
        said = _(
            "Not every name server journalled lookups on %(n)s of the last %(days)s days, so no topic is called dead."
        )
        sentences["topics"] = [said % {"n": noted.uncovered, "days": dead_days}]
    if delivered.repeated:
        sentences["quality"] = [_came_again(delivered)]
    for section, notes in outside_notes(noted.sources, noted.uptime).items():
        sentences[section] = [*sentences.get(section, []), *notes]
    if given := given_notes(noted.clocks, within):
        sentences["quality"] = [*sentences.get("quality", []), *given]
    if unsure := clock_notes(noted.clocks, within):
        sentences[CLOCKS] = unsure
    return sentences


def _came_again(delivered: Delivered) -> str:
    n, copies = delivered.repeated, delivered.copies
    records = _.plural("%(n)s record", "%(n)s records", n) % {"n": f"{n:,}"}
    if not copies:
        return _("%(records)s came more than once. Each record counts once.") % {"records": records}
    files = _.plural("%(n)s whole file", "%(n)s whole files", copies) % {"n": f"{copies:,}"}
    return _("%(records)s came more than once, %(files)s among them. Each record counts once.") % {
        "records": records, "files": files
    }  # fmt: skip


class Sentences(NamedTuple):
    """Why the input is incomplete, and notes for sections."""

    incomplete: Sequence[str]
    notes: Mapping[str, Sequence[str]]


def in_each_language(say: Callable[[], Sentences]) -> dict[str, Sentences]:
    """What it says, by language."""
    said = {}
    for name in (ENGLISH, *OTHERS):
        with speaking(name):
            said[name] = say()
    return said


def told(summary: Mapping[str, Any]) -> Sentences:
    """The sentences of a summary in the current language."""
    said = summary["translations"].get(language(), summary)
    return Sentences(said["incomplete"], said["notes"])


def summarise(
    results: Results,
    observation: Observation,
    said: Mapping[str, Sentences],
    options: Mapping[str, str],
    delivered: Delivered,
) -> dict[str, Any]:
    """What summary.json holds. ``said``: by language."""
    counts = findings(results)
    incomplete, notes = said[ENGLISH]
    outcome = verdict(counts, incomplete)
    return {
        "version": SUMMARY_VERSION,
        "run": results.run,
        "results": results.place,
        "verdict": outcome.value,
        "exit_status": STATUS[outcome],
        "observation": observation._asdict(),
        "findings": counts,
        "incomplete": list(incomplete),
        "input": delivered._asdict(),
        "figures": figures(results),
        "notes": {name: list(sentences) for name, sentences in notes.items()},
        "translations": {name: said[name]._asdict() for name in OTHERS},
        "options": dict(options),
        "report": REPORT,
    }


def report_input(results: Results, summary: Mapping[str, Any]) -> ReportInput:
    """The input of the report, from the tables and the summary."""
    data = _of_run(results, summary)
    if all(data[name].is_whole for name in EFFECTS):
        return data
    return replace(data, listed=counted(results, data.incidents))


def _of_run(results: Results, summary: Mapping[str, Any]) -> ReportInput:
    """CLOCK_DAYS says by which offsets the times of records were corrected."""
    clocks, tables = Table.of(results.rows("clock_days")), results.tables(LISTED)
    incomplete, notes = told(summary)
    return ReportInput(
        t0=summary["observation"]["t0"],
        t1=summary["observation"]["t1"],
        verdict=Verdict(summary["verdict"]),
        incomplete=incomplete,
        options=summary["options"],
        figures=summary["figures"],
        notes=notes,
        tables=tables | {"topic_intervals": _followed(results, tables["incidents"]), "clock_days": clocks},
    )


def _followed(results: Results, incidents: Table) -> Table:
    """TOPIC_INTERVALS of the first topics of each divergence: what each name server showed after it began."""
    worst = [row for row in incidents.rows if row["doubt"] is None][:FOLLOWED_MAX]
    keys = {(row["broker"], topic) for row in worst for topic in row["topic_sample"][:TOPICS_FOLLOWED]}
    if not keys:
        return Table()
    intervals = results.frame("topic_intervals")
    named = F.broadcast(frame_of(intervals.sparkSession, sorted(keys), columns("broker:string topic:string")))
    found = intervals.join(named, ["topic", "broker"], "left_semi")
    rows = found.select("ns", "topic", "broker", "t1", "t2", "r", "w", "p").limit(FOLLOWED_ROWS_MAX + 1).toArrow()
    return Table.of(rows.slice(0, FOLLOWED_ROWS_MAX).to_pylist(), rows.num_rows)


def incidents_in_short(data: ReportInput) -> dict[str, Any]:
    """The part of summary.json that needs the list of incidents."""
    with speaking(ENGLISH):
        return {"headline": headline(data), "incidents": numbers(data.incidents)}


def pages_of(data: ReportInput) -> dict[str, bytes]:
    """The page, and what is beside it, by file name."""
    return {REPORT: render(data).encode(), MARKDOWN: markdown(data).encode(), LINES: json_lines(data).encode()}


def outcome_of(summary: Mapping[str, Any], data: ReportInput, out: str) -> RunOutcome:
    """``data``: the input of the report; ``out``: the folder, as the user named it."""
    return RunOutcome(
        data.verdict, summary["findings"], data.incomplete, f"{out.rstrip('/')}/{REPORT}", headline(data),
        len(data.incidents), data.notes.get(CLOCKS, ()),
    )  # fmt: skip


# The rows of INCIDENTS that ``incident`` (its place in the list) was made from, whose time in all is [begin, end).
MADE_FROM = columns("incident:int broker:string cause:string t1:long t2:long topics:strings begin:long end:long")


def counted(results: Results, incidents: Sequence[Incident]) -> list[Incident]:
    """The incidents in their order, with the user topics and the queues of consumers that the whole tables tell."""
    rows = [
        (place, *row, min(r.t1 for r in incident.rows), max(r.t2 for r in incident.rows))
        for place, incident in enumerate(incidents)
        for row in incident.rows
    ]
    if not rows:
        return list(incidents)
    made_from = frame_of(results.frame("key_windows").sparkSession, rows, MADE_FROM)
    effects = {row["incident"]: row.asDict() for row in _effects(results, made_from).collect()}
    return [
        _with(incident, effects[place]) if place in effects else incident for place, incident in enumerate(incidents)
    ]


def _effects(results: Results, made_from: DataFrame) -> DataFrame:
    """incident, topics, orphaned, twice: of each topic the worst result that lies in the incident's time."""
    windows = (
        results.frame("key_windows").where(f"{CERTAIN} and kind = 'user'").select("topic", "broker", "cause", "t1")
    )
    begins_in = (F.col("w.t1") >= F.col("m.t1")) & (F.col("w.t1") < F.col("m.t2"))
    of_part = F.col("m.topics").isNull() | F.array_contains("m.topics", F.col("w.topic"))
    of_row = (F.col("w.broker") == F.col("m.broker")) & F.col("w.cause").eqNullSafe(F.col("m.cause"))
    same = of_row & begins_in & of_part
    topics = (
        windows.alias("w")
        .join(F.broadcast(made_from).alias("m"), same)
        .select("incident", "topic", "begin", "end")
        .distinct()
    )
    lies_in = (F.col("i.t1") < F.col("d.end")) & (F.col("i.t2") > F.col("d.begin"))
    results_of = results.frame("impact").select("topic", "t1", "t2", "orphaned_max", "dup_max").alias("i")
    worst = (
        topics.alias("d")
        .join(results_of, (F.col("d.topic") == F.col("i.topic")) & lies_in, "left")
        .groupBy("incident", "d.topic")
        .agg(F.max("orphaned_max").alias("orphaned"), F.max("dup_max").alias("twice"))
    )
    sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("orphaned", "twice")]
    return worst.groupBy("incident").agg(F.count("*").alias("topics"), *sums)


def _with(incident: Incident, effect: Mapping[str, Any]) -> Incident:
    """A row of INCIDENTS knows its number of topics; several may have topics in common."""
    topics = effect["topics"] if len(incident.rows) > 1 else incident.harm.topics
    orphaned, twice = round(effect["orphaned"]), round(effect["twice"])
    return replace(incident, harm=replace(incident.harm, topics=topics, orphaned=orphaned, twice=twice))
