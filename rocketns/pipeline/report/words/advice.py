"""What to do first."""

from __future__ import annotations

from rocketns.pipeline.contract.times import moment
from rocketns.pipeline.incidents.model import Incident, Kind
from rocketns.pipeline.report.text import milliseconds, short
from rocketns.pipeline.report.words.names import brokers, servers

STALLED = "Find out why {ns} did not run for a while. It was stopped, suspended or without CPU, and saw changes late."
CONNECTION = "Look at the connection from {broker}{addr} to {ns}: it ended, and no registration followed."


def first(incident: Incident) -> str:
    """What to do first."""
    broker = brokers(incident)
    address = f" ({short(incident.addrs[0])})" if len(incident.addrs) == 1 else ""
    if incident.stalled and set(incident.stalled) >= set(incident.ns):
        return STALLED.format(ns=servers(incident.ns))
    known = ((incident.kind, cause) for cause in (_asked(incident), incident.cause, ""))
    by_cause = next(ADVICE[key] for key in known if key in ADVICE)
    return by_cause.format(broker=broker, addr=address, ns=servers(incident.ns), topic=short(incident.topic))


def _asked(incident: Incident) -> str:
    """The cause of what was seen from outside, with what the broker itself said."""
    return f"{incident.cause} {incident.asked[0]}" if len(incident.asked) == 1 else incident.cause


def silent_before(incident: Incident) -> str:
    """How long a broker had been silent when it was dropped; '' if that is not known."""
    if incident.silent_ms is None:
        return ""
    at = "" if incident.before else f" at {moment(incident.t1 - incident.silent_ms * 1000)[11:]},"
    return f"The last heartbeat came{at} {milliseconds(incident.silent_ms)} earlier: the fault may have begun then."


# By kind and cause; the empty cause stands for all others.
ADVICE = {
    (Kind.MISSING, "expired"): "Look at the network between {broker}{addr} and {ns}: heartbeats do not arrive there, "
    "and other name servers get them.",
    (Kind.MISSING, "channel_close"): CONNECTION,
    (Kind.MISSING, "channel_exception"): CONNECTION,
    (Kind.MISSING, "channel_idle"): CONNECTION,
    (Kind.MISSING, "start"): "Check that namesrvAddr of {broker}{addr} names {ns}: it has not registered there since "
    "that name server started.",
    (Kind.MISSING, "register"): "Check that namesrvAddr of {broker}{addr} names {ns}: it registered elsewhere only.",
    (Kind.MISSING, "observed"): "Look at the log of {broker}{addr} for its registration at {ns}. From outside it is "
    "not visible why it went; rocketns collect --brokers asks the broker too.",
    (Kind.MISSING, "observed answered"): "Look at the network between {broker}{addr} and {ns}: the broker itself "
    "answered when it was asked.",
    (Kind.MISSING, "observed refused"): "Look at the process of {broker}{addr}: its address refused a connection.",
    (Kind.MISSING, "watched"): "Look at the log of {broker}{addr} for its registration at {ns}: it was missing there "
    "when watching began.",
    (Kind.MISSING, ""): "Look at the log of {broker}{addr} for its registration at {ns}.",
    (Kind.STALE_ROUTES, "admin"): "Delete the topic again at every name server (mqadmin deleteTopic).",
    (Kind.STALE_ROUTES, ""): "Look at the log of {broker}{addr} for failed registrations at {ns}. To send the "
    "topic again, repeat its change (mqadmin updateTopic).",
    (Kind.STALE_PERMISSIONS, ""): "Repeat the change at every name server (mqadmin wipeWritePerm or addWritePerm).",
    (Kind.CRASH, ""): "Look at the process and the host of {broker}{addr}: all its connections ended at once.",
    (Kind.DEAD, ""): "Look at the host and the network of {broker}{addr}: heartbeats stopped everywhere, and no "
    "connection was closed.",
    (Kind.LOST, ""): "Look at the log of {broker}{addr}: name servers saw different endings.",
    (Kind.GONE, ""): "Look at the log of {broker}{addr}. From outside it is not visible whether it stopped or was "
    "lost; rocketns collect --brokers asks the broker too.",
    (Kind.GONE, "observed answered"): "Look at the network between {broker}{addr} and the name servers: the broker "
    "itself answered when it was asked.",
    (Kind.GONE, "observed refused"): "Look at the process of {broker}{addr}: its address refused a connection, so it "
    "had stopped or crashed.",
    (Kind.GONE, "observed silent"): "Look at the host and the network of {broker}{addr}: it did not answer when it was "
    "asked.",
    (Kind.FLAP, "observed"): "Look at process, load and network of {broker}{addr}: it comes and goes.",
    (Kind.FLAP, "expired"): "Look at load, garbage collection and network of {broker}{addr}: its heartbeats come too "
    "late.",
    (Kind.FLAP, ""): "Look at the process and the network of {broker}{addr}: its connections end again and again.",
    (Kind.RESTARTED, ""): "Nothing, if the restart was planned.",
    (Kind.KILLED, ""): "Look at the host of {ns}: killed processes are in the kernel's log. It left no stop record.",
    (Kind.STOPPED, ""): "Start {ns}, or take it out of namesrvAddr of brokers and clients.",
    (Kind.SILENT, ""): "Check whether {ns} runs. If it does, look at its disk, and at what copies its journal.",
    (Kind.MISSING_TOPIC, ""): "Find the client (journalLookupClients=true shows its address). Then correct the name, "
    "or create topic {topic}.",
}  # fmt: skip
