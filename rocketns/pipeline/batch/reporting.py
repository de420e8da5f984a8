"""From the result tables of a run to summary.json and the page, and what the run comes to: findings, verdict, exit
status.

How many topics and consumers the listed incidents affected. The list may be made from a part of the tables' rows, so
this is counted in the whole tables.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from rocketns.journal.record import VERSION
from rocketns.languages import N_
from rocketns.languages.texts import ENGLISH
from rocketns.pipeline.batch.observing import last_day_of_each, too_short
from rocketns.pipeline.contract.catalogue import CERTAIN, FINDINGS, JOBS, LISTED
from rocketns.pipeline.contract.frames import Observation, Table, columns, frame_of
from rocketns.pipeline.contract.terms import CLOCKS, LOST_RECORDS, STATUS, AuditVerdict
from rocketns.pipeline.incidents.model import Incident
from rocketns.pipeline.report.beside import json_lines, markdown
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.page import render
from rocketns.pipeline.report.summary import headline, numbers
from rocketns.pipeline.report.text import strict
from rocketns.pipeline.report.words.names import clock_notes, outside_notes
from rocketns.pipeline.saying import _, speaking
from rocketns.pipeline.storage.results import LINES, MARKDOWN, REPORT, Results
from rocketns.pipeline.storage.stored import Delivered


class RunOutcome(NamedTuple):
    """``lines`` are for standard output. ``headline``: the first sentence of the page; ``listed``: how many incidents
    it lists; ``clocks``: a sentence for those that are not known well enough."""

    verdict: AuditVerdict
    findings: Mapping[str, int]
    incomplete: Sequence[str]
    report: str
    headline: str = ""
    listed: int = 0
    clocks: Sequence[str] = ()

    @property
    def exit_status(self) -> int:
        return STATUS[self.verdict]

    @property
    def lines(self) -> list[str]:
        found_lines = [f"{count:8,}  {_(FINDINGS[name].words)}" for name, count in self.findings.items() if count]
        missing = [_("incomplete: %(reason)s") % {"reason": sentence} for sentence in self.incomplete]
        missing += [_("clocks: %(note)s") % {"note": sentence} for sentence in self.clocks]
        heads = {
            AuditVerdict.NOTHING: self._nothing(),
            AuditVerdict.FINDINGS: _("Found:"),
            AuditVerdict.INCOMPLETE: _("Found in what is there:")
            if found_lines
            else _("Nothing found in what is there."),
        }
        begin = [strict(self.headline)] if self.headline else []
        return [*begin, *missing, heads[self.verdict], *found_lines, _("report: %(path)s") % {"path": self.report}]

    def _nothing(self) -> str:
        """A planned stop or restart is listed, and no finding."""
        if not self.listed:
            return _("Nothing found.")
        said = _("No finding. Incidents that are none, since a name server was stopped or restarted: %(n)s.")
        return said % {"n": f"{self.listed:,}"}


def incomplete(faults: Iterable[Any]) -> list[str]:
    """A sentence for each kind of fault of each name server's input; rows: kind, ns, n."""
    sums = Counter[tuple[str, str]]()
    for row in faults:
        sums[row["ns"], row["kind"]] += row["n"]
    in_order = ((ns, kind, n) for (ns, kind), n in sorted(sums.items()))
    return [_(FAULTS[kind]) % {"ns": ns, "n": f"{n:,}", "s": f"{n / 1e6:,.0f}"} for ns, kind, n in in_order]


# By kind of QUALITY, the sentence for n of them. ``s``: the length of a silence in seconds, of which ``n`` is us.
FAULTS = {
    "corrupt": N_("Lines of %(ns)s that do not parse: %(n)s."),
    "drop": N_("Records that %(ns)s dropped because its buffer was full: %(n)s."),
    "hole": N_("Records of %(ns)s that are missing: %(n)s."),
    "silent": N_(
        "%(ns)s wrote nothing for the last %(s)s s, and no stop record: it is down, or its files are missing."
    ),
    "unwatched": N_("Nobody watched %(ns)s for the last %(s)s s: what watches it from outside wrote nothing."),
    "unknown": N_("The first state of %(ns)s is not known: its journal begins in the middle, before a whole snapshot."),
}


def unread(foreign: Mapping[str, int]) -> list[str]:
    """A sentence for each version of the journal that is not read. ``foreign``: files by version."""
    said = _("Files of version %(version)s of the journal were not read: %(n)s. This audit reads version %(known)s.")
    return [said % {"n": f"{n:,}", "version": version, "known": VERSION} for version, n in foreign.items()]


def verdict(findings: Mapping[str, int], incomplete: Sequence[str]) -> AuditVerdict:
    """Incomplete input comes first: with lost records, absence of a finding proves nothing."""
    if incomplete:
        return AuditVerdict.INCOMPLETE
    return AuditVerdict.FINDINGS if any(findings.values()) else AuditVerdict.NOTHING


