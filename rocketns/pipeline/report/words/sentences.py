"""What is said of an incident: its title, whom it hurts, and what to do first. Each is a template by kind, filled from
one set of facts. No verb of theirs depends on how many there are, or on whether it is over.
"""

from __future__ import annotations

from collections.abc import Mapping

from rocketns.languages import N_
from rocketns.pipeline.contract.terms import moment
from rocketns.pipeline.incidents.harm import NAME_SERVER
from rocketns.pipeline.incidents.model import DELETED, Incident, Symptom
from rocketns.pipeline.report.text import microseconds, milliseconds, short
from rocketns.pipeline.report.words.names import brokers, queues, servers, topics
from rocketns.pipeline.saying import _

TITLES = {
    Symptom.MISSING: N_("%(who)s missing at %(ns)s %(span)s"),
    Symptom.STALE_ROUTES: N_("Other routes at %(ns)s than at the rest for %(what)s on %(who)s %(span)s"),
    Symptom.STALE_PERMISSIONS: N_("Other permissions at %(ns)s than at the rest for %(what)s on %(who)s %(span)s"),
    Symptom.CRASH: N_("%(who)s crashed at %(begin)s"),
    Symptom.DEAD: N_("%(who)s stopped sending heartbeats at %(begin)s"),
    Symptom.LOST: N_("%(who)s went at %(begin)s"),
    Symptom.GONE: N_("%(who)s disappeared at %(begin)s"),
    Symptom.FLAP: N_("%(who)s gone %(times)s times at %(ns)s %(span)s, %(away)s in all"),
    Symptom.RESTARTED: N_("%(ns)s restarted at %(begin)s and was away for %(away)s"),
    Symptom.KILLED: N_("%(ns)s was killed at %(begin)s and was away for %(away)s"),
    Symptom.EMPTIED: N_("%(ns)s lost all its brokers at once at %(begin)s"),
    Symptom.UNWRITABLE: N_("No write permission on %(who)s at any name server %(span)s"),
    Symptom.STOPPED: N_("%(ns)s stopped %(span)s"),
    Symptom.SILENT: N_("%(ns)s writes nothing %(span)s"),
    Symptom.MISSING_TOPIC: N_("%(misses)s lookups of topic %(topic)s, which no broker has, %(span)s"),
}
# Where no name server agrees with most of the others.
DIFFERENT = {
    Symptom.STALE_ROUTES: N_("Different routes at %(ns)s for %(what)s on %(who)s %(span)s"),
    Symptom.STALE_PERMISSIONS: N_("Different permissions at %(ns)s for %(what)s on %(who)s %(span)s"),
}
# How it went on, after the title: when it is over, and while it goes on.
BACK = (N_("%(title)s and was away for %(length)s"), N_("%(title)s and is not back (still)"))
ROUTES = (
    N_("%(title)s, then without routes to %(what)s for %(rest)s"),
    N_("%(title)s, and has no routes to %(what)s yet (still)"),
)
AGAIN = (N_("%(title)s, and had them again after %(length)s"), N_("%(title)s, and has not all of them again (still)"))
SEQUELS = dict.fromkeys((Symptom.CRASH, Symptom.DEAD, Symptom.LOST, Symptom.GONE), BACK) | {Symptom.EMPTIED: AGAIN}


def title(incident: Incident, t1: int) -> str:
    """What is wrong, where, since when, and whether it goes on; ``t1``: the end of the observation, whose day needs no
    date. A sentence without its full stop."""
    shown = _facts(incident, t1)
    all_differ = len(incident.ns) == len(incident.lanes) and incident.kind in DIFFERENT
    said = _((DIFFERENT if all_differ else TITLES)[incident.kind]) % shown
    restarted = incident.kind in (Symptom.RESTARTED, Symptom.KILLED) and incident.brokers
    sequel = ROUTES if restarted else SEQUELS.get(incident.kind)
    return _(sequel[incident.going_on]) % (shown | {"title": said}) if sequel else said


def _facts(incident: Incident, t1: int) -> dict[str, str]:
    who, what = brokers(incident), _of(incident)
    return {
        "who": who[:1].upper() + who[1:] if who.startswith(("all ", "slave ")) else who,
        "ns": servers(incident.ns),
        "what": what,
        "topic": short(incident.topic),
        "topics": topics(incident.harm),
        "queues": queues(incident.harm),
        "misses": f"{incident.harm.misses:,}",
        "times": f"{incident.times:,}",
        "begin": _at(incident.t1, t1),
        "span": _span(incident, t1),
        "length": microseconds(incident.lasted_us),
        "away": microseconds(incident.away_us),
        "rest": microseconds(max(0, incident.lasted_us - incident.away_us)),
    }


