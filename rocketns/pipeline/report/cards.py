"""Incidents as cards: texts and places in per cent, ready for the template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from rocketns.languages import N_
from rocketns.pipeline.contract import times
from rocketns.pipeline.incidents.model import Incident, Kind, Lane, Record, State
from rocketns.pipeline.report import text
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.text import sentences, visible
from rocketns.pipeline.report.words.names import LEVELS, NAMES, command, identities, queues, topics
from rocketns.pipeline.report.words.sentences import first, silent_before, title, whom
from rocketns.pipeline.report.words.sources import begun_and_ended, said
from rocketns.pipeline.saying import _, shown

CARDS_MAX = 1_000  # the rest is in incidents.jsonl
OPEN_AT_FIRST = 3
RECORDS_SHOWN = 8
NAME_MAX = 120  # characters of a broker's name in a record
STATES = {
    State.UP: N_("as it should be"),
    State.GONE: N_("missing"),
    State.DIFFERS: N_("differs"),
    State.DOWN: N_("name server away or not known"),
    State.UNWATCHED: N_("not watched"),
}
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


@dataclass(frozen=True)
class LaneView:
    """One name server side by side with the others."""

    ns: str
    says: str
    concerned: bool
    bars: Sequence[Bar]


@dataclass(frozen=True)
class Card:
    """One incident. ``marks``: the places of its beginning and end; ``legend``: the states that its lanes have."""

    identity: str
    kind: str
    code: str
    level: str
    level_name: str
    going_on: bool
    open: bool
    title: str
    names: Sequence[str]
    when: str
    whom: str
    first: str
    command: str
    cause: str
    topics: str
    impact: str
    lanes: Sequence[LaneView]
    marks: tuple[float, float]
    begins: str
    ends: str
    legend: Sequence[tuple[str, str]]
    records: Sequence[str]
    more_records: int


def cards(data: ReportInput) -> list[Card]:
    """The worst CARDS_MAX incidents. The first one is open, and a few more if they go on."""
    return [_card(name, incident, data, place) for place, (name, incident) in enumerate(in_page(data))]


def in_page(data: ReportInput) -> list[tuple[str, Incident]]:
    """The incidents that have a card, each with its anchor."""
    return list(islice(zip(identities(data.incidents), data.incidents, strict=True), CARDS_MAX))


def _card(identity: str, incident: Incident, data: ReportInput, place: int) -> Card:
    begin, end = _edges(incident)
    lanes = [_lane(lane, incident, begin, end) for lane in incident.lanes]
    states = sorted({span[2] for lane in incident.lanes for span in lane.spans}, key=list(State).index)
    return Card(
        identity, _(NAMES[incident.kind]), incident.kind.value, incident.level.name.lower(), _(LEVELS[incident.level]),
        incident.going_on, place == 0 or (place < OPEN_AT_FIRST and incident.going_on), title(incident, data.t1),
        (*incident.brokers, *incident.ns, incident.topic), when(incident), whom(incident), first(incident),
        command(incident, data.options), _cause(incident), _topics(incident), _impact(incident), lanes,
        (_percent(incident.t1, begin, end), _percent(incident.t2, begin, end)), _clock(incident.t1),
        _("still") if incident.going_on else _clock(incident.t2), [(state.value, _(STATES[state])) for state in states],
        [record_text(record) for record in incident.records[:RECORDS_SHOWN]],
        max(0, len(incident.records) - RECORDS_SHOWN),
    )  # fmt: skip


def when(incident: Incident) -> str:
    """The exact time in UTC, and how long it lasted; of what was seen from outside also between which moments."""
    seen = begun_and_ended(incident)
    if not seen:
        return _when(incident)
    return _("%(when)s; seen from outside: %(seen)s") % {"when": _when(incident), "seen": seen}


def _when(incident: Incident) -> str:
    values = {
        "begin": times.moment(incident.t1), "end": times.moment(incident.t2),
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
        word for word in (record.ns, boot, times.exact_text(record.ts), record.ev, record.cause, broker) if word
    )


def _edges(incident: Incident) -> tuple[int, int]:
    spans = [span for lane in incident.lanes for span in lane.spans]
    begin = min((span[0] for span in spans), default=incident.t1)
    return begin, max(begin + 1, *(span[1] for span in spans), incident.t2) if spans else max(incident.t2, begin + 1)


def _lane(lane: Lane, incident: Incident, begin: int, end: int) -> LaneView:
    bars = [
        Bar(
            _percent(a, begin, end),
            round(_percent(b, begin, end) - _percent(a, begin, end), 2),
            state.value,
            _tip(lane, (a, b), state),
        )
        for a, b, state in lane.spans
    ]
    return LaneView(lane.ns, shown(lane.says), lane.ns in incident.ns, bars)


def _tip(lane: Lane, span: tuple[int, int], state: State) -> str:
    return _("%(ns)s: %(state)s, %(begin)s to %(end)s, %(length)s") % {
        "ns": lane.ns, "state": _(STATES[state]), "begin": _clock(span[0]), "end": _clock(span[1]),
        "length": text.microseconds(span[1] - span[0]),
    }  # fmt: skip


def _percent(at: int, begin: int, end: int) -> float:
    return round(100 * (min(max(at, begin), end) - begin) / (end - begin), 2)


def _clock(us: int) -> str:
    return times.moment(us)[11:]


def _cause(incident: Incident) -> str:
    if incident.kind is Kind.MISSING_TOPIC:
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
    if not incident.harm.topics or incident.kind is Kind.MISSING_TOPIC:
        return ""
    values = {"topics": topics(incident.harm), "queues": queues(incident.harm), "names": _sample(incident)}
    if incident.harm.queues and incident.harm.sample:
        return _("%(topics)s with %(queues)s: %(names)s") % values
    if incident.harm.queues:
        return _("%(topics)s with %(queues)s") % values
    return _("%(topics)s: %(names)s") % values if incident.harm.sample else values["topics"]


def _sample(incident: Incident) -> str:
    sample = text.row(text.short(name) for name in incident.harm.sample)
    more = incident.harm.topics - len(incident.harm.sample)
    return _("%(names)s and %(n)s more") % {"names": sample, "n": f"{more:,}"} if more > 0 else sample


def _impact(incident: Incident) -> str:
    if not incident.harm.orphaned and not incident.harm.twice:
        return ""
    none, two = incident.harm.orphaned, incident.harm.twice
    unread = _.plural("%(n)s queue is read by nobody", "%(n)s queues are read by nobody", none) % {"n": f"{none:,}"}
    twice = _.plural(
        "%(n)s queue is read by two consumers or more", "%(n)s queues are read by two consumers or more", two
    ) % {"n": f"{two:,}"}
    both = _("%(unread)s, and %(twice)s") % {"unread": unread, "twice": twice}
    return _(
        "Of all queues of these topics, if a group of consumers is spread over the name servers in the worst way: "
        "%(loss)s."
    ) % {"loss": both if none and two else unread if none else twice}
