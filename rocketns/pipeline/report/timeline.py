"""The timeline: an overview of the whole observation as bars, and everything in it as data for the page's script, which
shows any part of it in detail, to the second."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rocketns.languages import N_
from rocketns.pipeline.incidents.model import Incident
from rocketns.pipeline.report import text
from rocketns.pipeline.report.cards import Bar, BrokerRow, Span, broker_rows, down_spans, in_page, is_watched, merged
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.text import sentences, visible
from rocketns.pipeline.report.words.sentences import title
from rocketns.pipeline.saying import _

NAME_SERVERS_MAX = 12
ROWS_MAX = 400  # of one name server
LABEL_MAX = 120  # characters
SPANS_MAX = 400  # of one row; closer ones are joined


@dataclass(frozen=True)
class OverviewLane:
    """A row of the overview."""

    label: str
    bars: Sequence[Bar]


@dataclass(frozen=True)
class Timeline:
    """``data``: t0 and t1 in ms, and groups of rows, each with spans [from, to, state, tip, anchor], ms since t0."""

    lanes: Sequence[OverviewLane]
    begins: str
    ends: str
    data: Mapping[str, Any]
    remarks: Sequence[str]


def timeline(data: ReportInput, servers: Sequence[str]) -> Timeline:
    """The timeline of the first NAME_SERVERS_MAX name servers and of all incidents."""
    shown = servers[:NAME_SERVERS_MAX]
    lanes = [_lane(_("incidents"), [(incident.t1, incident.t2) for incident in data.incidents], "gone", data)]
    lanes += [_lane(ns, down_spans(data, ns), "down", data) for ns in shown]
    groups = [_incidents(data), *(_server(data, ns) for ns in shown)]
    chart = {"t0": data.t0 // 1000, "t1": data.t1 // 1000, "groups": groups}
    return Timeline(lanes, text.moment(data.t0), text.moment(data.t1), chart, list(_remarks(data, len(servers))))


def _remarks(data: ReportInput, servers: int) -> Iterator[str]:
    more, intervals = servers - NAME_SERVERS_MAX, data["broker_intervals"]
    if more > 0:
        said = _.plural("%(n)s more name server is not drawn.", "%(n)s more name servers are not drawn.", more)
        yield said % {"n": f"{more:,}"}
    if not intervals.is_whole:
        said = _("Drawn from a part of all broker intervals; the whole table is in %(path)s.")
        yield said % {"path": intervals.path}


def _lane(label: str, spans: Iterable[Span], state: str, data: ReportInput) -> OverviewLane:
    whole = max(1, data.t1 - data.t0)
    bars = [
        Bar(
            round(100 * (a - data.t0) / whole, 3),
            round(100 * (b - a) / whole, 3),
            state,
            _("%(begin)s to %(end)s") % {"begin": text.moment(a), "end": text.moment(b)},
        )
        for a, b in merged(spans, data.t0, data.t1)
    ]
    return OverviewLane(label, bars)


def _incidents(data: ReportInput) -> dict[str, Any]:
    """A row for each broker, name server or topic, those of the worst incident first."""
    rows: defaultdict[str, list[list[Any]]] = defaultdict(list)
    anchors = [anchor for anchor, _ in in_page(data)]
    anchors += [""] * (len(data.incidents) - len(anchors))
    for anchor, incident in zip(anchors, data.incidents, strict=True):
        words = [incident.level.name.lower(), visible(title(incident, data.t1)), anchor]
        rows[_subject(incident)].append([*_ms((incident.t1, incident.t2), data), *words])
    named = [{"label": _label(label), "spans": spans} for label, spans in rows.items()]
    return {"name": _("all incidents"), "rows": named, "steady": ""}


def _label(name: str) -> str:
    return text.shortened(visible(name), LABEL_MAX)


def _subject(incident: Incident) -> str:
    if len(incident.brokers) == 1:
        return incident.brokers[0]
    return incident.topic if incident.harm.misses else ", ".join(incident.ns)


def _server(data: ReportInput, ns: str) -> dict[str, Any]:
    """Rows of the brokers that were not always listed. Time without a span means that the broker was listed."""
    known = broker_rows(data, ns)
    rows = [row for row in known if row.failed or row.down or row.unseen or row.differ or _late(row, data)]
    watched = is_watched(data, ns)
    state, words = ("unwatched", _("not watched")) if watched else ("down", _("name server away or not known"))
    away = [_labelled(span, state, words, data) for span in down_spans(data, ns)]
    shown = [{"label": _label(row.label), "spans": _spans(row, data)} for row in rows[:ROWS_MAX]]
    steady, more = len(known) - len(rows), max(0, len(rows) - ROWS_MAX)
    itself = {"label": _("the name server itself"), "spans": away}
    return {"name": visible(ns), "rows": [itself, *shown], "steady": sentences(_steady(steady), _not_drawn(more))}


def _steady(n: int) -> str:
    said = _.plural("%(n)s broker was listed all the time.", "%(n)s brokers were listed all the time.", n)
    return said % {"n": f"{n:,}"} if n else ""


def _not_drawn(n: int) -> str:
    said = _.plural("%(n)s more broker is not drawn.", "%(n)s more brokers are not drawn.", n)
    return said % {"n": f"{n:,}"} if n else ""


def _late(row: BrokerRow, data: ReportInput) -> bool:
    return bool(row.up) and row.up[0][0] > data.t0


def _spans(row: BrokerRow, data: ReportInput) -> list[list[Any]]:
    before = [(data.t0, row.up[0][0])] if _late(row, data) else []
    kinds = (
        (row.differ, "differs", N_("name servers disagree about its topics")),
        (row.failed, "gone", N_("gone after a failure")),
        (row.down, "left", N_("gone without a failure")),
        (row.unseen, "unseen", N_("gone, cause not visible from outside")),
        (before, "left", N_("not registered yet")),
    )
    found = [_labelled(span, state, _(words), data) for spans, state, words in kinds for span in _bounded(spans, data)]
    return sorted(found, key=lambda span: int(span[0]))


def _bounded(spans: Sequence[Span], data: ReportInput) -> Sequence[Span]:
    """The spans as they are, unless there are very many."""
    return spans if len(spans) <= SPANS_MAX else merged(spans, data.t0, data.t1, SPANS_MAX)


def _labelled(span: Span, state: str, words: str, data: ReportInput) -> list[Any]:
    return [*_ms(span, data), state, words, ""]


def _ms(span: Span, data: ReportInput) -> tuple[int, int]:
    start, end = max(span[0], data.t0), min(span[1], data.t1)
    return (start - data.t0) // 1000, (end - data.t0) // 1000