def _of(incident: Incident) -> str:
    """What of the subject: topics of a broker, brokers of a name server."""
    harm, many = incident.harm, len(incident.brokers)
    if incident.kind in NAME_SERVER:
        return _.plural("%(n)s broker", "%(n)s brokers", many) % {"n": many} if many != 1 else brokers(incident)
    if not harm.topics:
        return _("system topics or those of consumer groups")
    return _("topic %(topic)s") % {"topic": short(harm.sample[0])} if harm.topics == 1 and harm.sample else topics(harm)


def _at(us: int, t1: int) -> str:
    """The minute, with its day unless that is the last one."""
    text = moment(us)
    return text[11:16] if text.startswith(moment(t1 - 1)[:10]) else text[:16]


def _span(incident: Incident, t1: int) -> str:
    """``since 09:02 (still)`` or ``for 39 min, from 09:02 on``."""
    values = {"begin": _at(incident.t1, t1), "length": microseconds(incident.lasted_us)}
    if incident.going_on and incident.before:
        return _("since %(begin)s or before (still)") % values
    if incident.going_on:
        return _("since %(begin)s (still)") % values
    if incident.before:
        return _("for at least %(length)s, from %(begin)s or before") % values
    return _("for %(length)s, from %(begin)s on") % values


# With queues that are off the routes, and without.
UNREACHABLE = (
    N_("%(topics)s: no writing to its %(queues)s, and no reading from them."),
    N_("%(topics)s: no writing to it, and no reading from it."),
)
ELSEWHERE = (
    N_("Clients of %(ns)s have to ask another name server. %(topics)s with %(queues)s without a route there at first."),
    N_("Clients of %(ns)s have to ask another name server."),
)
HARMS = {
    Symptom.MISSING: (N_("%(topics)s: %(queues)s unread and nothing sent to %(gone)s by clients of %(ns)s."),
                   N_("%(topics)s: nothing sent to %(gone)s by clients of %(ns)s.")),
    Symptom.STALE_ROUTES: (N_("%(topics)s: %(queues)s on some routes and not on others."),
                        N_("%(topics)s: different routes with the same queues.")),
    Symptom.STALE_PERMISSIONS: (N_("%(topics)s: writing or reading allowed by some name servers and not by "
                                   "others."),) * 2,
    Symptom.CRASH: UNREACHABLE,
    Symptom.DEAD: UNREACHABLE,
    Symptom.LOST: UNREACHABLE,
    Symptom.GONE: UNREACHABLE,
    Symptom.RESTARTED: ELSEWHERE,
    Symptom.KILLED: ELSEWHERE,
    Symptom.STOPPED: ELSEWHERE,
    Symptom.EMPTIED: (N_("No routes for clients that asked %(ns)s meanwhile."),) * 2,
    # with topics that no other broker had, and without
    Symptom.UNWRITABLE: (N_("%(topics)s: no other broker took the messages of %(times)s of them."),
                      N_("%(topics)s: other brokers took their messages.")),
    Symptom.SILENT: (N_("If it is down, its clients need another name server. If it is up, the audit does not see what "
                        "it answers."),) * 2,
    Symptom.MISSING_TOPIC: (N_("A producer or consumer does not work: %(ns)s answered “topic not exist” to its "
                            "lookups."),) * 2,
}  # fmt: skip
ABOUT_TOPICS = (
    Symptom.MISSING,
    Symptom.STALE_ROUTES,
    Symptom.STALE_PERMISSIONS,
    Symptom.CRASH,
    Symptom.DEAD,
    Symptom.LOST,
    Symptom.GONE,
)


