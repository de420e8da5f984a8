"""Brokers whose own list of name servers lacks one that was given, and those that have it and are not there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocketns.doctor.checks.brokers.registration_size import is_too_large
from rocketns.doctor.checks.showing import addrs as shown_addrs
from rocketns.doctor.checks.showing import mqadmin
from rocketns.doctor.checks.weighing import weight_of_brokers
from rocketns.doctor.facts.brokers import BrokerFacts
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.name_servers import Kind, NameServerFacts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import _
from rocketns.protocol.codes import V5_0_0

NAME = "broker-registers-elsewhere"
_SEPARATORS = re.compile(r"[;,\s]+")


def elsewhere(facts: Facts) -> Iterator[Finding]:
    """A finding for each broker that some name server lacks."""
    for broker in facts.brokers:
        lacking = [one for one in facts.readable if not _shows(one, broker)]
        if lacking and broker.configuration is not None:
            yield _finding(facts, broker, lacking)


def _shows(name_server: NameServerFacts, broker: BrokerFacts) -> bool:
    return any(addr == broker.addr for group in (name_server.groups or {}).values() for _id, addr in group.addrs) or (
        not broker.is_announced and broker.name in (name_server.groups or {})
    )


def own_list(broker: BrokerFacts) -> list[str]:
    """The name servers of the broker's configuration."""
    return [one for one in _SEPARATORS.split((broker.setting("namesrvAddr") or "").strip()) if one]


def _finding(facts: Facts, broker: BrokerFacts, lacking: list[NameServerFacts]) -> Finding:
    own = own_list(broker)
    strange = [one for one in lacking if not _is_among(one, own)]
    words = {"broker": broker.name or broker.addr, "addr": broker.addr, "list": broker.setting("namesrvAddr") or "",
             "lacking": shown_addrs(strange or lacking)}  # fmt: skip
    if not own:
        return _by_address_server(facts, broker, words)
    evidence = [_("%(broker)s (%(addr)s): namesrvAddr=%(list)s (request 26)") % words,
                _("%(lacking)s does not show it (request 106)") % words]  # fmt: skip
    if strange:
        sentence = _("The broker %(broker)s does not register at %(lacking)s: its own list of name servers lacks it.")
        return Finding(
            NAME, State.ILL, sentence % words, tuple(evidence), _commands(facts, broker), _weight(facts, broker)
        )
    return _refused(facts, broker, lacking, words, evidence)


def _refused(
    facts: Facts, broker: BrokerFacts, lacking: list[NameServerFacts], words: dict[str, str], evidence: list[str]
) -> Finding:
    """It knows the name server, and is not there."""
    sentence = _("The broker %(broker)s has %(lacking)s in its list of name servers, and is not registered there: "
                 "what it sends does not arrive, or is refused.") % words  # fmt: skip
    if broker.is_on("useTLS") not in (None, facts.options.tls):
        return _other_transport(facts, broker, words, evidence)
    if _compresses_in_vain(broker, lacking):
        return _compressed(facts, broker, words, evidence)
    commands = (
        _("# on the broker's machine: its log names the reason"),
        "grep -iE 'registerBroker|register.* to name ?server' ~/logs/rocketmqlogs/broker.log | tail",
    )
    weight = Weight.PARTLY if is_too_large(broker) else _weight(facts, broker)
    return Finding(
        NAME, State.ILL, sentence, tuple(evidence), commands, weight, frozenset({"registration-size", "tls"})
    )


def _compresses_in_vain(broker: BrokerFacts, lacking: list[NameServerFacts]) -> bool:
    """A broker of 5.x compresses its registration, and its header says that it does not: Java's cannot read it."""
    is_of_5 = broker.version is not None and broker.version >= V5_0_0
    return is_of_5 and bool(broker.is_on("compressedRegister")) and all(one.kind is Kind.JAVA for one in lacking)


