"""The sentence that says what is wrong, where, since when, and whether it goes on."""

from __future__ import annotations

from collections.abc import Callable

from rocketns.languages import N_
from rocketns.pipeline.contract import times
from rocketns.pipeline.incidents.model import Incident, Kind
from rocketns.pipeline.report.text import microseconds, short
from rocketns.pipeline.report.words.names import brokers, servers, topics
from rocketns.pipeline.saying import _


def title(incident: Incident, t1: int) -> str:
    """What is wrong, where, since when, and whether it goes on; ``t1``: the end of the observation, whose day needs no
    date. A sentence without its full stop."""
    return TITLES[incident.kind](incident, _Clock(t1))


class _Clock:
    def __init__(self, t1: int) -> None:
        self._day = times.moment(t1 - 1)[:10]

    def at(self, us: int) -> str:
        text = times.moment(us)
        return text[11:16] if text.startswith(self._day) else text[:16]

    def span(self, incident: Incident) -> str:
        """``since 09:02 (still)`` or ``for 39 min, from 09:02``."""
        values = {"begin": self.at(incident.t1), "length": microseconds(incident.lasted_us)}
        if incident.going_on and incident.before:
            return _("since %(begin)s or before (still)") % values
        if incident.going_on:
            return _("since %(begin)s (still)") % values
        if incident.before:
            return _("for at least %(length)s, from %(begin)s or before") % values
        return _("for %(length)s, from %(begin)s on") % values


def _begin(text: str) -> str:
    return text[:1].upper() + text[1:] if text.startswith(("all ", "slave ")) else text


def _missing(incident: Incident, clock: _Clock) -> str:
    many = len(incident.brokers)
    now = _.plural(
        "%(who)s is missing at %(where)s %(span)s", "%(who)s are missing at %(where)s %(span)s", many
    )  # fmt: skip
    then = _.plural(
        "%(who)s was missing at %(where)s %(span)s", "%(who)s were missing at %(where)s %(span)s", many
    )  # fmt: skip
    shown = {"who": _begin(brokers(incident)), "where": servers(incident.ns), "span": clock.span(incident)}
    return (now if incident.going_on else then) % shown


def _stale_routes(incident: Incident, clock: _Clock) -> str:
    many, shown = len(incident.ns), _stale(incident, clock)
    if incident.going_on and many == len(incident.lanes):
        now = _.plural("%(who)s shows different routes for %(what)s on %(broker)s %(span)s",
                       "%(who)s show different routes for %(what)s on %(broker)s %(span)s", many)  # fmt: skip
        return now % shown
    if incident.going_on:
        now = _.plural("%(who)s shows other routes than the rest for %(what)s on %(broker)s %(span)s",
                       "%(who)s show other routes than the rest for %(what)s on %(broker)s %(span)s", many)  # fmt: skip
        return now % shown
    if many == len(incident.lanes):
        return _("%(who)s showed different routes for %(what)s on %(broker)s %(span)s") % shown
    return _("%(who)s showed other routes than the rest for %(what)s on %(broker)s %(span)s") % shown


def _stale_permissions(incident: Incident, clock: _Clock) -> str:
    many, shown = len(incident.ns), _stale(incident, clock)
    if incident.going_on and many == len(incident.lanes):
        now = _.plural("%(who)s shows different permissions for %(what)s on %(broker)s %(span)s",
                       "%(who)s show different permissions for %(what)s on %(broker)s %(span)s", many)  # fmt: skip
        return now % shown
    if incident.going_on:
        now = _.plural("%(who)s shows other permissions than the rest for %(what)s on %(broker)s %(span)s",
                       "%(who)s show other permissions than the rest for %(what)s on %(broker)s %(span)s",
                       many)  # fmt: skip
        return now % shown
    if many == len(incident.lanes):
        return _("%(who)s showed different permissions for %(what)s on %(broker)s %(span)s") % shown
    return _("%(who)s showed other permissions than the rest for %(what)s on %(broker)s %(span)s") % shown


def _stale(incident: Incident, clock: _Clock) -> dict[str, str]:
    return {
        "who": servers(incident.ns), "what": _of(incident), "broker": brokers(incident), "span": clock.span(incident)
    }  # fmt: skip


def _of(incident: Incident) -> str:
    if not incident.harm.topics:
        return _("system topics or those of consumer groups")
    sample, count = incident.harm.sample, incident.harm.topics
    return _("topic %(topic)s") % {"topic": short(sample[0])} if count == 1 and sample else topics(incident.harm)


def _gone(away: str, back: str) -> Callable[[Incident, _Clock], str]:
    def sentence(incident: Incident, clock: _Clock) -> str:
        shown = {"who": _begin(brokers(incident)), "begin": clock.at(incident.t1)}
        return _(away if incident.going_on else back) % (shown | {"length": microseconds(incident.lasted_us)})

    return sentence


