"""Incidents of name servers themselves: stops, kills, restarts, silence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rocketns.pipeline.contract.tables import Row
from rocketns.pipeline.incidents.facts import Facts
from rocketns.pipeline.incidents.model import Incident, Kind


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