SUMMARY_VERSION = 4
# Divergences whose name servers are followed over time, topics of each, and the rows that are read for that.
FOLLOWED_MAX, TOPICS_FOLLOWED, FOLLOWED_ROWS_MAX = 3_000, 2, 50_000
# The tables with the effects of incidents. If the list is made from a part of their rows, all rows are counted.
EFFECTS = ("key_windows", "impact")
# Figures of the whole run: a table, and SQL over it.
SIZES = {
    "events": ("sources", "sum(events)"),
    "name_servers": ("ns_uptime", "count(distinct ns)"),
    "brokers": ("broker_intervals", "count(distinct broker)"),
    "topics": ("topics", "count(*) filter (where kind = 'user' and created is not null)"),
    "sole_topics": ("topics", "count(*) filter (where kind = 'user' and served = 1)"),
    "divergences": ("divergences", f"count(*) filter (where {CERTAIN})"),
    "lost_divergences": ("divergences", f"count(*) filter (where doubt = '{LOST_RECORDS}')"),
    "clock_divergences": ("divergences", f"count(*) filter (where doubt = '{CLOCKS}')"),
    "clock_windows": ("key_windows", f"count(*) filter (where doubt = '{CLOCKS}' and kind = 'user')"),
}


def numbers_of(results: Results) -> tuple[dict[str, int], dict[str, int]]:
    """The count of each finding of the catalogue, and the figures of the run, from the whole tables."""
    findings = {job.finding.name: (job.name, job.finding.count) for job in JOBS if job.finding}
    by_table: defaultdict[str, list[str]] = defaultdict(list)
    for table, number in (*findings.values(), *SIZES.values()):
        by_table[table].append(number)
    found = {
        (table, number): n
        for table, wanted in by_table.items()
        for number, n in zip(wanted, results.numbers(table, wanted), strict=True)
    }
    return {name: found[of] for name, of in findings.items()}, {name: found[of] for name, of in SIZES.items()}


class ReportFacts(NamedTuple):
    """What sentences about a run take beside its tables. ``t1`` and ``clocks``: --to and --clocks, us; ``unlooked``:
    days on which not every name server journalled lookups."""

    t1: int | None
    dead_days: int
    clocks: int | None
    unlooked: int


class Sentences(NamedTuple):
    """Why the input is incomplete, and notes for sections."""

    incomplete: list[str]
    notes: dict[str, list[str]]


def sentences(results: Results, observation: Observation, facts: ReportFacts, came: Delivered) -> Sentences:
    """What a run says beside its tables, in the current language."""
    why = [*incomplete(results.rows("quality")), *too_short(facts.t1, observation), *unread(came.foreign)]
    notes = defaultdict[str, list[str]](list)
    if facts.unlooked:
        said = _(
            "Not every name server journalled lookups on %(n)s of the last %(days)s days, so no topic is called dead."
        )
        notes["topics"].append(said % {"n": facts.unlooked, "days": facts.dead_days})
    if came.repeated:
        said = _("Records that came more than once, and count once: %(n)s. Whole files among them: %(files)s.")
        notes["quality"].append(said % {"n": f"{came.repeated:,}", "files": f"{came.copies:,}"})
    for section, outside in outside_notes(results.rows("sources"), results.rows("ns_uptime")).items():
        notes[section] += outside
    clocks = list(last_day_of_each(results.rows("clock_days")).values())
    notes[CLOCKS] += clock_notes(clocks, facts.clocks)
    return Sentences(why, {section: said for section, said in notes.items() if said})


def summarise(
    results: Results, observation: Observation, facts: ReportFacts, options: Mapping[str, str], came: Delivered
) -> dict[str, Any]:
    """What summary.json holds."""
    counts, figures = numbers_of(results)
    with speaking(ENGLISH):
        incomplete, notes = sentences(results, observation, facts, came)
    outcome = verdict(counts, incomplete)
    return {
        "version": SUMMARY_VERSION,
        "run": results.run,
        "results": results.place,
        "verdict": outcome.value,
        "exit_status": STATUS[outcome],
        "observation": observation._asdict(),
        "findings": counts,
        "incomplete": incomplete,
        "input": came._asdict(),
        "figures": figures,
        "notes": notes,
        "facts": facts._asdict(),
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
    observation = Observation(**summary["observation"])
    incomplete, notes = sentences(results, observation, ReportFacts(**summary["facts"]), Delivered(**summary["input"]))
    return ReportInput(
        t0=observation.t0,
        t1=observation.t1,
        verdict=AuditVerdict(summary["verdict"]),
        incomplete=incomplete,
        options=summary["options"],
        figures=summary["figures"],
        notes=notes,
        tables=tables | {"topic_intervals": _followed(results, tables["divergences"]), "clock_days": clocks},
    )


def _followed(results: Results, incidents: Table) -> Table:
    """TOPIC_INTERVALS of the first topics of each divergence: what each name server showed after it began."""
    worst = [row for row in incidents.rows if row["doubt"] is None][:FOLLOWED_MAX]
    keys = {(row["broker"], topic) for row in worst for topic in row["topic_sample"][:TOPICS_FOLLOWED]}
    if not keys:
        return Table()
    brokers, topics = ({*names} for names in zip(*keys, strict=True))
    found = results.rows("topic_intervals", broker=brokers, topic=topics)
    rows = [row for row in found if (row["broker"], row["topic"]) in keys]
    return Table.of(rows[:FOLLOWED_ROWS_MAX], len(rows))


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


# The rows of DIVERGENCES that ``incident`` (its place in the list) was made from, whose time in all is [begin, end).
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
    """A row of DIVERGENCES knows its number of topics; several may have topics in common."""
    topics = effect["topics"] if len(incident.rows) > 1 else incident.harm.topics
    orphaned, twice = round(effect["orphaned"]), round(effect["twice"])
    return replace(incident, harm=replace(incident.harm, topics=topics, orphaned=orphaned, twice=twice))
