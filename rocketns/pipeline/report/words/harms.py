"""Whom an incident hurts."""

from __future__ import annotations

from collections.abc import Callable

from rocketns.pipeline.incidents.model import Incident, Kind
from rocketns.pipeline.report.words.names import brokers, queues, servers, topics


def whom(one: Incident) -> str:
    """Whom it hurts."""
    return HARMS[one.kind](one)


def _nobody(one: Incident) -> str:
    if not one.harm.known:
        return "It is not known which topics it holds."
    return "" if one.harm.topics else "No user topic is concerned."


def _harm_missing(one: Incident) -> str:
    leave = "leave" if one.going_on else "left"
    send = "send nothing to" if one.going_on else "sent nothing to"
    asked = "it" if len(one.ns) == 1 else "these"
    gone = brokers(one) if len(one.brokers) == 1 else "the brokers"
    unread = f"consumers that ask {servers(one.ns)} {leave} {queues(one.harm)} unread, and "
    return _nobody(one) or (
        f"{topics(one.harm)}: {unread if one.harm.queues else ''}producers that ask "
        f"{asked if one.harm.queues else servers(one.ns)} {send} {gone}."
    )


def _harm_stale(one: Incident) -> str:
    where = ("is" if one.going_on else "was") if one.harm.queues == 1 else "are" if one.going_on else "were"
    if one.harm.topics and not one.harm.queues:
        return f"{topics(one.harm)}: routes {'differ' if one.going_on else 'differed'}, but all have the same queues."
    return _nobody(one) or f"{topics(one.harm)}: {queues(one.harm)} {where} on some routes and not on others."


def _harm_permissions(one: Incident) -> str:
    may = "may" if one.going_on else "could"
    return _nobody(one) or (
        f"{topics(one.harm)}: clients of {servers(one.ns)} {may} send or read where others must not, or the reverse."
    )


def _harm_gone(one: Incident) -> str:
    if one.bids and 0 not in one.bids:
        went = "goes" if one.going_on else "went"
        return f"Its master {went} on, with one copy less." if one.harm.known else ""
    can = "can" if one.going_on else "could"
    its = f"its {queues(one.harm)}" if one.harm.queues else "it"
    return _nobody(one) or f"{topics(one.harm)}: nobody {can} write to or read from {its}."


def _harm_flap(one: Incident) -> str:
    return _harm_missing(one) if len(one.ns) < len(one.lanes) else _harm_gone(one)


def _harm_server(one: Incident) -> str:
    need = "need" if one.going_on else "needed"
    rest = "" if not one.harm.queues else f" {topics(one.harm)} with {queues(one.harm)} had no route there at first."
    return f"Clients of {servers(one.ns)} {need} another name server.{rest}"


def _harm_silent(_one: Incident) -> str:
    return "If it is down, its clients need another name server. If it is up, the audit does not see what it answers."


def _harm_missing_topic(one: Incident) -> str:
    where = f" at {servers(one.ns)}" if one.ns else ""
    does = "does" if one.going_on else "did"
    return (
        f"{one.harm.misses:,} lookups{where} were answered “topic not exist”: a producer or consumer {does} not work."
    )


HARMS: dict[Kind, Callable[[Incident], str]] = {
    Kind.MISSING: _harm_missing,
    Kind.STALE_ROUTES: _harm_stale,
    Kind.STALE_PERMISSIONS: _harm_permissions,
    Kind.CRASH: _harm_gone,
    Kind.DEAD: _harm_gone,
    Kind.LOST: _harm_gone,
    Kind.FLAP: _harm_flap,
    Kind.RESTARTED: _harm_server,
    Kind.KILLED: _harm_server,
    Kind.STOPPED: _harm_server,
    Kind.SILENT: _harm_silent,
    Kind.MISSING_TOPIC: _harm_missing_topic,
}
