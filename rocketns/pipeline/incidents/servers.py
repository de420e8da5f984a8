"""Incidents of name servers themselves: stops, kills, restarts, silence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rocketns.pipeline.contract.tables import Row
from rocketns.pipeline.contract.times import HOUR_US
from rocketns.pipeline.incidents.facts import Facts
from rocketns.pipeline.incidents.model import Harm, Incident, Kind


def outages(facts: Facts) -> list[Incident]:
    """The outages of each name server: from an end to the next start, and a last end without a start. While nobody
    watches a name server from outside, it is not known to be away."""
    return [found for ns, boots in sorted(facts.boots.items()) for found in _outages(ns, boots, facts)]


def _outages(ns: str, boots: Sequence[Row], facts: Facts) -> Iterator[Incident]:
    for before, after in pairwise(boots):
        if before.get("observed") or after.get("observed"):
            continue
        kind = Kind.KILLED if before["end_cause"] == "lost" else Kind.RESTARTED
        back = int(after["t1"])
        yield _outage(kind, ns, min(int(before["t2"]), back), back, False)  # the clock may have been set back
    last = boots[-1]
    kind_of_end = {"stop": Kind.STOPPED, "silent": Kind.SILENT}.get(str(last["end_cause"]))
    if kind_of_end and last["t2"] < facts.t1:
        yield _outage(kind_of_end, ns, int(last["t2"]), facts.t1, True)


def _outage(kind: Kind, ns: str, t1: int, t2: int, going_on: bool) -> Incident:
    return Incident(kind, t1, t2, going_on, ns=(ns,), away_us=t2 - t1)


def missing_topics(facts: Facts) -> list[Incident]:
    """One incident for the hours of a topic that follow each other. System topics are left out: clients look them up
    where another topic is missing."""
    groups: list[list[Row]] = []
    rows = [row for row in facts.rows("missing_topics") if row.get("topic_kind") != "system"]
    for row in sorted(rows, key=lambda row: (str(row["topic"]), int(row["hour"]))):
        last = groups[-1][-1] if groups else None
        if last is not None and last["topic"] == row["topic"] and row["hour"] - last["hour"] <= HOUR_US:
            groups[-1].append(row)
        else:
            groups.append([row])
    return [_incident(group, facts) for group in groups]


def _incident(hours: Sequence[Row], facts: Facts) -> Incident:
    topic = str(hours[0]["topic"])
    begin, end = int(hours[0]["hour"]), int(hours[-1]["hour"]) + HOUR_US
    t1, t2 = max(begin, facts.t0), min(end, facts.t1)
    misses = sum(int(row.get("miss") or 0) for row in hours)
    asked = sorted({str(ns) for row in hours for ns in row.get("ns") or ()})
    return Incident(
        Kind.MISSING_TOPIC, t1, t2, end >= facts.t1, ns=tuple(asked), cause=str(hours[0].get("kind") or ""),
        times=len(hours), away_us=t2 - t1, topic=topic, harm=Harm(1, (topic,), misses=misses),
    )  # fmt: skip
