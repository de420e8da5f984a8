"""Who is concerned: kinds, levels, brokers and name servers within a sentence, and an incident's anchor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from rocketns.languages import N_
from rocketns.pipeline.incidents.model import Harm, Incident, Kind, Level
from rocketns.pipeline.report.text import row, short
from rocketns.pipeline.saying import _

NAMES = {
    Kind.MISSING: N_("broker missing at name servers"),
    Kind.STALE_ROUTES: N_("different routes"),
    Kind.STALE_PERMISSIONS: N_("different permissions"),
    Kind.CRASH: N_("broker crashed"),
    Kind.DEAD: N_("broker silent"),
    Kind.LOST: N_("broker lost"),
    Kind.GONE: N_("broker gone"),
    Kind.FLAP: N_("broker comes and goes"),
    Kind.RESTARTED: N_("name server restarted"),
    Kind.EMPTIED: N_("name server without brokers"),
    Kind.UNWRITABLE: N_("broker not writable"),
    Kind.KILLED: N_("name server killed"),
    Kind.STOPPED: N_("name server stopped"),
    Kind.SILENT: N_("name server silent"),
    Kind.MISSING_TOPIC: N_("missing topic"),
}
LEVELS = {Level.SEVERE: N_("Severe"), Level.MAJOR: N_("Major"), Level.MINOR: N_("Minor")}
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
        return _member(incident)
    if incident.all_brokers:
        return _("all %(n)s brokers") % {"n": len(incident.brokers)}
    return _("%(n)s brokers (%(some)s)") % {"n": len(incident.brokers), "some": _some(incident.brokers)}


def _member(incident: Incident) -> str:
    broker = short(incident.brokers[0])
    if not incident.bids or 0 in incident.bids:
        return broker
    return _("slave %(ids)s of %(broker)s") % {"ids": row(map(str, incident.bids)), "broker": broker}


def servers(names: Sequence[str]) -> str:
    """``n2``, ``n1 and n2``, ``4 name servers (n1, n2, …)``."""
    shown = [short(name) for name in names]
    if len(shown) > SHOWN_MAX:
        return _("%(n)s name servers (%(some)s)") % {"n": len(shown), "some": _some(names)}
    if len(shown) > 1:
        return _("%(names)s and %(last)s") % {"names": row(shown[:-1]), "last": shown[-1]}
    return shown[0] if shown else _("a name server")


def _some(names: Sequence[str]) -> str:
    shown = row(short(name) for name in names[: SHOWN_MAX - 1])
    return _("%(names)s, …") % {"names": shown} if len(names) >= SHOWN_MAX else shown


def topics(harm: Harm) -> str:
    """``1,248 user topics``."""
    return _.plural("%(n)s user topic", "%(n)s user topics", harm.topics) % {"n": f"{harm.topics:,}"}


def queues(harm: Harm) -> str:
    """``37 queues``."""
    return _.plural("%(n)s queue", "%(n)s queues", harm.queues) % {"n": f"{harm.queues:,}"}
