"""Who is concerned: kinds, levels, brokers and name servers within a sentence, and an incident's anchor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from rocketns.pipeline.incidents.model import Harm, Incident, Kind, Level
from rocketns.pipeline.report.text import short

NAMES = {
    Kind.MISSING: "broker missing at name servers",
    Kind.STALE_ROUTES: "different routes",
    Kind.STALE_PERMISSIONS: "different permissions",
    Kind.CRASH: "broker crashed",
    Kind.DEAD: "broker silent",
    Kind.LOST: "broker lost",
    Kind.GONE: "broker gone",
    Kind.FLAP: "broker comes and goes",
    Kind.RESTARTED: "name server restarted",
    Kind.KILLED: "name server killed",
    Kind.STOPPED: "name server stopped",
    Kind.SILENT: "name server silent",
    Kind.MISSING_TOPIC: "missing topic",
}
LEVELS = {Level.SEVERE: "Severe", Level.MAJOR: "Major", Level.MINOR: "Minor"}
SHOWN_MAX = 3


def identities(incidents: Sequence[Incident]) -> list[str]:
    """Anchors: each is the same for the same incident in another run of the same time."""
    seen: Counter[str] = Counter()
    found = []
    for incident in incidents:
        name = _identity(incident)
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return found


def _identity(incident: Incident) -> str:
    topic = incident.topic if incident.kind is Kind.MISSING_TOPIC else ""
    facts = "|".join((incident.kind, *incident.brokers, "", *incident.ns, topic))
    return "i" + sha256(f"{facts}|{incident.t1}".encode("utf-8", "backslashreplace")).hexdigest()[:10]


def brokers(incident: Incident) -> str:
    """``broker-b``, ``slave 1 of broker-b``, ``all 8 brokers``, ``12 brokers (broker-a, broker-b, …)``."""
    if len(incident.brokers) == 1:
        slaves = f"slave {', '.join(map(str, incident.bids))} of " if incident.bids and 0 not in incident.bids else ""
        return slaves + short(incident.brokers[0])
    if incident.all_brokers:
        return f"all {len(incident.brokers)} brokers"
    return f"{len(incident.brokers)} brokers ({_some(incident.brokers)})"


def servers(names: Sequence[str]) -> str:
    """``n2``, ``n1 and n2``, ``4 name servers (n1, n2, …)``."""
    shown = [short(name) for name in names]
    if len(shown) <= SHOWN_MAX:
        return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown) or "a name server"
    return f"{len(shown)} name servers ({_some(names)})"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(short(name) for name in names[: SHOWN_MAX - 1])
    return f"{shown}, …" if len(names) >= SHOWN_MAX else shown


def topics(harm: Harm) -> str:
    """``1,248 user topics``."""
    return f"{harm.topics:,} user topic{'' if harm.topics == 1 else 's'}"


def queues(harm: Harm) -> str:
    """``37 queues``."""
    return f"{harm.queues:,} queue{'' if harm.queues == 1 else 's'}"
