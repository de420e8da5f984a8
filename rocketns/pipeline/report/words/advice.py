"""What to do first."""

from __future__ import annotations

from rocketns.languages import N_
from rocketns.pipeline.contract.times import moment
from rocketns.pipeline.incidents.model import DELETED, Incident, Kind
from rocketns.pipeline.report.text import milliseconds, short
from rocketns.pipeline.report.words.names import brokers, servers
from rocketns.pipeline.saying import _

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
