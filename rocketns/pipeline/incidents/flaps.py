"""A broker that goes and comes back again and again: one incident of all its absences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from rocketns.pipeline.contract.times import SECOND_US
from rocketns.pipeline.incidents.harm import joined
from rocketns.pipeline.incidents.model import Incident, Kind

BACK_WITHIN_US = 600 * SECOND_US  # as in BROKER_STATS: a failure that is followed by a registration within this time
NEAR_US = 10 * SECOND_US
GONE = (Kind.MISSING, Kind.CRASH, Kind.DEAD, Kind.LOST, Kind.GONE)


def with_flaps(incidents: Iterable[Incident], servers: Sequence[Incident] = ()) -> list[Incident]:
    """The incidents, with absences of the same brokers at the same name servers that follow each other within
    BACK_WITHIN_US as one FLAP. An absence that began with one of the ``servers`` is no broker's own."""
    others: list[Incident] = []
    absences: defaultdict[tuple[object, ...], list[Incident]] = defaultdict(list)
    for incident in incidents:
        if incident.kind in GONE:
            absences[incident.brokers, incident.ns if incident.kind is Kind.MISSING else "everywhere"].append(incident)
        else:
            others.append(incident)
    return [*others, *(found for group in absences.values() for found in _chains(group, servers))]


def _chains(absences: Sequence[Incident], servers: Sequence[Incident]) -> list[Incident]:
    chains: list[list[Incident]] = []
    for incident in sorted(absences, key=lambda incident: incident.t1):
        last = chains[-1][-1] if chains else None
        follows = last is not None and not last.going_on and incident.t1 - last.t2 <= BACK_WITHIN_US
        if follows and not any(_explains(server, incident) for server in servers):
            chains[-1].append(incident)
        else:
            chains.append([incident])
    return [chain[0] if len(chain) == 1 else _flap(chain) for chain in chains]


def _flap(chain: Sequence[Incident]) -> Incident:
    causes = [incident.cause for incident in chain]
    harm = joined([incident.harm for incident in chain])
    return Incident(
        Kind.FLAP, chain[0].t1, chain[-1].t2, chain[-1].going_on,
        ns=tuple(sorted({ns for incident in chain for ns in incident.ns})), brokers=chain[0].brokers,
        bids=tuple(sorted({bid for incident in chain for bid in incident.bids})),
        cause=max(sorted(set(causes)), key=causes.count), times=len(chain),
        away_us=sum(incident.away_us for incident in chain),
        t1_early=chain[0].t1_early, t2_early=chain[-1].t2_early,
        asked=tuple(sorted({said for incident in chain for said in incident.asked})),
        silent_ms=max((incident.silent_ms for incident in chain if incident.silent_ms is not None), default=None),
        stalled=tuple(sorted({ns for incident in chain for ns in incident.stalled})), topic=chain[0].topic, harm=harm,
        rows=tuple(row for incident in chain for row in incident.rows),
    )  # fmt: skip


def _explains(server: Incident, absence: Incident) -> bool:
    """Whether it began as the name server lost its brokers, or was away."""
    at = absence.kind is Kind.MISSING and set(absence.ns) <= set(server.ns)
    return at and server.t1 - NEAR_US <= absence.t1 <= max(server.t2, server.t1 + server.away_us) + NEAR_US
