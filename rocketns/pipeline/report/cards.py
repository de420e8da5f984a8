"""Incidents as cards: texts and places in per cent, ready for the template.

The timeline: the whole observation as bars of name servers and incidents. Each bar of an incident leads to its card,
which shows its time to the second.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from rocketns.languages import N_
from rocketns.pipeline.contract import terms
from rocketns.pipeline.incidents.lanes import STATES, Span, gaps
from rocketns.pipeline.incidents.model import Incident, Lane, Record, Shown, Symptom
from rocketns.pipeline.report import text
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.text import sentences, visible
from rocketns.pipeline.report.words.names import (
    LEVELS,
    NAMES,
    begun_and_ended,
    command,
    identities,
    queues,
    said,
    topics,
)
from rocketns.pipeline.report.words.sentences import first, silent_before, title, whom
from rocketns.pipeline.saying import _, shown

CARDS_MAX = 1_000  # the rest is in incidents.jsonl
OPEN_AT_FIRST = 3
RECORDS_SHOWN = 8
NAME_MAX = 120  # characters of a broker's name in a record
UNUSUAL = {"new": N_("no lookup of it was usual before"), "anomaly": N_("more lookups than usual")}


@dataclass(frozen=True)
class Bar:
    """A stretch: left edge and width in per cent, its state for the style sheet, what a tooltip says, and the card that
    it leads to."""

    left: float
    width: float
    state: str
    tip: str
    anchor: str = ""


class Card:
    """One incident. ``lanes``: of each name server its id, what it says, whether it is concerned, and its bars;
    ``marks``: the places of its beginning and end; ``legend``: the states that its lanes have."""

    def __init__(self, identity: str, incident: Incident, data: ReportInput, place: int) -> None:
        begin, end = _edges(incident)
        states = sorted({span[2] for lane in incident.lanes for span in lane.spans}, key=list(Shown).index)
        self.identity, self.kind, self.code = identity, _(NAMES[incident.kind]), incident.kind.value
        self.level, self.level_name = incident.level.name.lower(), _(LEVELS[incident.level])
        self.going_on = incident.going_on
        self.open = place == 0 or (place < OPEN_AT_FIRST and incident.going_on)
        self.title, self.names = title(incident, data.t1), (*incident.brokers, *incident.ns, incident.topic)
        self.when, self.level_and_time = when(incident), level_and_time(incident)
        self.whom, self.first, self.command = whom(incident), first(incident), command(incident, data.options)
        self.cause, self.topics, self.impact = _cause(incident), _topics(incident), _impact(incident)
        self.lanes = [
            (lane.ns, shown(lane.says), lane.ns in incident.ns,
             [_bar((a, b), (begin, end), state.value, _tip(lane, (a, b), state)) for a, b, state in lane.spans])
            for lane in incident.lanes
        ]  # fmt: skip
        self.marks = _percent(incident.t1, begin, end), _percent(incident.t2, begin, end)
        self.begins, self.ends = _clock(incident.t1), _("still") if incident.going_on else _clock(incident.t2)
        self.legend = [(state.value, _(STATES[state])) for state in states]
        self.records = [record_text(record) for record in incident.records[:RECORDS_SHOWN]]
        self.more_records = max(0, len(incident.records) - RECORDS_SHOWN)


def cards(data: ReportInput) -> list[Card]:
    """The worst CARDS_MAX incidents. The first one is open, and a few more if they go on."""
    return [Card(name, incident, data, place) for place, (name, incident) in enumerate(in_page(data))]


def in_page(data: ReportInput) -> list[tuple[str, Incident]]:
    """The incidents that have a card, each with its anchor."""
    return list(islice(zip(identities(data.incidents), data.incidents, strict=True), CARDS_MAX))


def when(incident: Incident) -> str:
    """The exact time in UTC, and how long it lasted; of what was seen from outside also between which moments."""
    seen = begun_and_ended(incident)
    if not seen:
        return _when(incident)
    return _("%(when)s; seen from outside: %(seen)s") % {"when": _when(incident), "seen": seen}


def level_and_time(incident: Incident) -> str:
    """Its exact time, and its level if it goes on."""
    values = {"level": _(LEVELS[incident.level]), "when": when(incident)}
    return (_("%(level)s, %(when)s.") if incident.going_on else _("%(when)s.")) % values


def _when(incident: Incident) -> str:
    values = {
        "begin": terms.moment(incident.t1), "end": terms.moment(incident.t2),
        "length": text.microseconds(incident.lasted_us),
    }  # fmt: skip
    if incident.going_on and incident.before:
        return _("since %(begin)s UTC or before, at least %(length)s") % values
    if incident.going_on:
        return _("since %(begin)s UTC, %(length)s") % values
    if incident.before:
        return _("%(begin)s or before, to %(end)s UTC, at least %(length)s") % values
    return _("%(begin)s to %(end)s UTC, %(length)s") % values


def record_text(record: Record) -> str:
    """A record as it can be found in the journal: its name server's id, boot and own clock."""
    boot = _("boot unknown") if record.boot is None else f"boot {record.boot}"
    broker = text.shortened(visible(record.broker), NAME_MAX)
    return " ".join(
        word for word in (record.ns, boot, terms.exact_text(record.ts), record.ev, record.cause, broker) if word
    )


