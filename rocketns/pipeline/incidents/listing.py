"""The one list: from result tables to incidents of all kinds, each thing once, worst and latest first.

A broker that goes and comes back again and again: one incident of all its absences.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rocketns.pipeline.contract.frames import Row, Table
from rocketns.pipeline.contract.terms import FAILURES, OBSERVED, SECOND_US
from rocketns.pipeline.incidents.divergence import disagreements, made_from
from rocketns.pipeline.incidents.evidence import records
from rocketns.pipeline.incidents.facts import History
from rocketns.pipeline.incidents.harm import NAME_SERVER, harm_of_rows, joined, judged, order, to_ask_about
from rocketns.pipeline.incidents.lanes import lanes
from rocketns.pipeline.incidents.model import Incident, Symptom
from rocketns.pipeline.incidents.servers import emptied, losses, missing_topics, outages, partitions, unwritable

NEAR_US = 10 * SECOND_US
# A name server has its brokers again a heartbeat or two after its start; what is missing for longer is another fault.
SETTLED_US = 120 * SECOND_US
# Name servers learn of a return within a heartbeat of each other.
RETURN_US = 60 * SECOND_US
# A partition's departure is found by the heartbeats after it, so it may begin before the window of its topics.
ONE_TIMEOUT_US = 130 * SECOND_US
LOSS_SHOWS = (*FAILURES, *OBSERVED, "unregister", "register", "heartbeat")


def incidents_of(tables: Mapping[str, Table], t0: int, t1: int) -> list[Incident]:
    """Incidents of the observation [t0, t1) from tables of the catalogue. The same tables give the same list."""
    facts = History(tables, t0, t1)
    servers, lost = [*outages(facts), *emptied(facts)], losses(facts)
    counted = [row for row in facts.rows("divergences") if row.get("doubt") is None]
    servers, unexplained = _after_starts(servers, counted, facts)
    unexplained = [row for row in unexplained if not any(_shows(row, loss) for loss in lost)]
    differ = disagreements(unexplained, facts)
    parted = [one for one in partitions(facts) if not any(_same(one, other) for other in (*differ, *servers))]
    found = [*servers, *with_flaps([*lost, *differ, *parted], servers), *unwritable(facts), *missing_topics(facts)]
    return sorted((judged(_detailed(one, facts)) for one in found), key=order)


def _after_starts(servers: Iterable[Incident], rows: Sequence[Row], facts: History) -> tuple[list[Incident], list[Row]]:
    """Outages with what a name server lacked after its start, and the rows that none of them explains."""
    explained: set[int] = set()
    found = []
    for outage in servers:
        mine = [i for i, row in enumerate(rows) if i not in explained and _follows(row, outage)]
        explained.update(mine)
        found.append(_settled(outage, [rows[i] for i in mine], facts))
    return found, [row for i, row in enumerate(rows) if i not in explained]


def _follows(row: Row, outage: Incident) -> bool:
    if outage.kind is Symptom.EMPTIED:
        near = abs(row["t1"] - outage.t1) <= NEAR_US and row["t2"] <= outage.t2 + NEAR_US
        return bool(near and row["broker"] in outage.brokers and outage.ns[0] in (row.get("ns_without") or ()))
    return (
        outage.kind in (Symptom.RESTARTED, Symptom.KILLED)
        and row.get("cause") == "start"
        and abs(row["t1"] - outage.t2) <= NEAR_US
        and row["t2"] - outage.t2 <= SETTLED_US
        and outage.ns[0] in (row.get("ns_without") or ())
    )


def _settled(outage: Incident, rows: Sequence[Row], facts: History) -> Incident:
    if not rows:
        return outage
    harm = harm_of_rows(rows, facts)
    until = min(facts.t1, max(outage.t2, *(int(row["t2"]) for row in rows)))
    brokers = tuple(sorted({*outage.brokers, *(str(row["broker"]) for row in rows)}))
    topic = to_ask_about(harm.sample)
    return replace(
        outage, t2=until, going_on=until >= facts.t1, brokers=brokers, harm=harm, topic=topic, rows=made_from(rows)
    )


def _shows(row: Row, loss: Incident) -> bool:
    """Whether a divergence is only that name servers noticed the loss, or the return, one after another."""
    return bool(
        row["broker"] == loss.brokers[0]
        and row.get("cause") in LOSS_SHOWS
        and loss.t1 - NEAR_US <= row["t1"] <= loss.t2 + NEAR_US
        and row["t2"] <= loss.t2 + RETURN_US
    )


def _same(parted: Incident, other: Incident) -> bool:
    return bool(
        other.kind in (Symptom.MISSING, Symptom.EMPTIED)
        and parted.brokers[0] in other.brokers
        and set(parted.ns) & set(other.ns)
        and other.t1 - (ONE_TIMEOUT_US if other.kind is Symptom.MISSING else NEAR_US) <= parted.t1 <= other.t2
    )


def _detailed(incident: Incident, facts: History) -> Incident:
    """The incident with its name servers' views, records and addresses."""
    named = {str(row["addr"]) for broker in incident.brokers for row in _members(incident, broker, facts)}
    every = incident.kind not in NAME_SERVER and len(incident.brokers) > 1
    return replace(
        incident,
        before=incident.t1 <= facts.t0,
        addrs=tuple(sorted(named)) if len(incident.brokers) == 1 else (),
        all_brokers=every and facts.whole("broker_intervals") and set(facts.intervals) == set(incident.brokers),
        clocks=tuple(ns for ns in incident.ns if ns in facts.unsure),
        lanes=lanes(incident, facts),
        records=records(incident, facts),
    )


def _members(incident: Incident, broker: str, facts: History) -> list[Row]:
    """Intervals of the broker that ended with the incident."""
    rows = facts.intervals.get(broker, ())
    ended = [row for row in rows if row.get("addr") and incident.t1 - SECOND_US <= row["t2"] <= incident.t2]
    return ended or [row for row in rows if row.get("addr") and row["t1"] <= incident.t2]


BACK_WITHIN_US = 600 * SECOND_US  # as in BROKER_STATS: a failure that is followed by a registration within this time
GONE = (Symptom.MISSING, Symptom.CRASH, Symptom.DEAD, Symptom.LOST, Symptom.GONE)


def with_flaps(incidents: Iterable[Incident], servers: Sequence[Incident] = ()) -> list[Incident]:
    """The incidents, with absences of the same brokers at the same name servers that follow each other within
    BACK_WITHIN_US as one FLAP. An absence that began with one of the ``servers`` is no broker's own."""
    others: list[Incident] = []
    absences: defaultdict[tuple[object, ...], list[Incident]] = defaultdict(list)
    for incident in incidents:
        if incident.kind in GONE:
            absences[incident.brokers, incident.ns if incident.kind is Symptom.MISSING else "everywhere"].append(
                incident
            )
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
        Symptom.FLAP, chain[0].t1, chain[-1].t2, chain[-1].going_on,
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
    at = absence.kind is Symptom.MISSING and set(absence.ns) <= set(server.ns)
    return at and server.t1 - NEAR_US <= absence.t1 <= max(server.t2, server.t1 + server.away_us) + NEAR_US
