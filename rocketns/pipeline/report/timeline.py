"""The timeline: the whole observation as bars of name servers and incidents. Each bar of an incident leads to its card,
which shows its time to the second."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rocketns.pipeline.incidents.lanes import Span, gaps
from rocketns.pipeline.incidents.model import Incident
from rocketns.pipeline.report import text
from rocketns.pipeline.report.cards import Bar, in_page
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.words.sentences import title
from rocketns.pipeline.saying import _

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
        bar = _bar((incident.t1, incident.t2), incident.level.name.lower(), tip, data, anchor)
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
    return TimelineRow(_label(ns), [_bar(one, "down", tip, data) for one, tip in tips])


def _bar(span: Span, state: str, tip: str, data: ReportInput, anchor: str = "") -> Bar:
    whole, (t1, t2) = max(1, data.t1 - data.t0), span
    return Bar(round(100 * (t1 - data.t0) / whole, 3), round(100 * (t2 - t1) / whole, 3), state, tip, anchor)


def _label(name: str) -> str:
    return text.shortened(text.visible(name), LABEL_MAX)


def _subject(incident: Incident) -> str:
    if len(incident.brokers) == 1:
        return incident.brokers[0]
    return incident.topic if incident.harm.misses else ", ".join(incident.ns)