def _flap(incident: Incident, clock: _Clock) -> str:
    shown = {
        "who": _begin(brokers(incident)), "where": servers(incident.ns), "n": incident.times,
        "away": microseconds(incident.away_us), "begin": clock.at(incident.t1), "end": clock.at(incident.t2),
    }  # fmt: skip
    if len(incident.ns) < len(incident.lanes):
        now = _("%(who)s comes and goes at %(where)s since %(begin)s (still): gone %(n)s times, %(away)s in all")
        then = _("%(who)s came and went at %(where)s from %(begin)s to %(end)s: gone %(n)s times, %(away)s in all")
    else:
        now = _("%(who)s comes and goes since %(begin)s (still): gone %(n)s times, %(away)s in all")
        then = _("%(who)s came and went from %(begin)s to %(end)s: gone %(n)s times, %(away)s in all")
    return (now if incident.going_on else then) % shown


def _restarted(alone: str, without: str, still: str) -> Callable[[Incident, _Clock], str]:
    def sentence(incident: Incident, clock: _Clock) -> str:
        shown = {
            "who": servers(incident.ns), "begin": clock.at(incident.t1), "away": microseconds(incident.away_us),
            "length": microseconds(max(0, incident.lasted_us - incident.away_us)), "brokers": _many(incident),
        }  # fmt: skip
        return _((still if incident.going_on else without) if incident.brokers else alone) % shown

    return sentence


def _emptied(incident: Incident, clock: _Clock) -> str:
    shown = {
        "who": servers(incident.ns), "begin": clock.at(incident.t1), "length": microseconds(incident.lasted_us)
    }  # fmt: skip
    if incident.going_on:
        return _("%(who)s lost all its brokers at once at %(begin)s, and has not all of them again (still)") % shown
    return _("%(who)s lost all its brokers at once at %(begin)s, and had them again after %(length)s") % shown


def _unwritable(incident: Incident, clock: _Clock) -> str:
    shown = {"broker": brokers(incident), "span": clock.span(incident)}
    if incident.going_on:
        return _("Nobody can send to %(broker)s %(span)s") % shown
    return _("Nobody could send to %(broker)s %(span)s") % shown


def _many(incident: Incident) -> str:
    if len(incident.brokers) == 1:
        return brokers(incident)
    return _.plural("%(n)s broker", "%(n)s brokers", len(incident.brokers)) % {"n": len(incident.brokers)}


def _ended(message: str) -> Callable[[Incident, _Clock], str]:
    return lambda incident, clock: _(message) % {"who": servers(incident.ns), "span": clock.span(incident)}


def _missing_topic(incident: Incident, clock: _Clock) -> str:
    shown = {
        "topic": short(incident.topic), "n": f"{incident.harm.misses:,}", "begin": clock.at(incident.t1),
        "span": clock.span(incident),
    }  # fmt: skip
    if incident.going_on:
        now = _("Clients ask for topic %(topic)s, which no broker has, since %(begin)s (still): %(n)s times")
        return now % shown
    return _("Clients asked for topic %(topic)s, which no broker has, %(span)s: %(n)s times") % shown


TITLES: dict[Kind, Callable[[Incident, _Clock], str]] = {
    Kind.MISSING: _missing,
    Kind.STALE_ROUTES: _stale_routes,
    Kind.STALE_PERMISSIONS: _stale_permissions,
    Kind.CRASH: _gone(N_("%(who)s crashed at %(begin)s and is not back (still)"),
                      N_("%(who)s crashed at %(begin)s and was away for %(length)s")),
    Kind.DEAD: _gone(N_("%(who)s stopped sending heartbeats at %(begin)s and is not back (still)"),
                     N_("%(who)s stopped sending heartbeats at %(begin)s and was away for %(length)s")),
    Kind.LOST: _gone(N_("%(who)s went at %(begin)s and is not back (still)"),
                     N_("%(who)s went at %(begin)s and was away for %(length)s")),
    Kind.GONE: _gone(N_("%(who)s disappeared at %(begin)s and is not back (still)"),
                     N_("%(who)s disappeared at %(begin)s and was away for %(length)s")),
    Kind.FLAP: _flap,
    Kind.RESTARTED: _restarted(N_("%(who)s restarted at %(begin)s and was away for %(away)s"),
                               N_("%(who)s restarted at %(begin)s and was away for %(away)s, then without routes to "
                                  "%(brokers)s for %(length)s"),
                               N_("%(who)s restarted at %(begin)s and was away for %(away)s, and has no routes to "
                                  "%(brokers)s yet (still)")),
    Kind.EMPTIED: _emptied,
    Kind.UNWRITABLE: _unwritable,
    Kind.KILLED: _restarted(N_("%(who)s was killed at %(begin)s and was away for %(away)s"),
                            N_("%(who)s was killed at %(begin)s and was away for %(away)s, then without routes to "
                               "%(brokers)s for %(length)s"),
                            N_("%(who)s was killed at %(begin)s and was away for %(away)s, and has no routes to "
                               "%(brokers)s yet (still)")),
    Kind.STOPPED: _ended(N_("%(who)s is stopped %(span)s")),
    Kind.SILENT: _ended(N_("%(who)s writes nothing %(span)s")),
    Kind.MISSING_TOPIC: _missing_topic,
}  # fmt: skip
