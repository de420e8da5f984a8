"""What is wrong with the name servers: whether each answers, what it is, TLS, whether they agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rocketns.doctor.checks.registering import WAIT, on_their_way
from rocketns.doctor.checks.showing import BROKER_LOG, addresses_of, again, listed, namesrv_addr
from rocketns.doctor.facts import FleetFacts, NameServerFacts, Reaction, ServerKind
from rocketns.doctor.finding import Diagnosis, Health, Weight
from rocketns.doctor.words import N_, _
from rocketns.protocol.codes import RequestCode, ResponseCode

# The other outcomes are those of the checks name-server-kind and tls.
SENTENCES = {
    Reaction.REFUSED: N_("The name server %(addr)s refuses connections: nothing listens on that port."),
    Reaction.TIMED_OUT: N_(
        "The name server %(addr)s accepts no connection within %(s)g s: a firewall drops it, or the host is down."
    ),
    Reaction.UNREACHABLE: N_("There is no way to the name server %(addr)s: the network has no route to its host."),
    Reaction.UNRESOLVED: N_("The name of the name server %(addr)s has no address in the DNS or the hosts file here."),
    Reaction.SILENT: N_("The name server %(addr)s accepts the connection, and does not answer within %(s)g s."),
    Reaction.CLOSED: N_("The name server %(addr)s closes the connection without an answer, with and without TLS."),
}
WAITING: dict[int, str] = {
    ResponseCode.SYSTEM_ERROR: N_(
        "The name server %(addr)s answers no route lookups yet: it starts, or waits for its brokers."
    ),
    ResponseCode.SYSTEM_BUSY: N_("The name server %(addr)s answers no route lookups: it is overloaded."),
    ResponseCode.GO_AWAY: N_("The name server %(addr)s answers no route lookups any more: it drains, or stops."),
}


def reachable(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for each name server that does not answer, or not usefully."""
    silent = [one for one in facts.name_servers if one.outcome in SENTENCES]
    weight = Weight.EXPLAINS if len(silent) == len(facts.name_servers) else Weight.PARTLY
    for one in silent:
        yield _silent(one, facts, weight)
    for one in facts.name_servers:
        if one.outcome is Reaction.ANSWERED and one.kind is not ServerKind.OTHER:
            yield from _useless(one, facts)


def _silent(one: NameServerFacts, facts: FleetFacts, weight: Weight) -> Diagnosis:
    words = {"addr": one.addr, "s": facts.options.timeout_s, "name": one.name, "ips": ", ".join(one.ips),
             "command": again(facts, "--from-client")}  # fmt: skip
    evidence = [
        *([one.error] if one.error else ()),
        *([_("its host is %(ips)s") % words] if one.ips else ()),
        *([_("it is one of the addresses of %(name)s, and a client takes any of them") % words] if one.name else ()),
    ]
    repair = _("# open the way to %(addr)s, or take it off the list of clients and brokers") % words
    if one.outcome is Reaction.UNRESOLVED:
        repair = _("# correct the name in the list of name servers of clients and brokers, or add it to the DNS")
    elif one.outcome in (Reaction.REFUSED, Reaction.SILENT):
        repair = _("# start the name server there again, or take it off the list of clients and brokers")
    commands = [repair]
    if not facts.options.from_client:
        commands.append(_("# if the client runs on another machine, ask there: %(command)s") % words)
    return Diagnosis(_(SENTENCES[one.outcome]) % words, tuple(evidence), tuple(commands), weight)


