"""The beginning of the page: what is wrong, whom it hurts, what to do first; then the figures of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rocketns.languages import N_
from rocketns.pipeline.contract.terms import AuditVerdict
from rocketns.pipeline.incidents.model import Incident, Level
from rocketns.pipeline.report import text
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.text import row, sentences
from rocketns.pipeline.report.words.sentences import title
from rocketns.pipeline.saying import _

VERDICTS = {
    AuditVerdict.NOTHING: N_("All input was read, and nothing is wrong"),
    AuditVerdict.FINDINGS: N_("All input was read, and something was found"),
    AuditVerdict.INCOMPLETE: N_("Input is missing"),
}
CUT = N_("A table had too many rows, so some incidents are not listed: see --days.")
COUNTED = {Level.SEVERE: N_("%(n)s severe"), Level.MAJOR: N_("%(n)s major"), Level.MINOR: N_("%(n)s minor")}
TILES = (
    ("events", N_("events read")),
    ("name_servers", N_("name servers")),
    ("brokers", N_("brokers")),
    ("topics", N_("user topics")),
)


def tiles(data: ReportInput) -> list[tuple[str, str]]:
    """Figures of the run with their names."""
    return [(text.number(data.figures[key]), _(label)) for key, label in TILES if key in data.figures]


def period(data: ReportInput) -> str:
    """``2026-08-03 00:00:00 to 2026-08-04 00:00:00 UTC, 1 d``."""
    shown = {"begin": text.moment(data.t0), "end": text.moment(data.t1), "length": text.microseconds(data.t1 - data.t0)}
    return _("%(begin)s to %(end)s UTC, %(length)s") % shown


def headline(data: ReportInput) -> str:
    """What is wrong, in a sentence."""
    if not data.incidents:
        if data.verdict is AuditVerdict.INCOMPLETE:
            return _("Nothing was found, but records are missing: something may be wrong.")
        return _nothing_found(data.figures)
    worst = data.incidents[0]
    if worst.going_on:
        return _("%(title)s.") % {"title": title(worst, data.t1)}
    if not data.lists_all:
        return _("No incident listed here is open. Worst of the list: %(title)s.") % {"title": title(worst, data.t1)}
    return _("No open incident. Worst of the past: %(title)s.") % {"title": title(worst, data.t1)}


def _nothing_found(figures: Mapping[str, float]) -> str:
    if figures.get("brokers") == 0:
        return _("Nothing was found: no broker registered.")
    if figures.get("name_servers") == 1:
        return _("No broker was lost. Routes were not compared: there is the journal of one name server only.")
    if figures.get("clock_windows"):
        return _("Nothing was found for certain: times are not known well enough to tell whether name servers agreed.")
    return _("Nothing is wrong: the name servers agreed, and no broker was lost.")


def counts(data: ReportInput) -> str:
    """How many incidents there are, how bad they are, how many go on at the end; '' without any."""
    if not data.incidents:
        return ""
    going_on = sum(incident.going_on for incident in data.incidents)
    levels = Counter(incident.level for incident in data.incidents)
    values = {
        "levels": row(_(COUNTED[level]) % {"n": f"{levels[level]:,}"} for level in reversed(Level) if levels[level]),
        "on": f"{going_on:,}", "over": f"{len(data.incidents) - going_on:,}", "end": text.moment(data.t1),
    }  # fmt: skip
    said = _(
        "Incidents: %(levels)s. Going on at %(end)s UTC, the last moment that was looked at: %(on)s; over: %(over)s."
    )
    return sentences(said % values, "" if data.lists_all else _(CUT))


def numbers(incidents: Sequence[Incident]) -> dict[str, Any]:
    """For programs: how many go on, and of each level and kind how many there are."""
    return {
        "going_on": sum(incident.going_on for incident in incidents),
        "levels": {
            level.name.lower(): sum(incident.level is level for incident in incidents) for level in reversed(Level)
        },
        "kinds": dict(sorted(Counter(incident.kind.value for incident in incidents).items())),
    }


def verdict(data: ReportInput) -> str:
    """A planned stop or restart of a name server is an incident, and no finding. Nor is what clocks may explain."""
    if data.verdict is AuditVerdict.NOTHING and (data.incidents or data.figures.get("clock_windows")):
        return _("All input was read, and there is no finding")
    return _(VERDICTS[data.verdict])


def state(data: ReportInput) -> str:
    """severe, major, minor, none or incomplete, for the style sheet."""
    if not data.incidents:
        return "incomplete" if data.verdict is AuditVerdict.INCOMPLETE else "none"
    worst = data.incidents[0]
    return worst.level.name.lower() if worst.going_on else "minor"