def whom(incident: Incident) -> str:
    """Whom it hurts."""
    kind, harm = incident.kind, incident.harm
    if kind is Symptom.FLAP:
        kind = Symptom.MISSING if len(incident.ns) < len(incident.lanes) else Symptom.LOST
    if kind is Symptom.EMPTIED and harm.topics:
        kind = Symptom.MISSING
    if kind in ABOUT_TOPICS and not harm.known:
        return _("It is not known which topics it holds.")
    if HARMS[kind] is UNREACHABLE and incident.bids and 0 not in incident.bids:
        return _("Its master stays, with one copy less.")
    if kind in ABOUT_TOPICS and not harm.topics:
        return _("No user topic is concerned.")
    gone = brokers(incident) if len(incident.brokers) == 1 else _("the brokers")
    bad = incident.times if kind is Symptom.UNWRITABLE else harm.queues
    return _(HARMS[kind][not bad]) % (_facts(incident, incident.t2) | {"gone": gone})


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
    advice = ADVICE[incident.kind]
    return _(next(advice[cause] for cause in causes if cause in advice)) % shown


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
ADVICE: Mapping[Symptom, Mapping[str, str]] = {
    Symptom.MISSING: {
        "expired": N_("Look at the network between %(broker)s and %(ns)s: heartbeats do not arrive there, and other "
            "name servers get them."),
        "channel_close": CONNECTION,
        "channel_exception": CONNECTION,
        "channel_idle": CONNECTION,
        "start": N_("Check that namesrvAddr of %(broker)s names %(ns)s: it has not registered there since that name "
            "server started."),
        "register": N_("Check that namesrvAddr of %(broker)s names %(ns)s: it registered elsewhere only."),
        "observed": N_("Look at the log of %(broker)s for its registration at %(ns)s. From outside it is not visible "
            "why it went; rocketns collect --brokers asks the broker too."),
        "observed answered": N_("Look at the network between %(broker)s and %(ns)s: the broker itself answered when it "
            "was asked."),
        "observed refused": N_("Look at the process of %(broker)s: its address refused a connection."),
        "observed silent": N_("Look at the network between %(broker)s and %(ns)s, and at its host: the broker did not "
            "answer when it was asked."),
        "watched": N_("Look at the log of %(broker)s for its registration at %(ns)s: it was missing there when "
            "watching began."),
        "": N_("Look at the log of %(broker)s for its registration at %(ns)s."),
    },
    Symptom.STALE_ROUTES: {
        DELETED: N_("If the topic was to go, delete it at all its brokers and name servers (mqadmin deleteTopic). If "
            "not, look at the log of %(broker)s for its registration."),
        "": N_("Look at the log of %(broker)s for failed registrations at %(ns)s. To send the topic again, repeat its "
            "change (mqadmin updateTopic)."),
    },
    Symptom.STALE_PERMISSIONS: {"": N_("Repeat the change at every name server (mqadmin wipeWritePerm or "
        "addWritePerm).")},
    Symptom.CRASH: {"": N_("Look at the process and the host of %(broker)s: all its connections ended at once.")},
    Symptom.DEAD: {"": N_("Look at the host and the network of %(broker)s: heartbeats stopped everywhere, and no "
        "connection was closed.")},
    Symptom.LOST: {"": N_("Look at the log of %(broker)s: name servers saw different endings.")},
    Symptom.GONE: {
        "": N_("Look at the log of %(broker)s. From outside it is not visible whether it stopped or was lost; rocketns "
            "collect --brokers asks the broker too."),
        "observed answered": N_("Look at the network between %(broker)s and the name servers: the broker itself "
            "answered when it was asked."),
        "observed refused": N_("Look at the process of %(broker)s: its address refused a connection, so it had stopped "
            "or crashed."),
        "observed silent": N_("Look at the host and the network of %(broker)s: it did not answer when it was asked."),
    },
    Symptom.FLAP: {
        "observed": N_("Look at process, load and network of %(broker)s: it comes and goes."),
        "expired": N_("Look at load, garbage collection and network of %(broker)s: its heartbeats come too late."),
        "": N_("Look at the process and the network of %(broker)s: its connections end again and again."),
    },
    Symptom.RESTARTED: {"": N_("Nothing, if the restart was planned.")},
    Symptom.EMPTIED: {"": N_("Find out whether %(ns)s was started again: look at its process and its log. All its "
        "brokers went in one moment, and other name servers kept them.")},
    Symptom.UNWRITABLE: {"": N_("Nothing, if %(broker)s is to be taken out. Otherwise give the permission back at "
        "every name server (mqadmin addWritePerm), and ask who wiped it.")},
    Symptom.KILLED: {"": N_("Look at the host of %(ns)s: killed processes are in the kernel's log. It left no stop "
        "record.")},
    Symptom.STOPPED: {"": N_("Start %(ns)s, or take it out of namesrvAddr of brokers and clients.")},
    Symptom.SILENT: {"": N_("Check whether %(ns)s runs. If it does, look at its disk, and at what copies its "
        "journal.")},
    Symptom.MISSING_TOPIC: {"": N_("Find the client (journalLookupClients=true shows its address). Then correct the "
        "name, or create topic %(topic)s.")},
}  # fmt: skip