def _compressed(facts: Facts, broker: BrokerFacts, words: dict[str, str], evidence: list[str]) -> Finding:
    sentence = _("The broker %(broker)s is not registered at %(lacking)s: it compresses its registrations, and a Java "
                 "name server cannot read those of a 5.x broker.") % words  # fmt: skip
    line = _("%(broker)s: compressedRegister=true (request 26)") % words
    commands = (
        mqadmin(facts, "updateBrokerConfig", "-b", broker.addr, "-k", "compressedRegister", "-v", "false"),
        _("# if the registration is too large then, in parts:"),
        mqadmin(facts, "updateBrokerConfig", "-b", broker.addr, "-k", "enableSplitRegistration", "-v", "true"),
    )
    return Finding(NAME, State.ILL, sentence, (*evidence, line), commands, _weight(facts, broker))


def _other_transport(facts: Facts, broker: BrokerFacts, words: dict[str, str], evidence: list[str]) -> Finding:
    """The doctor reached the name server with TLS, and the broker uses none; or the other way round."""
    if facts.options.tls:
        sentence = _("The broker %(broker)s is not registered at %(lacking)s, and connects to it without TLS: a name "
                     "server with tls.server.mode=enforcing closes such connections.")  # fmt: skip
        commands = (_("# in the options of the broker's JVM (JAVA_OPT of runbroker.sh), then restart it:"),
                    "-Dtls.enable=true")  # fmt: skip
    else:
        sentence = _("The broker %(broker)s is not registered at %(lacking)s, and connects to it with TLS: a name "
                     "server with tls.server.mode=disabled closes such connections.")  # fmt: skip
        commands = (_("# in the options of the name server's JVM, or of rocketns, then restart it:"),
                    "-Dtls.server.mode=permissive")  # fmt: skip
    on = str(broker.is_on("useTLS")).lower()
    line = _("%(broker)s: useTLS=%(on)s (request 26)") % {"broker": words["broker"], "on": on}
    return Finding(NAME, State.ILL, sentence % words, (*evidence, line), commands, _weight(facts, broker))


def _by_address_server(facts: Facts, broker: BrokerFacts, words: dict[str, str]) -> Finding:
    sentence = _("The broker %(broker)s has no list of name servers of its own, and is not registered at %(lacking)s.")
    evidence = [_("%(broker)s (%(addr)s): namesrvAddr is empty (request 26)") % words]
    if broker.is_on("fetchNamesrvAddrByAddressServer"):
        evidence.append(_("it asks an address server for them: fetchNamesrvAddrByAddressServer=true"))
    return Finding(NAME, State.ILL, sentence % words, tuple(evidence), _commands(facts, broker), _weight(facts, broker))


def _is_among(name_server: NameServerFacts, own: list[str]) -> bool:
    """By its name, or by an address that its name has here."""
    port = name_server.addr.rpartition(":")[2]
    return any(one in (name_server.addr, *(f"{ip}:{port}" for ip in name_server.ips)) for one in own) or (
        name_server.is_here and any(one in (f"127.0.0.1:{port}", f"localhost:{port}") for one in own)
    )


def _commands(facts: Facts, broker: BrokerFacts) -> tuple[str, ...]:
    """A broker reads its list again within two minutes."""
    whole = ";".join(dict.fromkeys((*own_list(broker), *facts.options.name_servers)))
    return (
        mqadmin(facts, "updateBrokerConfig", "-b", broker.addr, "-k", "namesrvAddr", "-v", whole),
        _("# the broker writes it into its broker.conf too, and uses it within two minutes"),
    )


def _weight(facts: Facts, broker: BrokerFacts) -> Weight:
    missing = [topic for topic in facts.options.topics if broker.topics.get(topic) is not None]
    lacked = [topic for topic in missing if any(one.lacks(topic) for one in facts.readable)]
    if lacked or (not facts.groups and not facts.options.topics):
        return Weight.PRECISELY
    return weight_of_brokers(facts, {broker.name})
