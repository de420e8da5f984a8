"""What answers at each address: a name server, and of which kind and version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.name_servers import Kind, NameServerFacts
from rocketns.doctor.facts.reach import Outcome
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import _
from rocketns.protocol.codes import version_name

NAME = "name-server-kind"


def kind(facts: Facts) -> Iterator[Finding]:
    """A finding for each address that is no name server's. Without one, what the name servers are."""
    others = [one for one in facts.name_servers if one.kind is Kind.OTHER or one.outcome is Outcome.OTHER_PROTOCOL]
    weight = Weight.EXPLAINS if len(others) == len(facts.name_servers) else Weight.PARTLY
    for one in others:
        yield Finding(NAME, State.ILL, _sentence(one), _evidence(one), (_command(one),), weight)
    known = Counter(_shown(one) for one in facts.readable)
    if known and not others:
        names = ", ".join(f"{count} {name}" for name, count in sorted(known.items()))
        yield Finding(NAME, State.WELL, _("name servers: %(names)s") % {"names": names})


def _sentence(one: NameServerFacts) -> str:
    if one.outcome is Outcome.OTHER_PROTOCOL:
        return _("%(addr)s is no name server: what answers there does not speak RocketMQ's protocol.") % {
            "addr": one.addr
        }
    return _("%(addr)s is no name server but a broker or a proxy: it knows no requests of name servers.") % {
        "addr": one.addr
    }


def _evidence(one: NameServerFacts) -> tuple[str, ...]:
    if one.outcome is Outcome.OTHER_PROTOCOL:
        return (one.error,)
    return (_("it answers request 106 (brokers of the fleet) with code 3, request not supported"),)


def _command(one: NameServerFacts) -> str:
    return _("# give clients and brokers the name server's own address instead of %(addr)s; its port is 9876 by "
             "default") % {"addr": one.addr}  # fmt: skip


def _shown(one: NameServerFacts) -> str:
    version = version_name(one.version) if one.version is not None else ""
    if one.kind is Kind.ROCKETNS:
        return _("rocketns (answers as %(version)s)") % {"version": version}
    return f"Java {version}" if one.kind is Kind.JAVA else _("unknown kind, %(version)s") % {"version": version}
