"""Incidents in which name servers disagree: rows of DIVERGENCES, put together over brokers.

A name server that is cut off loses its brokers one after another, each at its own timeout. That is one incident.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from rocketns.pipeline.contract.frames import Row
from rocketns.pipeline.contract.terms import FAILURES, NOTICED_LATE, OBSERVED, SECOND_US, WATCHED
from rocketns.pipeline.incidents.facts import History
from rocketns.pipeline.incidents.harm import harm_of_rows, to_ask_about
from rocketns.pipeline.incidents.model import DELETED, Incident, MadeFrom, Symptom

# Counted from the first row of an incident. An expiry comes up to a heartbeat and a scan after that of another broker.
TOGETHER_US = 10 * SECOND_US
EXPIRIES_TOGETHER_US = 45 * SECOND_US
SAMPLE_MAX, WINDOWS_MAX = 5, 200
# The broker went from the name server, or never came; other causes change single topics of a listed broker.
BROKER_WENT = (*FAILURES, *OBSERVED, "unregister", "conflict", "start", "snapshot", WATCHED)

Signature = tuple[Symptom, str, tuple[str, ...], bool]


def disagreements(rows: Iterable[Row], facts: History) -> list[Incident]:
    """Incidents from rows of DIVERGENCES."""
    parts = [part for row in rows for part in _parts(row, facts)]
    return [_incident(signature, group, facts) for signature, group in _together(parts, facts)]


def _parts(row: Row, facts: History) -> list[Row]:
    """A row about single topics of a listed broker, cut so that everything in it is true of each of its topics: apart
    are user topics, and topics whose windows end at another time. They have their own ``parts``, key windows."""
    windows = [*_windows(row, facts)]
    if kind_of(row, facts) is Symptom.MISSING or not windows or not facts.whole("key_windows"):
        return [row]
    groups: list[list[Row]] = []
    of_users = [facts.is_user(str(window["topic"])) for window in windows]
    for is_user, window in sorted(zip(of_users, windows, strict=True), key=lambda one: (one[0], int(one[1]["t2"]))):
        last = groups[-1][-1] if groups else None
        if last is None or facts.is_user(str(last["topic"])) is not is_user or window["t2"] - last["t2"] > TOGETHER_US:
            groups.append([])
        groups[-1].append(window)
    return [row] if len(groups) == 1 else [_part(row, group, facts) for group in groups]


def _part(row: Row, windows: Sequence[Row], facts: History) -> Row:
    topics = sorted({str(window["topic"]) for window in windows})
    users = [topic for topic in topics if facts.is_user(topic)]
    t1, t2 = min(int(window["t1"]) for window in windows), max(int(window["t2"]) for window in windows)
    absent = {str(v["ns"]) for window in windows for v in window["first"] or () if not v["present"]}
    return {
        **row, "t1": t1, "t2": t2, "windows": len(windows), "topics": len(topics), "user_topics": len(users),
        "topic_sample": users[:SAMPLE_MAX], "queues": sum(_hidden(window) for window in windows) if users else 0,
        "ns_without": sorted(absent), "opened_by": sorted({str(window["opened_by"]) for window in windows}),
        "longest": max(int(window["t2"] - window["t1"]) for window in windows), "parts": list(windows),
        "users": tuple(users),
    }  # fmt: skip


def _hidden(window: Row) -> int:
    """How many read queues one name server showed and another did not, as in DIVERGENCES."""
    shown = [int(v.get("r") or 0) if v["present"] else 0 for v in window["first"] or ()]
    return max(shown, default=0) - min(shown, default=0)


def kind_of(row: Row, facts: History) -> Symptom:
    """MISSING, STALE_ROUTES or STALE_PERMISSIONS."""
    without = without_route(row, facts)
    if not without:
        return Symptom.STALE_PERMISSIONS if _only_permissions(row, facts) else Symptom.STALE_ROUTES
    if str(row["broker"]) in facts.intervals:
        return Symptom.MISSING if missing_at(row, facts) else Symptom.STALE_ROUTES
    return Symptom.MISSING if row.get("cause") in BROKER_WENT else Symptom.STALE_ROUTES


def missing_at(row: Row, facts: History) -> tuple[str, ...]:
    """The name servers without the route that did not list the broker in the middle of the longest window."""
    broker, then = str(row["broker"]), int(row["t1"]) + int(row.get("longest") or row["t2"] - row["t1"]) // 2
    known = broker in facts.intervals
    return tuple(ns for ns in without_route(row, facts) if not (known and facts.lists(ns, broker, then)))


def without_route(row: Row, facts: History) -> tuple[str, ...]:
    """The name servers that lacked the broker for most of a window; as the windows began if that is not known."""
    windows = [window for window in windows_of(row, facts) if window["followed"]]
    if not windows:
        return tuple(row.get("ns_without") or ())
    return tuple(sorted({v["ns"] for window in windows for v in window["values"] if not v["present"]}))


def windows_of(row: Row, facts: History) -> list[Row]:
    """The key windows of a row of DIVERGENCES, as far as they are here; if some were followed, only these."""
    found = [*_windows(row, facts)]
    return [window for window in found if window["followed"]] or found


def _windows(row: Row, facts: History) -> Sequence[Row]:
    if "parts" in row:
        parts: Sequence[Row] = row["parts"]
        return parts
    return [
        window
        for window in facts.windows.get(str(row["broker"]), ())
        if window.get("cause") == row.get("cause") and row["t1"] <= window["t1"] < row["t2"]
    ]


def _change(windows: Sequence[Row]) -> str:
    """DELETED if each window began when a name server stopped to show the topic that others showed."""

    def went(window: Row) -> bool:
        shown = {str(value["ns"]): bool(value["present"]) for value in window["first"] or ()}
        return shown.get(str(window.get("opened_by"))) is False and any(shown.values())

    return DELETED if windows and all(map(went, windows)) else ""


def minority_servers(windows: Iterable[Row]) -> tuple[str, ...]:
    """The name servers whose view most of the others do not share; all of them if no view has a majority."""
    votes: Counter[str] = Counter()
    everyone: set[str] = set()
    for window in windows:
        groups: defaultdict[tuple[object, ...], list[str]] = defaultdict(list)
        for value in window.get("values") or ():
            groups[value["present"], value.get("r"), value.get("w"), value.get("p")].append(str(value["ns"]))
        sizes = sorted((len(names) for names in groups.values()), reverse=True)
        everyone |= {ns for names in groups.values() for ns in names}
        if len(sizes) > 1 and sizes[0] > sizes[1]:
            votes.update(ns for names in groups.values() if len(names) < sizes[0] for ns in names)
    return tuple(sorted(votes or everyone))


def _only_permissions(row: Row, facts: History) -> bool:
    windows = windows_of(row, facts)
    if not windows:
        return row.get("cause") == "perm"
    return all(
        len({(value.get("r"), value.get("w")) for value in window.get("values") or ()}) == 1 for window in windows
    )


def _together(rows: Iterable[Row], facts: History) -> list[tuple[Signature, list[Row]]]:
    groups: list[tuple[Signature, list[Row]]] = []
    of_signature: defaultdict[Signature, list[list[Row]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (int(row["t1"]), str(row["broker"]))):
        signature = _signature(row, facts)
        group = next((group for group in of_signature[signature] if _joins(row, group[0], signature)), None)
        if group is None:
            group = []
            of_signature[signature].append(group)
            groups.append((signature, group))
        group.append(row)
    return groups


def _joins(row: Row, first: Row, signature: Signature) -> bool:
    """Whether it began with the first row of an incident; if single topics differ, also whether it ended with it."""
    near = EXPIRIES_TOGETHER_US if signature[1] in NOTICED_LATE else TOGETHER_US
    if row["t1"] - first["t1"] > near:
        return False
    same_users = bool(row.get("user_topics", True)) is bool(first.get("user_topics", True))
    return signature[0] is Symptom.MISSING or (same_users and abs(row["t2"] - first["t2"]) <= TOGETHER_US)


def _signature(row: Row, facts: History) -> Signature:
    kind = kind_of(row, facts)
    ns = missing_at(row, facts) if kind is Symptom.MISSING else minority_servers(windows_of(row, facts))
    return kind, str(row.get("cause") or ""), ns or tuple(row.get("opened_by") or ()), row["t2"] >= facts.t1


def made_from(rows: Iterable[Row]) -> tuple[MadeFrom, ...]:
    """The rows of DIVERGENCES, or their parts, as an incident names them."""
    return tuple(
        MadeFrom(str(row["broker"]), row.get("cause"), int(row["t1"]), int(row["t2"]), row.get("users")) for row in rows
    )


def _incident(signature: Signature, group: Sequence[Row], facts: History) -> Incident:
    kind, cause, ns, going_on = signature
    brokers = tuple(sorted({str(row["broker"]) for row in group}))
    t1, t2 = min(int(row["t1"]) for row in group), max(int(row["t2"]) for row in group)
    harm = harm_of_rows(group, facts)
    windows = tuple(window for row in group for window in _windows(row, facts))
    return Incident(
        kind, max(t1, facts.t0), min(t2, facts.t1), going_on, ns=ns, brokers=brokers, cause=cause,
        silent_ms=max((int(row["gap_max"]) for row in group if row.get("gap_max") is not None), default=None),
        stalled=tuple(sorted({str(ns) for row in group for ns in row.get("stalled") or ()})),
        t1_early=max(int(row.get("t1_early") or 0) for row in group if row["t1"] == t1) if t1 >= facts.t0 else 0,
        t2_early=max(int(row.get("t2_early") or 0) for row in group if row["t2"] == t2) if t2 <= facts.t1 else 0,
        asked=facts.asked(brokers, ns, t1 - TOGETHER_US, t1 + EXPIRIES_TOGETHER_US),
        topic=to_ask_about(harm.sample), harm=harm, away_us=min(t2, facts.t1) - max(t1, facts.t0),
        rows=made_from(group), windows=windows[:WINDOWS_MAX],
        change=_change(windows) if kind is Symptom.STALE_ROUTES else "",
    )  # fmt: skip
