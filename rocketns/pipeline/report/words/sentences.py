"""The sentence that says what is wrong, where, since when, and whether it goes on.

Whom an incident hurts.

What to do first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rocketns.languages import N_
from rocketns.pipeline.contract import times
from rocketns.pipeline.contract.times import moment
from rocketns.pipeline.incidents.model import DELETED, Incident, Kind
from rocketns.pipeline.report.text import microseconds, milliseconds, sentences, short
from rocketns.pipeline.report.words.names import brokers, queues, servers, topics
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


def _harm_emptied(incident: Incident) -> str:
    if incident.harm.topics:
        return _harm_missing(incident)
    return _("Clients that asked %(where)s meanwhile got no route.") % {"where": servers(incident.ns)}


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
    Kind.EMPTIED: _harm_emptied,
    Kind.UNWRITABLE: _harm_unwritable,
    Kind.KILLED: _harm_server,
    Kind.STOPPED: _harm_server,
    Kind.SILENT: _harm_silent,
    Kind.MISSING_TOPIC: _harm_missing_topic,
}


STALLED = N_(
    "Find out why %(ns)s did not run for a while. It was stopped, suspended or without CPU, and saw changes late."
)
CONNECTION = N_("Look at the connection from %(broker)s to %(ns)s: it ended, and no registration followed.")


def first(incident: Incident) -> str:
    """What to do first."""
    shown = {"broker": _addressed(incident), "ns": servers(incident.ns), "topic": short(incident.topic)}
    if incident.stalled and set(incident.stalled) >= set(incident.ns):
        return _(STALLED) % shown
    causes = (*filter(None, (incident.change, _asked(incident), incident.cause)), "")
    known = ((incident.kind, cause) for cause in causes)
    return _(next(ADVICE[key] for key in known if key in ADVICE)) % shown


def _addressed(incident: Incident) -> str:
    broker = brokers(incident)
    if len(incident.addrs) != 1:
        return broker
    return _("%(broker)s (%(addr)s)") % {"broker": broker, "addr": short(incident.addrs[0])}


def _asked(incident: Incident) -> str:
    """The cause of what was seen from outside, with what the broker itself said."""
    return f"{incident.cause} {incident.asked[0]}" if len(incident.asked) == 1 else incident.cause


def silent_before(incident: Incident) -> str:
    """How long a broker had been silent when it was dropped; '' if that is not known."""
    if incident.silent_ms is None:
        return ""
    shown = {
        "length": milliseconds(incident.silent_ms), "at": moment(incident.t1 - incident.silent_ms * 1000)[11:]
    }  # fmt: skip
    if incident.before:
        return _("The last heartbeat came %(length)s earlier: the fault may have begun then.") % shown
    return _("The last heartbeat came at %(at)s, %(length)s earlier: the fault may have begun then.") % shown


# By kind and cause; the empty cause stands for all others.
ADVICE = {
    (Kind.MISSING, "expired"): N_("Look at the network between %(broker)s and %(ns)s: heartbeats do not arrive there, "
    "and other name servers get them."),
    (Kind.MISSING, "channel_close"): CONNECTION,
    (Kind.MISSING, "channel_exception"): CONNECTION,
    (Kind.MISSING, "channel_idle"): CONNECTION,
    (Kind.MISSING, "start"): N_("Check that namesrvAddr of %(broker)s names %(ns)s: it has not registered there since "
    "that name server started."),
    (Kind.MISSING, "register"): N_("Check that namesrvAddr of %(broker)s names %(ns)s: it registered elsewhere only."),
    (Kind.MISSING, "observed"): N_("Look at the log of %(broker)s for its registration at %(ns)s. From outside it is "
    "not visible why it went; rocketns collect --brokers asks the broker too."),
    (Kind.MISSING, "observed answered"): N_("Look at the network between %(broker)s and %(ns)s: the broker itself "
    "answered when it was asked."),
    (Kind.MISSING, "observed refused"): N_("Look at the process of %(broker)s: its address refused a connection."),
    (Kind.MISSING, "watched"): N_("Look at the log of %(broker)s for its registration at %(ns)s: it was missing there "
    "when watching began."),
    (Kind.MISSING, ""): N_("Look at the log of %(broker)s for its registration at %(ns)s."),
    (Kind.STALE_ROUTES, DELETED): N_("If the topic was to go, delete it at all its brokers and name servers (mqadmin "
    "deleteTopic). If not, look at the log of %(broker)s for its registration."),
    (Kind.STALE_ROUTES, ""): N_("Look at the log of %(broker)s for failed registrations at %(ns)s. To send the "
    "topic again, repeat its change (mqadmin updateTopic)."),
    (Kind.STALE_PERMISSIONS, ""): N_("Repeat the change at every name server (mqadmin wipeWritePerm or addWritePerm)."),
    (Kind.CRASH, ""): N_("Look at the process and the host of %(broker)s: all its connections ended at once."),
    (Kind.DEAD, ""): N_("Look at the host and the network of %(broker)s: heartbeats stopped everywhere, and no "
    "connection was closed."),
    (Kind.LOST, ""): N_("Look at the log of %(broker)s: name servers saw different endings."),
    (Kind.GONE, ""): N_("Look at the log of %(broker)s. From outside it is not visible whether it stopped or was "
    "lost; rocketns collect --brokers asks the broker too."),
    (Kind.GONE, "observed answered"): N_("Look at the network between %(broker)s and the name servers: the broker "
    "itself answered when it was asked."),
    (Kind.GONE, "observed refused"): N_("Look at the process of %(broker)s: its address refused a connection, so it "
    "had stopped or crashed."),
    (Kind.GONE, "observed silent"): N_("Look at the host and the network of %(broker)s: it did not answer when it was "
    "asked."),
    (Kind.FLAP, "observed"): N_("Look at process, load and network of %(broker)s: it comes and goes."),
    (Kind.FLAP, "expired"): N_("Look at load, garbage collection and network of %(broker)s: its heartbeats come too "
    "late."),
    (Kind.FLAP, ""): N_("Look at the process and the network of %(broker)s: its connections end again and again."),
    (Kind.RESTARTED, ""): N_("Nothing, if the restart was planned."),
    (Kind.EMPTIED, ""): N_("Find out whether %(ns)s was started again: look at its process and its log. All its "
    "brokers went in one moment, and other name servers kept them."),
    (Kind.UNWRITABLE, ""): N_("Nothing, if %(broker)s is to be taken out. Otherwise give the permission back at every "
    "name server (mqadmin addWritePerm), and ask who wiped it."),
    (Kind.KILLED, ""): N_("Look at the host of %(ns)s: killed processes are in the kernel's log. It left no stop "
                          "record."),
    (Kind.STOPPED, ""): N_("Start %(ns)s, or take it out of namesrvAddr of brokers and clients."),
    (Kind.SILENT, ""): N_("Check whether %(ns)s runs. If it does, look at its disk, and at what copies its journal."),
    (Kind.MISSING_TOPIC, ""): N_("Find the client (journalLookupClients=true shows its address). Then correct the "
    "name, or create topic %(topic)s."),
}  # fmt: skip
