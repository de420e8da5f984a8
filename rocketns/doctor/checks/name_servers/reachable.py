"""Whether each name server answers."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.doctor.checks.showing import again
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.name_servers import Kind, NameServerFacts
from rocketns.doctor.facts.reach import Outcome
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import N_, _
from rocketns.protocol.codes import RequestCode, ResponseCode

NAME = "name-server-reachable"
# The other outcomes are those of the checks name-server-kind and tls.
SENTENCES = {
    Outcome.REFUSED: N_("The name server %(addr)s refuses connections: nothing listens on that port."),
    Outcome.TIMED_OUT: N_(
        "The name server %(addr)s accepts no connection within %(s)g s: a firewall drops it, or the host is down."
    ),
    Outcome.UNREACHABLE: N_("There is no way to the name server %(addr)s: the network has no route to its host."),
    Outcome.UNRESOLVED: N_("The name of the name server %(addr)s has no address in the DNS or the hosts file here."),
    Outcome.SILENT: N_("The name server %(addr)s accepts the connection, and does not answer within %(s)g s."),
    Outcome.CLOSED: N_("The name server %(addr)s closes the connection without an answer, with and without TLS."),
}
WAITING: dict[int, str] = {
    ResponseCode.SYSTEM_ERROR: N_(
        "The name server %(addr)s answers no route lookups yet: it starts, or waits for its brokers."
    ),
    ResponseCode.SYSTEM_BUSY: N_("The name server %(addr)s answers no route lookups: it is overloaded."),
    ResponseCode.GO_AWAY: N_("The name server %(addr)s answers no route lookups any more: it drains, or stops."),
}
ELSEWHERE = N_("# if the client runs on another machine, ask there: %(command)s")
CODE = N_("%(addr)s answered a route lookup (request 105) with code %(code)d")
REFUSED = N_("%(addr)s answered request 106 (brokers of the fleet) with code %(code)d")


def reachable(facts: Facts) -> Iterator[Finding]:
    """A finding for each name server that does not answer, or not usefully."""
    silent = [one for one in facts.name_servers if one.outcome in SENTENCES]
    weight = Weight.EXPLAINS if len(silent) == len(facts.name_servers) else Weight.PARTLY
    for one in silent:
        yield _silent(one, facts, weight)
    for one in facts.name_servers:
        code = one.codes.get(RequestCode.GET_ROUTEINFO_BY_TOPIC)
        if code is not None and code in WAITING:
            yield _not_ready(one, code, facts)
        elif code == ResponseCode.NO_PERMISSION:
            yield _refusing(one, facts)
        elif one.outcome is Outcome.ANSWERED and one.kind is not Kind.OTHER:
            yield from _unread(one, facts)


def _silent(one: NameServerFacts, facts: Facts, weight: Weight) -> Finding:
    words = {"addr": one.addr, "s": facts.options.timeout_s}
    evidence = [one.error] if one.error else []
    if one.ips:
        evidence.append(_("its host is %(ips)s") % {"ips": ", ".join(one.ips)})
    commands = () if facts.options.from_client else (_(ELSEWHERE) % {"command": again(facts, "--from-client")},)
    return Finding(
        NAME, State.ILL, _(SENTENCES[one.outcome]) % words, tuple(evidence), (_repair(one), *commands), weight
    )


def _repair(one: NameServerFacts) -> str:
    if one.outcome is Outcome.UNRESOLVED:
        return _("# correct the name in the list of name servers of clients and brokers, or add it to the DNS")
    if one.outcome in (Outcome.REFUSED, Outcome.SILENT):
        return _("# start the name server there again, or take it off the list of clients and brokers")
    return _("# open the way to %(addr)s, or take it off the list of clients and brokers") % {"addr": one.addr}


def _not_ready(one: NameServerFacts, code: int, facts: Facts) -> Finding:
    sentence = _(WAITING[code]) % {"addr": one.addr}
    evidence = _(CODE) % {"addr": one.addr, "code": code}
    weight = Weight.EXPLAINS if len(facts.name_servers) == 1 else Weight.PARTLY
    command = _("# ask again in a minute: %(command)s") % {"command": f"rocketns health -n {one.addr}"}
    return Finding(NAME, State.ILL, sentence, (evidence,), (command,), weight)


def _refusing(one: NameServerFacts, facts: Facts) -> Finding:
    sentence = _("The name server %(addr)s refuses the route lookups of this doctor: they are not signed, or not by "
                 "a known key. Clients without a key are refused as well.") % {"addr": one.addr}  # fmt: skip
    evidence = _(CODE) % {"addr": one.addr, "code": ResponseCode.NO_PERMISSION}
    return Finding(NAME, State.UNKNOWN, sentence, (evidence,), _signed(facts), Weight.EXPLAINS)


def _signed(facts: Facts) -> tuple[str, ...]:
    return (_("# sign the requests with the accessKey and secretKey of mqadmin's file:"),
            again(facts, "--tools-yml $ROCKETMQ_HOME/conf/tools.yml"))  # fmt: skip


def _unread(one: NameServerFacts, facts: Facts) -> Iterator[Finding]:
    """It answers, and does not show its brokers, or not what was asked for. Then what it has is not known."""
    if not one.is_readable:
        yield _hiding(one, facts)
    elif one.error:
        is_asked = any(topic not in one.routes for topic in facts.options.topics)
        sentence = _("Some answers of the name server %(addr)s cannot be read.") % {"addr": one.addr}
        weight = Weight.PARTLY if is_asked else Weight.NOTE
        yield Finding(NAME, State.UNKNOWN, sentence, (one.error,), (), weight)


def _hiding(one: NameServerFacts, facts: Facts) -> Finding:
    sentence = _("The name server %(addr)s does not show its brokers to this doctor.") % {"addr": one.addr}
    code = one.codes.get(RequestCode.GET_BROKER_CLUSTER_INFO)
    evidence = one.error if code is None else _(REFUSED) % {"addr": one.addr, "code": code}
    commands = _signed(facts) if code == ResponseCode.NO_PERMISSION else ()
    weight = Weight.PARTLY if facts.readable else Weight.EXPLAINS
    return Finding(NAME, State.UNKNOWN, sentence, (evidence,), commands, weight)
