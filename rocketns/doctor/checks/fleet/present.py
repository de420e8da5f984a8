"""Whether any broker is registered at all."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.doctor.checks.showing import addrs, again, namesrv_addr
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import _

NAME = "no-broker"


def present(facts: Facts) -> Iterator[Finding]:
    """One finding if no name server that can be read has a broker."""
    if not facts.readable or facts.groups:
        return
    unread = [one for one in facts.name_servers if not one.is_readable]
    follows = frozenset({"name-server-reachable", "name-server-kind", "tls"} if unread else ())
    sentence = _("No broker is registered at %(addrs)s, so no topic has a route there.") % {
        "addrs": addrs(facts.readable)
    }
    evidence = tuple(_("%(addr)s shows no broker (request 106)") % {"addr": one.addr} for one in facts.readable)
    commands = (
        _("# in broker.conf of every broker, then restart it:"),
        f"namesrvAddr={namesrv_addr(facts)}",
        _("# why a broker that runs is not registered, its log says:"),
        "grep -i registerBroker ~/logs/rocketmqlogs/broker.log | tail",
        _("# this doctor asks a broker at its own address, too:"),
        again(facts, "--broker HOST:10911"),
    )
    yield Finding(NAME, State.ILL, sentence, evidence, commands, Weight.EXPLAINS, follows)
