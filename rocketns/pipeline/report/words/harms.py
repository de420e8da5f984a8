"""Whom an incident hurts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rocketns.pipeline.incidents.model import Incident, Kind
from rocketns.pipeline.report.text import sentences
from rocketns.pipeline.report.words.names import brokers, queues, servers, topics
from rocketns.pipeline.saying import _


def whom(incident: Incident) -> str:
    """Whom it hurts."""
    return HARMS[incident.kind](incident)


def _nobody(incident: Incident) -> str:
    if not incident.harm.known:
        return _("It is not known which topics it holds.")
    return "" if incident.harm.topics else _("No user topic is concerned.")


def _shown(incident: Incident) -> dict[str, str]:
    harm = incident.harm
    return {"topics": topics(harm), "queues": queues(harm), "where": servers(incident.ns)}


def _harm_missing(incident: Incident) -> str:
    gone = brokers(incident) if len(incident.brokers) == 1 else _("the brokers")
    return _nobody(incident) or _unread(incident, _shown(incident) | {"broker": gone})


def _unread(incident: Incident, shown: Mapping[str, str]) -> str:
    many = len(incident.ns)
    if not incident.harm.queues and incident.going_on:
        return _("%(topics)s: producers that ask %(where)s send nothing to %(broker)s.") % shown
    if not incident.harm.queues:
        return _("%(topics)s: producers that ask %(where)s sent nothing to %(broker)s.") % shown
    if incident.going_on:
        return (
            _.plural(
                "%(topics)s: consumers that ask %(where)s leave %(queues)s unread, and producers that ask it send "
                "nothing to %(broker)s.",
                "%(topics)s: consumers that ask %(where)s leave %(queues)s unread, and producers that ask these send "
                "nothing to %(broker)s.",
                many,
            )
            % shown
        )
    return (
        _.plural(
            "%(topics)s: consumers that ask %(where)s left %(queues)s unread, and producers that ask it sent nothing "
            "to %(broker)s.",
            "%(topics)s: consumers that ask %(where)s left %(queues)s unread, and producers that ask these sent "
            "nothing to %(broker)s.",
            many,
        )
        % shown
    )


def _harm_stale(incident: Incident) -> str:
    harm, shown = incident.harm, _shown(incident)
    if harm.topics and not harm.queues:
        now = _("%(topics)s: routes differ, but all have the same queues.")
        then = _("%(topics)s: routes differed, but all have the same queues.")
        return (now if incident.going_on else then) % shown
    now = _.plural(
        "%(topics)s: %(queues)s is on some routes and not on others.",
        "%(topics)s: %(queues)s are on some routes and not on others.",
        harm.queues,
    )
    then = _.plural(
        "%(topics)s: %(queues)s was on some routes and not on others.",
        "%(topics)s: %(queues)s were on some routes and not on others.",
        harm.queues,
    )
    return _nobody(incident) or (now if incident.going_on else then) % shown


def _harm_permissions(incident: Incident) -> str:
    now = _("%(topics)s: clients of %(where)s may send or read where others must not, or the reverse.")
    then = _("%(topics)s: clients of %(where)s could send or read where others must not, or the reverse.")
    return _nobody(incident) or (now if incident.going_on else then) % _shown(incident)


def _harm_gone(incident: Incident) -> str:
    if incident.bids and 0 not in incident.bids:
        return _harm_of_slave(incident) if incident.harm.known else ""
    if incident.harm.queues:
        now = _("%(topics)s: nobody can write to or read from its %(queues)s.")
        then = _("%(topics)s: nobody could write to or read from its %(queues)s.")
    else:
        now = _("%(topics)s: nobody can write to or read from it.")
        then = _("%(topics)s: nobody could write to or read from it.")
    return _nobody(incident) or (now if incident.going_on else then) % _shown(incident)


def _harm_of_slave(incident: Incident) -> str:
    if incident.going_on:
        return _("Its master goes on, with one copy less.")
    return _("Its master went on, with one copy less.")


def _harm_flap(incident: Incident) -> str:
    return _harm_missing(incident) if len(incident.ns) < len(incident.lanes) else _harm_gone(incident)


def _harm_server(incident: Incident) -> str:
    now = _("Clients of %(where)s need another name server.")
    then = _("Clients of %(where)s needed another name server.")
    lacked = _("%(topics)s with %(queues)s had no route there at first.") if incident.harm.queues else ""
    return sentences(now if incident.going_on else then, lacked) % _shown(incident)


def _harm_unwritable(incident: Incident) -> str:
    alone, others = incident.times, incident.harm.topics - incident.times
    none = _.plural(
        "%(n)s user topic: no other broker took its messages.",
        "%(n)s user topics: no other broker took their messages.",
        alone,
    ) % {"n": f"{alone:,}"}
    more = _.plural("%(n)s more had other brokers.", "%(n)s more had other brokers.", others) % {"n": f"{others:,}"}
    kept = _.plural(
        "%(n)s user topic had other brokers, which took its messages.",
        "%(n)s user topics had other brokers, which took their messages.",
        others,
    ) % {"n": f"{others:,}"}
    return sentences(none, more if others else "") if alone else kept


def _harm_silent(_incident: Incident) -> str:
    return _(
        "If it is down, its clients need another name server. If it is up, the audit does not see what it answers."
    )


def _harm_missing_topic(incident: Incident) -> str:
    shown = _shown(incident) | {"n": f"{incident.harm.misses:,}"}
    if incident.ns and incident.going_on:
        return (
            _("%(n)s lookups at %(where)s were answered “topic not exist”: a producer or consumer does not work.")
            % shown
        )
    if incident.ns:
        return (
            _("%(n)s lookups at %(where)s were answered “topic not exist”: a producer or consumer did not work.")
            % shown
        )
    if incident.going_on:
        return _("%(n)s lookups were answered “topic not exist”: a producer or consumer does not work.") % shown
    return _("%(n)s lookups were answered “topic not exist”: a producer or consumer did not work.") % shown


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
    Kind.EMPTIED: _harm_missing,
    Kind.UNWRITABLE: _harm_unwritable,
    Kind.KILLED: _harm_server,
    Kind.STOPPED: _harm_server,
    Kind.SILENT: _harm_silent,
    Kind.MISSING_TOPIC: _harm_missing_topic,
}
