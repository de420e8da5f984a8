"""The name servers side by side during an incident: what each showed, in words and over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from rocketns.languages import N_
from rocketns.pipeline.contract.terms import SECOND_US
from rocketns.pipeline.incidents.facts import History
from rocketns.pipeline.incidents.harm import NAME_SERVER
from rocketns.pipeline.incidents.model import Incident, Lane, Said, Shown, Symptom

STATES = {
    Shown.UP: N_("as it should be"),
    Shown.GONE: N_("missing"),
    Shown.DIFFERS: N_("differs"),
    Shown.SHUT: N_("without write permission"),
    Shown.DOWN: N_("name server away or not known"),
    Shown.UNWATCHED: N_("not watched"),
}
WORST = (Shown.GONE, Shown.SHUT, Shown.UNWATCHED, Shown.DOWN)
WRONG = {
    Symptom.STALE_ROUTES: Shown.DIFFERS, Symptom.STALE_PERMISSIONS: Shown.DIFFERS, Symptom.UNWRITABLE: Shown.SHUT
}  # fmt: skip
LANES_MAX = 12
BROKERS_MAX = 64
SPANS_MAX = 400
PAD_MIN_US = 30 * SECOND_US

Span = tuple[int, int]


def around(incident: Incident, facts: History) -> Span:
    """The time of the incident and a quarter of it on both sides, within the observation."""
    pad = max(PAD_MIN_US, (incident.t2 - incident.t1) // 4)
    return max(facts.t0, incident.t1 - pad), min(facts.t1, incident.t2 + pad)


def lanes(incident: Incident, facts: History) -> tuple[Lane, ...]:
    """Of LANES_MAX name servers at most, those concerned first."""
    others = [ns for ns in facts.name_servers if ns not in incident.ns]
    names = sorted([*incident.ns, *others][:LANES_MAX])
    return tuple(_lane(incident, ns, facts) for ns in names)


def _lane(incident: Incident, ns: str, facts: History) -> Lane:
    begin, end = around(incident, facts)
    wrong = _wrong(incident, ns, facts, (begin, end))
    state = WRONG.get(incident.kind, Shown.GONE)
    away = Shown.UNWATCHED if ns in facts.observed else Shown.DOWN
    spans = painted((begin, end), _away(ns, facts, (begin, end)), wrong, state, away)
    return Lane(ns, _says(incident, ns, facts, spans), spans[:SPANS_MAX])


def painted(
    whole: Span, away: Sequence[Span], wrong: Sequence[Span], state: Shown, down: Shown = Shown.DOWN
) -> tuple[tuple[int, int, Shown], ...]:
    """``whole`` cut into stretches: ``down`` where the name server is away, else ``state`` where it is wrong, else
    UP."""
    edges = sorted({edge for span in (whole, *away, *wrong) for edge in span if whole[0] <= edge <= whole[1]})
    stretches: list[tuple[int, int, Shown]] = []
    for a, b in pairwise(edges):
        now = down if _within(a, away) else state if _within(a, wrong) else Shown.UP
        if stretches and stretches[-1][2] is now:
            stretches[-1] = (stretches[-1][0], b, now)
        else:
            stretches.append((a, b, now))
    return tuple(stretches)


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, overlapping ones as one."""
    disjoint: list[Span] = []
    for start, end in sorted(span for span in spans if span[1] > span[0]):
        if disjoint and start <= disjoint[-1][1]:
            disjoint[-1] = (disjoint[-1][0], max(end, disjoint[-1][1]))
        else:
            disjoint.append((start, end))
    return disjoint


def gaps(spans: Iterable[Span], whole: Span) -> list[Span]:
    """What the spans leave of ``whole``."""
    edges = [whole[0], *(edge for span in merged(spans) for edge in span), whole[1]]
    return [(max(a, whole[0]), min(b, whole[1])) for a, b in zip(edges[::2], edges[1::2], strict=True) if b > a]


def _within(at: int, spans: Iterable[Span]) -> bool:
    return any(start <= at < end for start, end in spans)


def _away(ns: str, facts: History, whole: Span) -> list[Span]:
    """When the name server's state is not known. One without any known start may have been up."""
    boots = facts.boots.get(ns)
    return gaps([(int(row["t1"]), int(row["t2"])) for row in boots], whole) if boots else []


def _wrong(incident: Incident, ns: str, facts: History, whole: Span) -> list[Span]:
    mine = [(incident.t1, incident.t2)] if ns in incident.ns else []
    if incident.kind in NAME_SERVER and not incident.brokers:
        return []
    if incident.kind in (Symptom.STALE_ROUTES, Symptom.STALE_PERMISSIONS, Symptom.UNWRITABLE, Symptom.MISSING_TOPIC):
        return mine
    known = [broker for broker in incident.brokers[:BROKERS_MAX] if broker in facts.intervals]
    if not known:
        return mine
    return merged(span for broker in known for span in gaps(_listed(incident, ns, broker, facts), whole))


def _listed(incident: Incident, ns: str, broker: str, facts: History) -> list[Span]:
    ids = set(incident.bids)
    return [
        (int(row["t1"]), int(row["t2"]))
        for row in facts.intervals[broker]
        if row["ns"] == ns and (not ids or row.get("bid") in ids)
    ]


def _says(incident: Incident, ns: str, facts: History, spans: Sequence[tuple[int, int, Shown]]) -> Said:
    if incident.kind in (Symptom.STALE_ROUTES, Symptom.STALE_PERMISSIONS):
        return _view(incident, ns)
    states = {state for a, b, state in spans if a < incident.t2 and b > incident.t1}
    if Shown.GONE in states and len(incident.brokers) > 1:
        end = incident.t1 + incident.away_us if incident.kind in NAME_SERVER else incident.t2
        then = incident.t2 - 1 if incident.going_on else (incident.t1 + end) // 2
        count = sum(not facts.lists(ns, broker, then) for broker in incident.brokers)
        return N_("lacks %(n)s of %(all)s"), {"n": count, "all": len(incident.brokers)}
    return STATES[next((state for state in WORST if state in states), Shown.UP)], {}


def _view(incident: Incident, ns: str) -> Said:
    """The values of the topic that the incident names, of its first window otherwise."""
    shown = sorted(incident.windows, key=lambda row: (row["topic"] != incident.topic, not row["followed"]))
    if not shown:
        return STATES[Shown.DIFFERS if ns in incident.ns else Shown.UP], {}
    value = next((value for value in shown[0].get("values") or () if value["ns"] == ns), None)
    if value is None or not value["present"]:
        return (N_("not compared") if value is None else N_("no route")), {}
    permission = ("r" if value["p"] & 4 else "-") + ("w" if value["p"] & 2 else "-")
    return N_("%(read)s read, %(write)s write, %(permission)s"), {
        "read": value["r"], "write": value["w"], "permission": permission,
    }  # fmt: skip