def _edges(incident: Incident) -> tuple[int, int]:
    spans = [span for lane in incident.lanes for span in lane.spans]
    begin = min((span[0] for span in spans), default=incident.t1)
    return begin, max(begin + 1, *(span[1] for span in spans), incident.t2) if spans else max(incident.t2, begin + 1)


def _bar(span: Span, whole: Span, state: str, tip: str, anchor: str = "") -> Bar:
    left, right = (_percent(at, *whole) for at in span)
    return Bar(left, round(right - left, 3), state, tip, anchor)


def _tip(lane: Lane, span: tuple[int, int], state: Shown) -> str:
    return _("%(ns)s: %(state)s, %(begin)s to %(end)s, %(length)s") % {
        "ns": lane.ns, "state": _(STATES[state]), "begin": _clock(span[0]), "end": _clock(span[1]),
        "length": text.microseconds(span[1] - span[0]),
    }  # fmt: skip


def _percent(at: int, begin: int, end: int) -> float:
    return round(100 * (min(max(at, begin), end) - begin) / (end - begin), 3)


def _clock(us: int) -> str:
    return terms.moment(us)[11:]


def _cause(incident: Incident) -> str:
    if incident.kind is Symptom.MISSING_TOPIC:
        return _(UNUSUAL[incident.cause]) if incident.cause in UNUSUAL else ""
    stalled = _("%(names)s did not run at its beginning, or just before.") % {"names": text.names(incident.stalled)}
    clocks = _("Times may be off: the clock of %(names)s is not known for certain.")
    return sentences(
        _("%(cause)s.") % {"cause": text.cause(incident.cause)} if incident.cause else "",
        silent_before(incident),
        said(incident.asked),
        stalled if incident.stalled else "",
        clocks % {"names": text.names(incident.clocks)} if incident.clocks else "",
    )


def _topics(incident: Incident) -> str:
    if not incident.harm.topics or incident.kind is Symptom.MISSING_TOPIC:
        return ""
    values = {"topics": topics(incident.harm), "queues": queues(incident.harm), "names": _sample(incident)}
    return (_("%(topics)s with %(queues)s: %(names)s") if incident.harm.queues else _("%(topics)s: %(names)s")) % values


def _sample(incident: Incident) -> str:
    sample = text.row(text.short(name) for name in incident.harm.sample) or text.NONE
    more = incident.harm.topics - len(incident.harm.sample)
    return _("%(names)s and %(n)s more") % {"names": sample, "n": f"{more:,}"} if more > 0 else sample


def _impact(incident: Incident) -> str:
    if not incident.harm.orphaned and not incident.harm.twice:
        return ""
    return _(
        "Of all queues of these topics, if a group of consumers is spread over the name servers in the worst way: "
        "without a consumer %(orphaned)s, with two or more %(twice)s."
    ) % {"orphaned": f"{incident.harm.orphaned:,}", "twice": f"{incident.harm.twice:,}"}


ROWS_MAX = 60
LABEL_MAX = 120  # characters


@dataclass(frozen=True)
class TimelineRow:
    """A name server, or what incidents are about, with its bars."""

    label: str
    bars: Sequence[Bar]


def timeline(data: ReportInput) -> list[TimelineRow]:
    """The name servers with the times when they were away or not watched, then a row for each broker, name server or
    topic with incidents, those of the worst one first: ROWS_MAX of both."""
    servers = [_row(ns, _away(data, ns), data) for ns in data.name_servers[:ROWS_MAX]]
    subjects: defaultdict[str, list[Bar]] = defaultdict(list)
    for anchor, incident in in_page(data):
        tip = text.visible(title(incident, data.t1))
        bar = _bar((incident.t1, incident.t2), (data.t0, data.t1), incident.level.name.lower(), tip, anchor)
        subjects[_subject(incident)].append(bar)
    rows = [TimelineRow(_label(name), bars) for name, bars in subjects.items()]
    return [*servers, *rows][:ROWS_MAX] if rows else []


def _away(data: ReportInput, ns: str) -> list[Span]:
    """When its state was not known."""
    up = [(int(row["t1"]), int(row["t2"])) for row in data["ns_uptime"].rows if row["ns"] == ns]
    return gaps(up, (data.t0, data.t1))


def _row(ns: str, away: Iterable[Span], data: ReportInput) -> TimelineRow:
    span = _("%(begin)s to %(end)s")
    tips = [(one, span % {"begin": text.moment(one[0]), "end": text.moment(one[1])}) for one in away]
    return TimelineRow(_label(ns), [_bar(one, (data.t0, data.t1), "down", tip) for one, tip in tips])


def _label(name: str) -> str:
    return text.shortened(text.visible(name), LABEL_MAX)


def _subject(incident: Incident) -> str:
    if len(incident.brokers) == 1:
        return incident.brokers[0]
    return incident.topic if incident.harm.misses else ", ".join(incident.ns)
