"""TLS where plain is spoken, and the other way round: name servers and brokers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rocketns.doctor.checks.showing import again, listed
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.reach import Outcome
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import N_, _

NAME = "tls"
WITH = N_("with TLS %(addr)s answers, without it the connection is closed")
WITHOUT = N_("without TLS %(addr)s answers, with it the connection is closed")


def transport(facts: Facts) -> Iterator[Finding]:
    """A finding for name servers, and one for brokers."""
    wrong = Outcome.SPEAKS_PLAIN if facts.options.tls else Outcome.SPEAKS_TLS
    servers = [one.addr for one in facts.name_servers if one.outcome is wrong]
    brokers = [addr for addr, one in facts.addresses.items() if one.outcome is wrong]
    evidence = _(WITHOUT if facts.options.tls else WITH)
    if servers:
        weight = Weight.EXPLAINS if len(servers) == len(facts.name_servers) else Weight.PARTLY
        lines = tuple(evidence % {"addr": addr} for addr in servers)
        yield Finding(NAME, State.ILL, _of_servers(facts, servers), lines, _commands(facts), weight)
    if brokers:
        weight = Weight.EXPLAINS if len(brokers) == len(facts.addresses) else Weight.PARTLY
        lines = tuple(evidence % {"addr": addr} for addr in brokers)
        yield Finding(NAME, State.ILL, _of_brokers(facts, brokers), lines, _commands(facts), weight)


def _of_servers(facts: Facts, addrs: list[str]) -> str:
    without = _("The name server %(addrs)s speaks no TLS, so clients with TLS find no route.")
    only = _("The name server %(addrs)s speaks only TLS, so clients without TLS find no route.")
    return (without if facts.options.tls else only) % {"addrs": listed(addrs)}


def _of_brokers(facts: Facts, addrs: list[str]) -> str:
    without = _("The broker at %(addrs)s speaks no TLS, so clients with TLS do not reach it.")
    only = _("The broker at %(addrs)s speaks only TLS, so clients without TLS do not reach it.")
    return (without if facts.options.tls else only) % {"addrs": listed(addrs)}


def _commands(facts: Facts) -> tuple[str, ...]:
    if facts.options.tls:
        return (
            _("# in the client: tls.enable=false; or in the server: tls.server.mode=permissive (-Dtls.server.mode=…)"),
            again(replace(facts, options=replace(facts.options, tls=False))),
        )
    return (
        _("# in the client: -Dtls.enable=true (Java; setUseTLS(true) in code); or in the server, both kinds: "
          "-Dtls.server.mode=permissive"),
        again(facts, "-Dtls.enable=true"),
    )  # fmt: skip
