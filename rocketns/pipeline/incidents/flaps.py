"""A broker that goes and comes back again and again: one incident of all its absences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from rocketns.pipeline.contract.times import SECOND_US
from rocketns.pipeline.incidents.harm import joined
from rocketns.pipeline.incidents.model import Incident, Kind

BACK_WITHIN_US = 600 * SECOND_US  # as in BROKER_STATS: a failure that is followed by a registration within this time
GONE = (Kind.MISSING, Kind.CRASH, Kind.DEAD, Kind.LOST)


def with_flaps(incidents: Iterable[Incident]) -> list[Incident]:
    """The incidents, with absences of the same brokers at the same name servers that follow each other within
    BACK_WITHIN_US as one FLAP."""
    others: list[Incident] = []
    absences: defaultdict[tuple[object, ...], list[Incident]] = defaultdict(list)
    for one in incidents:
        if one.kind in GONE:
            absences[one.brokers, one.ns if one.kind is Kind.MISSING else "everywhere"].append(one)
        else:
            others.append(one)
    return [*others, *(found for group in absences.values() for found in _chains(group))]


def _chains(absences: Sequence[Incident]) -> list[Incident]:
    chains: list[list[Incident]] = []
    for one in sorted(absences, key=lambda one: one.t1):
        if chains and not chains[-1][-1].going_on and one.t1 - chains[-1][-1].t2 <= BACK_WITHIN_US:
            chains[-1].append(one)
        else:
            chains.append([one])
    return [chain[0] if len(chain) == 1 else _flap(chain) for chain in chains]


def _flap(chain: Sequence[Incident]) -> Incident:
    causes = [one.cause for one in chain]
    harm = joined([one.harm for one in chain])
    return Incident(
        Kind.FLAP, chain[0].t1, chain[-1].t2, chain[-1].going_on,
        ns=tuple(sorted({ns for one in chain for ns in one.ns})), brokers=chain[0].brokers,
        bids=tuple(sorted({bid for one in chain for bid in one.bids})),
        cause=max(sorted(set(causes)), key=causes.count), times=len(chain), away_us=sum(one.away_us for one in chain),
        silent_ms=max((one.silent_ms for one in chain if one.silent_ms is not None), default=None),
        stalled=tuple(sorted({ns for one in chain for ns in one.stalled})), topic=chain[0].topic, harm=harm,
        rows=tuple(row for one in chain for row in one.rows),
    )  # fmt: skip
