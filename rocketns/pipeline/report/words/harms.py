"""Whom an incident hurts."""

from __future__ import annotations

from collections.abc import Callable

from rocketns.pipeline.incidents.model import Incident, Kind
from rocketns.pipeline.report.words.names import brokers, queues, servers, topics


def whom(incident: Incident) -> str:
    """Whom it hurts."""
    return HARMS[incident.kind](incident)


def _nobody(incident: Incident) -> str:
    if not incident.harm.known:
        return "It is not known which topics it holds."
    return "" if incident.harm.topics else "No user topic is concerned."


def _harm_missing(incident: Incident) -> str:
    leave = "leave" if incident.going_on else "left"
    send = "send nothing to" if incident.going_on else "sent nothing to"
    asked = "it" if len(incident.ns) == 1 else "these"
    gone = brokers(incident) if len(incident.brokers) == 1 else "the brokers"
    unread = f"consumers that ask {servers(incident.ns)} {leave} {queues(incident.harm)} unread, and "
    return _nobody(incident) or (
        f"{topics(incident.harm)}: {unread if incident.harm.queues else ''}producers that ask "
        f"{asked if incident.harm.queues else servers(incident.ns)} {send} {gone}."
    )


def _harm_stale(incident: Incident) -> str:
    harm, now = incident.harm, incident.going_on
    if harm.topics and not harm.queues:
        return f"{topics(harm)}: routes {'differ' if now else 'differed'}, but all have the same queues."
    are = ("is" if now else "was") if harm.queues == 1 else ("are" if now else "were")
    return _nobody(incident) or f"{topics(harm)}: {queues(harm)} {are} on some routes and not on others."


def _harm_permissions(incident: Incident) -> str:
    may = "may" if incident.going_on else "could"
    return _nobody(incident) or (
        f"{topics(incident.harm)}: clients of {servers(incident.ns)} {may} send or read where others must not, "
        "or the reverse."
    )


def _harm_gone(incident: Incident) -> str:
    if incident.bids and 0 not in incident.bids:
        went = "goes" if incident.going_on else "went"
        return f"Its master {went} on, with one copy less." if incident.harm.known else ""
    can = "can" if incident.going_on else "could"
    its = f"its {queues(incident.harm)}" if incident.harm.queues else "it"
    return _nobody(incident) or f"{topics(incident.harm)}: nobody {can} write to or read from {its}."


def _harm_flap(incident: Incident) -> str:
    return _harm_missing(incident) if len(incident.ns) < len(incident.lanes) else _harm_gone(incident)


def _harm_server(incident: Incident) -> str:
    need = "need" if incident.going_on else "needed"
    clients = f"Clients of {servers(incident.ns)} {need} another name server."
    if not incident.harm.queues:
        return clients
    return f"{clients} {topics(incident.harm)} with {queues(incident.harm)} had no route there at first."


def _harm_silent(_incident: Incident) -> str:
    return "If it is down, its clients need another name server. If it is up, the audit does not see what it answers."


def _harm_missing_topic(incident: Incident) -> str:
    where = f" at {servers(incident.ns)}" if incident.ns else ""
    does = "does" if incident.going_on else "did"
    misses = f"{incident.harm.misses:,} lookups{where} were answered “topic not exist”"
    return f"{misses}: a producer or consumer {does} not work."


HARMS: dict[Kind, Callable[[Incident], str]] = {
    Kind.MISSING: _harm_missing,
    Kind.STALE_ROUTES: _harm_stale,
    Kind.STALE_PERMISSIONS: _harm_permissions,
    Kind.CRASH: _harm_gone,
    Kind.DEAD: _harm_gone,
    Kind.LOST: _harm_gone,
    Kind.GONE: _harm_gone,
    Kind.FLAP: _harm_flap,
    Kind.RESTARTED: _harm_server,
    Kind.KILLED: _harm_server,
    Kind.STOPPED: _harm_server,
    Kind.SILENT: _harm_silent,
    Kind.MISSING_TOPIC: _harm_missing_topic,
}