def _useless(one: NameServerFacts, facts: FleetFacts) -> Iterator[Diagnosis]:
    """It answers, and no route lookups; or it does not show its brokers, or not what was asked for."""
    lookup, brokers = (
        one.codes.get(code) for code in (RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.GET_BROKER_CLUSTER_INFO)
    )
    words = {"addr": one.addr, "code": lookup or brokers, "command": f"rocketns health -n {one.addr}"}
    signed = (_("# sign the requests, with the accessKey and secretKey of mqadmin's conf/tools.yml in place of KEY and "
                "SECRET:"), f"ROCKETNS_ACCESS_KEY=KEY ROCKETNS_SECRET_KEY=SECRET {again(facts)}")  # fmt: skip
    evidence = _("%(addr)s answered a route lookup (request 105) with code %(code)d") % words if lookup else ""
    if lookup in WAITING:
        weight = Weight.EXPLAINS if len(facts.name_servers) == 1 else Weight.PARTLY
        command = _("# ask again in a minute: %(command)s") % words
        yield Diagnosis(_(WAITING[lookup]) % words, (evidence,), (command,), weight)
    elif lookup == ResponseCode.NO_PERMISSION:
        sentence = _("The name server %(addr)s refuses the route lookups of this doctor: they are not signed, or not "
                     "by a known key. Clients without a key are refused as well.") % words  # fmt: skip
        yield Diagnosis(sentence, (evidence,), signed, Weight.EXPLAINS, state=Health.UNKNOWN)
    elif not one.is_readable:
        sentence = _("The name server %(addr)s does not show its brokers to this doctor.") % words
        if brokers is not None:
            evidence = _("%(addr)s answered request 106 (brokers of the fleet) with code %(code)d") % words
        commands = signed if brokers == ResponseCode.NO_PERMISSION else ()
        weight = Weight.PARTLY if facts.readable else Weight.EXPLAINS
        yield Diagnosis(sentence, (one.error if brokers is None else evidence,), commands, weight, state=Health.UNKNOWN)
    elif one.error:
        is_asked = any(topic not in one.routes for topic in facts.options.topics)
        sentence = _("Some answers of the name server %(addr)s cannot be read.") % words
        weight = Weight.PARTLY if is_asked else Weight.NOTE
        yield Diagnosis(sentence, (one.error,), (), weight, state=Health.UNKNOWN)


