"""The journal records that prove an incident, as name server, boot and time by the name server's own clock.

Only records that the tables show to be in the journal are named. State may begin without one: at the beginning of the
observation, or where the first snapshot after lost records shows it. A missing topic has none, since its lookups are
known by the hour.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.pipeline.contract.frames import Row
from rocketns.pipeline.contract.terms import HOUR_US, LOST_RECORDS, NAME_SERVER_ENDED, SECOND_US, STILL_OPEN
from rocketns.pipeline.incidents.facts import History, still_listed
from rocketns.pipeline.incidents.harm import NAME_SERVER
from rocketns.pipeline.incidents.model import Incident, Record, Symptom

RECORDS_MAX = 24
BROKERS_MAX = 24
FOUND, STARTED = "snapshot", "start"  # causes: what a snapshot showed after lost records; an empty table
NO_RECORD = (LOST_RECORDS, STILL_OPEN, *(cause for cause in NAME_SERVER_ENDED if cause != STARTED))
# Until the next snapshot, which is written once an hour, a member may be listed without a registration in the journal.
MENDED_US = 2 * HOUR_US


def records(incident: Incident, facts: History) -> tuple[Record, ...]:
    """The first records, in the order of time."""
    if incident.kind in NAME_SERVER:
        proof = list(_of_server(incident, facts))
    elif incident.kind in (Symptom.MISSING_TOPIC, Symptom.UNWRITABLE):
        proof = []
    elif incident.kind in (Symptom.STALE_ROUTES, Symptom.STALE_PERMISSIONS):
        proof = list(_of_windows(incident, facts))
    else:
        proof = list(_of_broker(incident, facts))
    return tuple(sorted(set(proof), key=lambda one: (one.ts, one.ns, one.broker, one.ev))[:RECORDS_MAX])


def _of_server(incident: Incident, facts: History) -> Iterator[Record]:
    for boot in facts.boots.get(incident.ns[0], ()):
        if boot["t2"] == incident.t1:
            yield _record(boot, incident.t1, "stop" if boot["end_cause"] == "stop" else "last record", facts)
        if incident.t1 <= boot["t1"] <= incident.t2:
            yield _record(boot, int(boot["t1"]), _first(boot, facts), facts)


def _of_windows(incident: Incident, facts: History) -> Iterator[Record]:
    for window in incident.windows:
        yield from _opening(window, str(window["broker"]), facts)


def _opening(window: Row, broker: str, facts: History) -> Iterator[Record]:
    """What opened a window, if it is a record."""
    ns, at, cause = str(window.get("opened_by") or ""), int(window["t1"]), str(window.get("cause") or "")
    boot = facts.boot_from(ns, at)
    if boot is None or at <= facts.t0 or cause in NO_RECORD:
        return
    if cause == STARTED or (at == boot["t1"] and _first(boot, facts) == "snap"):
        yield _record(boot, at, _first(boot, facts), facts)
    elif cause == FOUND:
        yield _record(boot, at, "snap", facts, "", broker)
    else:
        shown = any(value["ns"] == ns and value["present"] for value in window.get("first") or ())
        yield _record(boot, at, "tput" if shown else "tdel", facts, cause, broker)


def _of_broker(incident: Incident, facts: History) -> Iterator[Record]:
    for broker in incident.brokers[:BROKERS_MAX]:
        for row in facts.intervals.get(broker, ()):
            if incident.kind in (Symptom.MISSING, Symptom.EMPTIED) and row["ns"] not in incident.ns:
                continue
            if incident.t1 - SECOND_US <= row["t2"] <= incident.t2 and not still_listed(row["end_cause"]):
                yield from _gone(row, broker, facts)
            if incident.t1 < row["t1"] <= incident.t2 + SECOND_US:
                yield from _listed(row, broker, facts)


def _gone(interval: Row, broker: str, facts: History) -> Iterator[Record]:
    at, cause = int(interval["t2"]), str(interval["end_cause"])
    if boot := facts.boot_at(str(interval["ns"]), at):
        found = ("snap", "") if cause == FOUND else ("down", cause)
        yield _record(boot, at, found[0], facts, found[1], broker)


def _listed(interval: Row, broker: str, facts: History) -> Iterator[Record]:
    at = int(interval["t1"])
    boot = facts.boot_from(str(interval["ns"]), at)
    if boot is None or at <= facts.t0 or _may_be_found(boot, at, facts):
        return
    found = at == boot["t1"] and _first(boot, facts) == "snap"
    yield _record(boot, at, "snap" if found else "reg", facts, "", broker)


def _may_be_found(boot: Row, at: int, facts: History) -> bool:
    """Whether records that may have held the registration were lost shortly before."""
    holes = (row for row in facts.missing_of(boot) if row["kind"] == "hole")
    return any(row["t1"] <= at <= row["t2"] + MENDED_US for row in holes)


def _first(boot: Row, facts: History) -> str:
    """The record from which on a name server's state is known: of a restart with routes, a snapshot."""
    late = any(row["kind"] == "unknown" and row["t2"] == boot["t1"] for row in facts.missing_of(boot))
    return "snap" if late else "start"


def _record(boot: Row, at: int, ev: str, facts: History, cause: str = "", broker: str = "") -> Record:
    known, ns = boot.get("boot"), str(boot["ns"])
    return Record(ns, None if known is None else int(known), facts.by_own_clock(ns, at), ev, cause, broker)
