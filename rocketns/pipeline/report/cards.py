"""Incidents as cards: texts and places in per cent, ready for the template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from rocketns.pipeline.contract import times
from rocketns.pipeline.incidents.model import Incident, Kind, Lane, Record, State
from rocketns.pipeline.report import text
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.scripts import visible
from rocketns.pipeline.report.spans import Bar
from rocketns.pipeline.report.text import plural
from rocketns.pipeline.report.words.advice import first, silent_before
from rocketns.pipeline.report.words.harms import whom
from rocketns.pipeline.report.words.names import LEVELS, NAMES, identities, queues, topics
from rocketns.pipeline.report.words.shell import command
from rocketns.pipeline.report.words.titles import title

CARDS_MAX = 1_000  # the rest is in incidents.jsonl
OPEN_AT_FIRST = 3
RECORDS_SHOWN = 8
NAME_MAX = 120  # characters of a broker's name in a record
STATES = {
    State.UP: "as it should be",
    State.GONE: "missing",
    State.DIFFERS: "differs",
    State.DOWN: "name server away or not known",
}


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
    return [_card(name, one, data, place) for place, (name, one) in enumerate(in_page(data))]


def in_page(data: ReportInput) -> list[tuple[str, Incident]]:
    """The incidents that have a card, each with its anchor."""
    return list(islice(zip(identities(data.incidents), data.incidents, strict=True), CARDS_MAX))


def _card(identity: str, one: Incident, data: ReportInput, place: int) -> Card:
    begin, end = _edges(one)
    lanes = [_lane(lane, one, begin, end) for lane in one.lanes]
    states = sorted({span[2] for lane in one.lanes for span in lane.spans}, key=list(State).index)
    return Card(
        identity, NAMES[one.kind], one.kind.value, one.level.name.lower(), LEVELS[one.level], one.going_on,
        place == 0 or (place < OPEN_AT_FIRST and one.going_on), title(one, data.t1), (*one.brokers, *one.ns, one.topic),
        when(one), whom(one), first(one),
        command(one, data.options), _cause(one), _topics(one), _impact(one), lanes,
        (_percent(one.t1, begin, end), _percent(one.t2, begin, end)), _clock(one.t1),
        "still" if one.going_on else _clock(one.t2), [(state.value, STATES[state]) for state in states],
        [record_text(record) for record in one.records[:RECORDS_SHOWN]],
        max(0, len(one.records) - RECORDS_SHOWN),
    )  # fmt: skip


def when(one: Incident) -> str:
    """The exact time in UTC, and how long it lasted."""
    length = f"{'at least ' if one.before else ''}{text.microseconds(one.lasted_us)}"
    if one.going_on:
        return f"since {times.moment(one.t1)} UTC{' or before' if one.before else ''}, {length}"
    return f"{times.moment(one.t1)}{' or before,' if one.before else ''} to {times.moment(one.t2)} UTC, {length}"


def record_text(record: Record) -> str:
    """A record as it can be found in the journal: its name server's id, boot and own clock."""
    boot = "boot unknown" if record.boot is None else f"boot {record.boot}"
    broker = text.shortened(visible(record.broker), NAME_MAX)
    return " ".join(
        word for word in (record.ns, boot, times.exact_text(record.ts), record.ev, record.cause, broker) if word
    )


def _edges(one: Incident) -> tuple[int, int]:
    spans = [span for lane in one.lanes for span in lane.spans]
    begin = min((span[0] for span in spans), default=one.t1)
    return begin, max(begin + 1, *(span[1] for span in spans), one.t2) if spans else max(one.t2, begin + 1)


def _lane(lane: Lane, one: Incident, begin: int, end: int) -> LaneView:
    bars = [
        Bar(
            _percent(a, begin, end),
            round(_percent(b, begin, end) - _percent(a, begin, end), 2),
            state.value,
            f"{lane.ns}: {STATES[state]}, {_clock(a)} to {_clock(b)}, {text.microseconds(b - a)}",
        )
        for a, b, state in lane.spans
    ]
    return LaneView(lane.ns, lane.says, lane.ns in one.ns, bars)


def _percent(at: int, begin: int, end: int) -> float:
    return round(100 * (min(max(at, begin), end) - begin) / (end - begin), 2)


def _clock(us: int) -> str:
    return times.moment(us)[11:]


def _cause(one: Incident) -> str:
    if one.kind is Kind.MISSING_TOPIC:
        return {"new": "no lookup of it was usual before", "anomaly": "more lookups than usual"}.get(one.cause, "")
    stalled = f"{text.names(one.stalled)} did not run at its beginning, or just before." if one.stalled else ""
    clocks = f"Times may be off: the clock of {text.names(one.clocks)} is not known for certain." if one.clocks else ""
    words = (f"{text.cause(one.cause)}." if one.cause else "", silent_before(one), stalled, clocks)
    return " ".join(word for word in words if word)


def _topics(one: Incident) -> str:
    if not one.harm.topics or one.kind is Kind.MISSING_TOPIC:
        return ""
    sample = [text.short(name) for name in one.harm.sample]
    more = one.harm.topics - len(sample)
    named = ", ".join(sample) + (f" and {more:,} more" if more > 0 and sample else "")
    held = f" with {queues(one.harm)}" if one.harm.queues else ""
    return f"{topics(one.harm)}{held}{': ' if named else ''}{named}"


def _impact(one: Incident) -> str:
    if not one.harm.orphaned and not one.harm.twice:
        return ""
    none, two = one.harm.orphaned, one.harm.twice
    parts = [f"{plural(none, 'queue')} {'is' if none == 1 else 'are'} read by nobody"] if none else []
    parts += [f"{plural(two, 'queue')} {'is' if two == 1 else 'are'} read by two consumers or more"] if two else []
    return (
        "Of all queues of these topics, if a group of consumers is spread over the name servers in the worst way: "
        f"{', and '.join(parts)}."
    )