def kind(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for each address that is no name server's."""
    strange = (ServerKind.OTHER, Reaction.OTHER_PROTOCOL)
    others = [one for one in facts.name_servers if one.kind in strange or one.outcome in strange]
    weight = Weight.EXPLAINS if len(others) == len(facts.name_servers) else Weight.PARTLY
    for one in others:
        sentence = _("%(addr)s is no name server but a broker or a proxy: it knows no requests of name servers.")
        evidence = _("it answers request 106 (brokers of the fleet) with code 3, request not supported")
        if one.outcome is Reaction.OTHER_PROTOCOL:
            sentence = _("%(addr)s is no name server: what answers there does not speak RocketMQ's protocol.")
            evidence = one.error
        command = _("# give clients and brokers the name server's own address instead of %(addr)s; its port is 9876 "
                    "by default")  # fmt: skip
        words = {"addr": one.addr}
        yield Diagnosis(sentence % words, (evidence,), (command % words,), weight)


def transport(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for name servers, and one for brokers."""
    if facts.options.tls:
        wrong = Reaction.SPEAKS_PLAIN
        servers = _("The name server %(addrs)s speaks no TLS, so clients with TLS find no route.")
        brokers = _("The broker at %(addrs)s speaks no TLS, so clients with TLS do not reach it.")
        evidence = _("without TLS %(addr)s answers, with it the connection is closed")
        commands = (
            _("# in the client: tls.enable=false; or in the server: tls.server.mode=permissive (-Dtls.server.mode=…)"),
            again(replace(facts, options=replace(facts.options, tls=False))),
        )
    else:
        wrong = Reaction.SPEAKS_TLS
        servers = _("The name server %(addrs)s speaks only TLS, so clients without TLS find no route.")
        brokers = _("The broker at %(addrs)s speaks only TLS, so clients without TLS do not reach it.")
        evidence = _("with TLS %(addr)s answers, without it the connection is closed")
        commands = (
            _("# in the client: -Dtls.enable=true (Java; setUseTLS(true) in code); or in the server, both kinds: "
              "-Dtls.server.mode=permissive"),
            again(facts, "-Dtls.enable=true"),
        )  # fmt: skip
    for sentence, tried in ((servers, facts.name_servers), (brokers, facts.addresses.values())):
        addrs = [one.addr for one in tried if one.outcome is wrong]
        if addrs:
            lines = tuple(evidence % {"addr": addr} for addr in addrs)
            weight = Weight.EXPLAINS if len(addrs) == len(tried) else Weight.PARTLY
            yield Diagnosis(sentence % {"addrs": listed(addrs)}, lines, commands, weight)


# Topics that brokers make for themselves. Nobody misses them.
INTERNAL = ("rmq_sys_", "RMQ_SYS_", "SCHEDULE_TOPIC_")


def agreement(facts: FleetFacts) -> Iterator[Diagnosis]:
    """Two halves without a broker in common, or for each name server what it lacks."""
    if halves := _strangers(facts):
        yield _split(facts, *halves)
        return
    for one in facts.readable:
        groups = {name: group for name, group in facts.groups.items() if name not in (one.groups or {})}
        topics = _lacked_topics(one, facts)
        if groups or topics:
            evidence = tuple(
                _("%(broker)s (%(members)s): known at %(at)s, not at %(addr)s")
                % {
                    "broker": name,
                    "members": group.members,
                    "at": addresses_of([each for each in facts.readable if name in (each.groups or {})]),
                    "addr": one.addr,
                }
                for name, group in sorted(groups.items())
            )
            waits = bool(groups) and groups.keys() <= on_their_way(facts, one)
            concerns = not facts.options.topics or any(one.lacks(topic) for topic in facts.divided_topics())
            commands = (_(WAIT),) if waits else _register(facts, groups)
            weight, state = Weight.PARTLY if concerns else Weight.ELSEWHERE, Health.UNKNOWN if waits else Health.ILL
            yield Diagnosis(_lacks(one, list(groups), topics), evidence, commands, weight, state=state)


def _strangers(facts: FleetFacts) -> tuple[NameServerFacts, NameServerFacts] | None:
    """Two name servers that both have brokers, and none in common. Where only addresses differ see `two-masters`."""
    having = [one for one in facts.readable if one.groups]
    for one in having[1:]:
        if set(one.groups or {}) != set(having[0].groups or {}) and not one.addrs & having[0].addrs:
            return having[0], one
    return None


def _split(facts: FleetFacts, one: NameServerFacts, other: NameServerFacts) -> Diagnosis:
    sentence = _("The name servers %(one)s and %(other)s have no broker in common: they belong to two fleets. A client "
                 "that lists both finds the topics of one of them only.") % {
        "one": one.addr, "other": other.addr}  # fmt: skip
    evidence = tuple(
        _("%(addr)s has the brokers %(names)s") % {"addr": each.addr, "names": listed(each.groups or {})}
        for each in facts.readable
    )
    commands = (
        _("# if they are one fleet, in broker.conf of every broker, then restart it:"),
        f"namesrvAddr={namesrv_addr(facts)}",
        _("# if they are two, give each client the name servers of one of them only"),
    )
    weight = Weight.EXPLAINS if not facts.options.topics or facts.divided_topics() else Weight.PARTLY
    return Diagnosis(sentence, evidence, commands, weight)


def _lacked_topics(one: NameServerFacts, facts: FleetFacts) -> list[str]:
    """The topics that others list. Where it lists none, nothing is known to be lacking."""
    if one.topics is None:
        return []
    found = frozenset().union(*(other.topics or () for other in facts.readable)) - one.topics
    return [topic for topic in found if topic not in facts.groups and not topic.startswith(INTERNAL)]


def _lacks(one: NameServerFacts, groups: list[str], topics: list[str]) -> str:
    words = {"addr": one.addr, "brokers": listed(groups), "topics": listed(topics)}
    if not topics:
        return _("The name server %(addr)s lacks brokers that others have: %(brokers)s.") % words
    if not groups:
        return _("The name server %(addr)s lacks topics that others have: %(topics)s.") % words
    return _("The name server %(addr)s lacks brokers that others have (%(brokers)s), and with them topics "
             "(%(topics)s).") % words  # fmt: skip


def _register(facts: FleetFacts, groups: object) -> tuple[str, ...]:
    if not groups:
        return (_("# a broker sends its topics again within 30 s; if the topics are still lacking then, see its log:"),
                BROKER_LOG)  # fmt: skip
    return (
        _("# in broker.conf of these brokers, then restart them, one at a time:"),
        f"namesrvAddr={namesrv_addr(facts)}",
    )
