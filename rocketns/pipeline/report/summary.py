"""The beginning of the page: what is wrong, whom it hurts, what to do first; then the figures of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rocketns.languages import N_
from rocketns.pipeline.contract.causes import CLOCKS
from rocketns.pipeline.contract.exits import Verdict
from rocketns.pipeline.incidents.model import Incident, Level
from rocketns.pipeline.report import text
from rocketns.pipeline.report.cards import in_page, when
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.text import row, sentences
from rocketns.pipeline.report.words.names import LEVELS, command, identities
from rocketns.pipeline.report.words.sentences import first, title, whom
from rocketns.pipeline.saying import _

VERDICTS = {
    Verdict.NOTHING: N_("All input was read, and nothing is wrong"),
    Verdict.FINDINGS: N_("All input was read, and something was found"),
    Verdict.INCOMPLETE: N_("Input is missing"),
}
CUT = N_("A table had too many rows, so some incidents are not listed: see --days.")
OTHERS_SHOWN = 4
COUNTED = {Level.SEVERE: N_("%(n)s severe"), Level.MAJOR: N_("%(n)s major"), Level.MINOR: N_("%(n)s minor")}
TILES = (
    ("events", N_("events read")),
    ("name_servers", N_("name servers")),
    ("brokers", N_("brokers")),
    ("topics", N_("user topics")),
    ("windows", N_("windows of user topics in which routes differed")),
    ("lost_windows", N_("windows that may be lost records, not counted")),
    ("clock_windows", N_("windows that clocks or looks alone may explain, not counted")),
)


@dataclass(frozen=True)
class Tile:
    """One figure with its name."""

    value: str
    label: str


@dataclass(frozen=True)
class Other:
    """An incident that goes on beside the first one; ``anchor``: its card."""

    anchor: str
    level: str
    title: str
    names: Sequence[str]


@dataclass(frozen=True)
class Summary:
    """``state``: severe, major, minor, none or incomplete, for the style sheet. ``anchor``: the card of the incident
    that the headline is about, '' if there is none. ``when``: its exact time, with the day, and its level if it goes
    on. ``others``: the next ones that go on, and ``more_others``, how many more do. ``clocks``: a sentence for those
    that are not known well enough."""

    state: str
    headline: str
    names: Sequence[str]
    when: str
    whom: str
    first: str
    command: str
    anchor: str
    counts: str
    others: Sequence[Other]
    more_others: int
    verdict: str
    incomplete: Sequence[str]
    clocks: Sequence[str]
    tiles: Sequence[Tile]
    period: str


def summary(data: ReportInput) -> Summary:
    """The summary of a page."""
    worst = data.incidents[0] if data.incidents else None
    others = [(name, incident) for name, incident in in_page(data)[1:] if incident.going_on]
    return Summary(
        state=_state(data, worst),
        headline=headline(data),
        names=(*worst.brokers, *worst.ns, worst.topic) if worst else (),
        when=_when(worst) if worst else "",
        whom=whom(worst) if worst else "",
        first=first(worst) if worst else "",
        command=command(worst, data.options) if worst else "",
        anchor=identities([worst])[0] if worst else "",
        counts=counts(data),
        others=[_other(name, incident, data) for name, incident in others[:OTHERS_SHOWN]],
        more_others=len(others[OTHERS_SHOWN:]),
        verdict=_(_verdict(data)),
        incomplete=data.incomplete,
        clocks=data.notes.get(CLOCKS, ()),
        tiles=[Tile(text.number(data.figures[key]), _(label)) for key, label in TILES if key in data.figures],
        period=_("%(begin)s to %(end)s UTC, %(length)s")
        % {"begin": text.moment(data.t0), "end": text.moment(data.t1), "length": text.microseconds(data.t1 - data.t0)},
    )


def _other(anchor: str, incident: Incident, data: ReportInput) -> Other:
    return Other(
        anchor, _(LEVELS[incident.level]), title(incident, data.t1), (*incident.brokers, *incident.ns, incident.topic)
    )


def headline(data: ReportInput) -> str:
    """What is wrong, in a sentence."""
    if not data.incidents:
        if data.verdict is Verdict.INCOMPLETE:
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
    incidents = data.incidents
    if not incidents:
        return ""
    going_on = sum(incident.going_on for incident in incidents)
    levels = Counter(incident.level for incident in incidents)
    bad = row(_(COUNTED[level]) % {"n": f"{levels[level]:,}"} for level in reversed(Level) if levels[level])
    values = {"many": _many(data), "levels": bad, "on": _on(data, going_on), "over": _over(len(incidents) - going_on)}
    return sentences(
        _("%(many)s (%(levels)s): %(on)s; %(over)s.") % values, "" if data.lists_all else _(CUT)
    )  # fmt: skip


def _many(data: ReportInput) -> str:
    n = len(data.incidents)
    exact = _.plural("%(n)s incident", "%(n)s incidents", n)
    least = _.plural("At least %(n)s incident", "At least %(n)s incidents", n)
    return (exact if data.lists_all else least) % {"n": f"{n:,}"}


def _on(data: ReportInput, n: int) -> str:
    if not n:
        return _("0 go on")
    return _.plural(
        "%(n)s goes on at %(end)s UTC, the last moment that was looked at",
        "%(n)s go on at %(end)s UTC, the last moment that was looked at",
        n,
    ) % {"n": f"{n:,}", "end": text.moment(data.t1)}


def _over(n: int) -> str:
    return _.plural("%(n)s is over", "%(n)s are over", n) % {"n": f"{n:,}"}


def numbers(incidents: Sequence[Incident]) -> dict[str, Any]:
    """For programs: how many go on, and of each level and kind how many there are."""
    return {
        "going_on": sum(incident.going_on for incident in incidents),
        "levels": {
            level.name.lower(): sum(incident.level is level for incident in incidents) for level in reversed(Level)
        },
        "kinds": dict(sorted(Counter(incident.kind.value for incident in incidents).items())),
    }


def _verdict(data: ReportInput) -> str:
    """A planned stop or restart of a name server is an incident, and no finding. Nor is what clocks may explain."""
    if data.verdict is Verdict.NOTHING and (data.incidents or data.figures.get("clock_windows")):
        return N_("All input was read, and there is no finding")
    return VERDICTS[data.verdict]


def _when(incident: Incident) -> str:
    values = {"level": _(LEVELS[incident.level]), "when": when(incident)}
    return (_("%(level)s, %(when)s.") if incident.going_on else _("%(when)s.")) % values


def _state(data: ReportInput, worst: Incident | None) -> str:
    if worst is None:
        return "incomplete" if data.verdict is Verdict.INCOMPLETE else "none"
    return worst.level.name.lower() if worst.going_on else "minor"
