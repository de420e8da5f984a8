"""The journal records that prove an incident, as name server, boot and time by the name server's own clock."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.pipeline.contract.times import SECOND_US
from rocketns.pipeline.incidents.facts import Facts, still_listed
from rocketns.pipeline.incidents.harm import NAME_SERVER
from rocketns.pipeline.incidents.model import Incident, Kind, Record

RECORDS_MAX = 24
BROKERS_MAX = 24


def records(incident: Incident, facts: Facts) -> tuple[Record, ...]:
    """The first records, in the order of time."""
    if incident.kind in NAME_SERVER:
        found = list(_of_server(incident, facts))
    elif incident.kind is Kind.MISSING_TOPIC:
        found = [_record(ns, incident.t2 - 1, "lookup", facts) for ns in incident.ns]
    elif incident.kind in (Kind.STALE_ROUTES, Kind.STALE_PERMISSIONS):
        found = list(_of_windows(incident, facts))
    else:
        found = list(_of_broker(incident, facts))
    return tuple(sorted(set(found), key=lambda one: (one.ts, one.ns, one.broker, one.ev))[:RECORDS_MAX])


def _of_server(incident: Incident, facts: Facts) -> Iterator[Record]:
    for row in facts.boots.get(incident.ns[0], ()):
        if row["t2"] == incident.t1:
            ev = "stop" if row["end_cause"] == "stop" else "last record"
            yield _record(incident.ns[0], incident.t1, ev, facts)
        if incident.t1 <= row["t1"] <= incident.t2:
            yield _record(incident.ns[0], int(row["t1"]), "start", facts)


def _of_windows(incident: Incident, facts: Facts) -> Iterator[Record]:
    for broker in incident.brokers[:BROKERS_MAX]:
        for row in facts.windows.get(broker, ()):
            if row.get("cause") == incident.cause and incident.t1 <= row["t1"] <= incident.t2 and row.get("opened_by"):
                ns = str(row["opened_by"])
                shown = any(value["ns"] == ns and value["present"] for value in row.get("first") or ())
                yield _record(ns, int(row["t1"]), "tput" if shown else "tdel", facts, incident.cause, broker)


def _of_broker(incident: Incident, facts: Facts) -> Iterator[Record]:
    for broker in incident.brokers[:BROKERS_MAX]:
        for row in facts.intervals.get(broker, ()):
            ns = str(row["ns"])
            if incident.kind is Kind.MISSING and ns not in incident.ns:
                continue
            if incident.t1 - SECOND_US <= row["t2"] <= incident.t2 and not still_listed(row["end_cause"]):
                yield _record(ns, int(row["t2"]), "down", facts, str(row["end_cause"]), broker)
            if incident.t1 < row["t1"] <= incident.t2 + SECOND_US:
                yield _record(ns, int(row["t1"]), "reg", facts, "", broker)


def _record(ns: str, at: int, ev: str, facts: Facts, cause: str = "", broker: str = "") -> Record:
    boot = facts.boot_at(ns, at)
    known = None if boot is None or boot.get("boot") is None else int(boot["boot"])
    return Record(ns, known, at + facts.offsets.get(ns, 0), ev, cause, broker)
