"""Brokers that do not register where they should: their list of name servers, their size, their topics."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from rocketns.addresses import listed, literal, split, with_port
from rocketns.doctor.checks.showing import BROKER_LOG, addresses_of, mqadmin, weight_of_brokers
from rocketns.doctor.facts import BrokerFacts, FleetFacts, NameServerFacts, ServerKind, number
from rocketns.doctor.finding import Diagnosis, Health, Weight
from rocketns.doctor.words import N_, _
from rocketns.protocol.bounds import FRAME_SIZE_MAX_BYTES
from rocketns.protocol.codes import MASTER_ID, V5_0_0

NEAR = 0.8  # of the size that is read


def registration_size(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for each broker that is near the limit, or beyond it, or at no name server for a reason that this may
    be."""
    for broker in facts.brokers:
        if broker.sends_less:
            continue
        if broker.topics_bytes is None and not broker.is_announced:
            sentence = _("Whether the registration of %(broker)s is too large cannot be told: it does not say how many "
                         "topics it has (request 21).") % {"broker": f"{broker.name} ({broker.addr})"}  # fmt: skip
            yield Diagnosis(sentence, state=Health.UNKNOWN)
        elif (broker.topics_bytes or 0) >= NEAR * FRAME_SIZE_MAX_BYTES:
            yield _large(facts, broker, broker.topics_bytes or 0)


def is_too_large(broker: BrokerFacts) -> bool:
    """Whether a name server of Java's, or of rocketns, does not read its registration."""
    return (broker.topics_bytes or 0) > FRAME_SIZE_MAX_BYTES and not broker.sends_less


def _large(facts: FleetFacts, broker: BrokerFacts, size: int) -> Diagnosis:
    """A broker that can send its topics in parts does so at both kinds of name servers. One of 5.x cannot compress its
    registration for a Java name server: see `elsewhere`."""
    words = {"broker": f"{broker.name} ({broker.addr})", "size": f"{size:,}", "count": f"{broker.topics_count or 0:,}",
             "most": f"{FRAME_SIZE_MAX_BYTES:,}", "percent": round(100 * size / FRAME_SIZE_MAX_BYTES),
             "compressed": broker.setting("compressedRegister") or "false",
             "split": broker.setting("enableSplitRegistration") or "false"}  # fmt: skip
    if is_too_large(broker):
        weight, sentence = Weight.PRECISELY, _(
            "The registration of %(broker)s is too large: about %(size)s bytes, and a name server reads %(most)s. It "
            "closes the connection, and the broker is never registered."
        )  # fmt: skip
    else:
        weight, sentence = Weight.NOTE, _(
            "The registration of %(broker)s is near the limit: %(size)s of %(most)s bytes, %(percent)d %%."
        )  # fmt: skip
    measured = _("%(broker)s: its %(count)s topics are about %(size)s bytes of JSON (request 21)")
    if broker.topics_count is None:
        measured = _("%(broker)s: all its topics are %(size)s bytes of JSON (request 21)")
    set_up = _("its configuration says compressedRegister=%(compressed)s, enableSplitRegistration=%(split)s")
    splits = broker.setting("enableSplitRegistration") is not None
    name = "enableSplitRegistration" if splits else "compressedRegister"
    commands = (
        mqadmin(facts, "updateBrokerConfig", "-b", broker.addr, "-k", name, "-v", "true"),
        _("# the broker registers with it within 30 s, and writes it into its broker.conf"),
        _("# and fewer topics: those that nobody uses can be deleted (mqadmin deleteTopic)"),
    )
    return Diagnosis(sentence % words, (measured % words, set_up % words), commands, weight)


BY_DNS = "fetchNameSrvAddrByDnsLookup"
READS_LIST_EACH_MS = 120_000  # updateNameServerAddrPeriod
WAIT = N_("# its list has the name server already, and a broker reads a changed list every two minutes: ask again then")


def lists(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for each list of name servers that RocketMQ cannot split: that of the clients, those of brokers."""
    if wrong := _unreadable(facts.options.list_option.split(";")):
        text = _repaired(facts.options.list_option)
        weight = Weight.EXPLAINS if facts.options.is_clients_list else Weight.PARTLY
        sentence = _("A client with the list \"%(list)s\" finds no name server in a part of it: RocketMQ splits at ; "
                     "alone.") % {"list": facts.options.list_option}  # fmt: skip
        repair = (_("# for a client, in the environment or in its code:"), f"NAMESRV_ADDR={shlex.quote(text)}")
        yield Diagnosis(sentence, _no_addresses(wrong), repair, weight)
    for broker in facts.brokers:
        if wrong := _unreadable(broker.own_list):
            words = {"broker": broker.name or broker.addr, "list": broker.setting("namesrvAddr") or ""}
            sentence = _("The broker %(broker)s finds no name server in a part of its list, namesrvAddr=%(list)s: "
                         "RocketMQ splits at ; alone.") % words  # fmt: skip
            commands = _set_list(facts, broker, _repaired(words["list"]))
            yield Diagnosis(sentence, _no_addresses(wrong), commands, _weight(facts, broker))


def _unreadable(items: list[str]) -> list[str]:
    """A host alone is what this doctor takes; it gets the port 9876."""
    return [one for one in items if one and (len(listed(one)) != 1 or listed(one) != [one])]


def _repaired(text: str) -> str:
    return ";".join(dict.fromkeys(listed(text)))


def _no_addresses(items: list[str]) -> tuple[str, ...]:
    return tuple(_('it reads "%(item)s" as one address') % {"item": item} for item in items)


def elsewhere(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for each broker that some name server lacks, and for each that leaves one. See `lists` for those whose
    list cannot be read."""
    for broker in facts.brokers:
        if broker.configuration is None or _unreadable(broker.own_list):
            continue
        shown = [one for one in facts.readable if _shows(one, broker)]
        left = [one for one in shown if not _is_among(one, broker)]
        if len(shown) < len(facts.readable):
            yield _elsewhere(facts, broker, [one for one in facts.readable if one not in shown])
        elif 0 < len(left) < len(shown) and all(map(broker.ips_of, broker.own_list)):
            yield _leaving(facts, broker, left)


def on_their_way(facts: FleetFacts, name_server: NameServerFacts) -> set[str]:
    """The brokers whose list has the name server, which does not show them."""
    return {broker.name for broker in facts.brokers if broker.own_list and not _unreadable(broker.own_list)
            and not _shows(name_server, broker) and _is_among(name_server, broker)}  # fmt: skip


def _leaving(facts: FleetFacts, broker: BrokerFacts, left: list[NameServerFacts]) -> Diagnosis:
    words = {"broker": broker.name or broker.addr, "addr": broker.addr, "list": broker.setting("namesrvAddr") or "",
             "left": addresses_of(left)}  # fmt: skip
    sentence = _("The broker %(broker)s disappears from %(left)s two minutes after its last registration there: its "
                 "own list of name servers lacks it.") % words  # fmt: skip
    evidence = (_("%(broker)s (%(addr)s): namesrvAddr=%(list)s (request 26)") % words,
                _("%(left)s still shows it (request 106)") % words)  # fmt: skip
    return Diagnosis(sentence, evidence, _commands(facts, broker, left), _weight(facts, broker))


def _shows(name_server: NameServerFacts, broker: BrokerFacts) -> bool:
    is_named = not broker.is_announced and broker.name in (name_server.groups or {})
    return is_named or broker.addr in name_server.addrs


def _elsewhere(facts: FleetFacts, broker: BrokerFacts, lacking: list[NameServerFacts]) -> Diagnosis:
    strange = [one for one in lacking if not _is_among(one, broker)]
    words = {"broker": broker.name or broker.addr, "addr": broker.addr, "list": broker.setting("namesrvAddr") or "",
             "lacking": addresses_of(strange or lacking)}  # fmt: skip
    evidence = [_("%(broker)s (%(addr)s): namesrvAddr=%(list)s (request 26)") % words,
                _("%(lacking)s does not show it (request 106)") % words]  # fmt: skip
    commands: tuple[str, ...]
    if not broker.own_list:
        sentence = _("The broker %(broker)s has no list of name servers of its own, and is not registered at "
                     "%(lacking)s.")  # fmt: skip
        evidence = [_("%(broker)s (%(addr)s): namesrvAddr is empty (request 26)") % words]
        if broker.is_on("fetchNamesrvAddrByAddressServer"):
            evidence.append(_("it asks an address server for them: fetchNamesrvAddrByAddressServer=true"))
        commands = (*_commands(facts, broker, lacking)[:1],
                    _("# then restart it: a broker that started without a list reads none later"))  # fmt: skip
    elif strange:
        sentence = _("The broker %(broker)s does not register at %(lacking)s: its own list of name servers lacks it.")
        if broker.is_on(BY_DNS):
            sentence = _("The broker %(broker)s does not register at %(lacking)s: it asks for the DNS name %(list)s, "
                         "which does not have that address.")  # fmt: skip
        evidence += [_("%(item)s is %(ips)s here") % {"item": item, "ips": ", ".join(broker.ips_of(item)) or "?"}
                     for item in broker.own_list if literal(split(item)[0]) is None]  # fmt: skip
        commands = _commands(facts, broker, strange)
    elif broker.is_on("useTLS") not in (None, facts.options.tls):
        sentence, commands = _other_transport(facts)
        words["on"] = str(broker.is_on("useTLS")).lower()
        evidence.append(_("%(broker)s: useTLS=%(on)s (request 26)") % words)
    elif _compresses_in_vain(broker, lacking):
        sentence = _("The broker %(broker)s is not registered at %(lacking)s: it compresses its registrations, and a "
                     "Java name server cannot read those of a 5.x broker.")  # fmt: skip
        evidence.append(_("%(broker)s: compressedRegister=true (request 26)") % words)
        commands = (
            mqadmin(facts, "updateBrokerConfig", "-b", broker.addr, "-k", "compressedRegister", "-v", "false"),
            _("# if the registration is too large then, in parts:"),
            mqadmin(facts, "updateBrokerConfig", "-b", broker.addr, "-k", "enableSplitRegistration", "-v", "true"),
        )
    else:
        return _refused(facts, broker, words, tuple(evidence))
    return Diagnosis(sentence % words, tuple(evidence), commands, _weight(facts, broker))


def _refused(facts: FleetFacts, broker: BrokerFacts, words: dict[str, str], evidence: tuple[str, ...]) -> Diagnosis:
    """It knows the name server, and is not there."""
    each_ms = number(broker.setting("updateNameServerAddrPeriod"), READS_LIST_EACH_MS)
    sentence = _("The broker %(broker)s has %(lacking)s in its list of name servers, and is not registered there. It "
                 "reads a changed list every %(s)g s. If it was changed before that, what it sends does not arrive, or "
                 "is refused.") % {**words, "s": each_ms / 1000}  # fmt: skip
    commands = (
        _("# ask again when that time has passed. Then the broker's log names the reason:"),
        BROKER_LOG,
    )
    state, weight = Health.UNKNOWN, _weight(facts, broker)
    if is_too_large(broker):
        state, weight = Health.ILL, Weight.PARTLY
    return Diagnosis(sentence, evidence, commands, weight, ("registration-size", "tls"), state)


def _compresses_in_vain(broker: BrokerFacts, lacking: list[NameServerFacts]) -> bool:
    """A broker of 5.x compresses its registration, and its header says that it does not: Java's cannot read it."""
    is_of_5 = broker.version is not None and broker.version >= V5_0_0
    return is_of_5 and bool(broker.is_on("compressedRegister")) and all(one.kind is ServerKind.JAVA for one in lacking)


def _other_transport(facts: FleetFacts) -> tuple[str, tuple[str, ...]]:
    """The doctor reached the name server with TLS, and the broker uses none; or the other way round."""
    if facts.options.tls:
        return _("The broker %(broker)s is not registered at %(lacking)s, and connects to it without TLS: a name "
                 "server with tls.server.mode=enforcing closes such connections."), (
            _("# in the options of the broker's JVM (JAVA_OPT of runbroker.sh), then restart it:"),
            "-Dtls.enable=true")  # fmt: skip
    return _("The broker %(broker)s is not registered at %(lacking)s, and connects to it with TLS: a name server with "
             "tls.server.mode=disabled closes such connections."), (
        _("# in the options of the name server's JVM, or of rocketns, then restart it:"),
        "-Dtls.server.mode=permissive")  # fmt: skip


def _is_among(name_server: NameServerFacts, broker: BrokerFacts) -> bool:
    """By its name, or by an address that its name has here. Of a name with several a broker takes any one, unless it
    asks the DNS for all."""
    port = name_server.addr.rpartition(":")[2]
    for item in broker.own_list:
        ips = broker.ips_of(item)
        is_one = item == name_server.addr or len(ips) == 1 or bool(broker.is_on(BY_DNS))
        if item == name_server.addr or (is_one and item.rpartition(":")[2] == port and {*ips} & {*name_server.ips}):
            return True
        if name_server.is_here and item in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return True
    return False


def _commands(facts: FleetFacts, broker: BrokerFacts, more: list[NameServerFacts]) -> tuple[str, ...]:
    """Its list, and these name servers."""
    if not (broker.is_on(BY_DNS) and broker.own_list):
        own = [item for item in broker.own_list if len(broker.ips_of(item)) < 2 or item in facts.options.name_servers]
        of_names = [with_port(ip, split(item)[1] or 0) for item in broker.own_list if item not in own
                    for ip in broker.ips_of(item)]  # fmt: skip
        return _set_list(facts, broker, ";".join(dict.fromkeys((*own, *of_names, *(one.addr for one in more)))))
    (name, *_others) = broker.own_list
    announced = [with_port(ip, split(name)[1] or 0) for ip in broker.ips_of(name)]
    whole = ";".join(dict.fromkeys((*announced, *(one.addr for one in more))))
    return (
        _("# add to the addresses of %(name)s: %(ips)s") % {
            "name": name, "ips": ", ".join(ip for one in more for ip in one.ips)},
        _("# or let the broker use a list in place of the name:"),
        mqadmin(facts, "updateBrokerConfig", "-b", broker.addr, "-k", BY_DNS, "-v", "false"),
        *_set_list(facts, broker, whole),
    )  # fmt: skip


def _set_list(facts: FleetFacts, broker: BrokerFacts, whole: str) -> tuple[str, ...]:
    return (
        mqadmin(facts, "updateBrokerConfig", "-b", broker.addr, "-k", "namesrvAddr", "-v", whole),
        _("# the broker writes it into its broker.conf too, and uses it within two minutes"),
    )


def _weight(facts: FleetFacts, broker: BrokerFacts) -> Weight:
    missing = [topic for topic in facts.options.topics if broker.topics.get(topic) is not None]
    lacked = [topic for topic in missing if any(one.lacks(topic) for one in facts.readable)]
    if lacked or (not facts.groups and not facts.options.topics):
        return Weight.PRECISELY
    return weight_of_brokers(facts, {broker.name})


CAUSES = ("broker-registers-elsewhere", "registration-size", "name-servers-agree", "tls")


def unregistered_topic(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for each topic and master."""
    for broker in facts.brokers:
        for topic in facts.options.topics:
            settings = broker.topics.get(topic)
            if settings is None or broker.broker_id != MASTER_ID:
                continue
            lacking = [one for one in facts.readable if topic in one.routes and broker.name not in one.queues(topic)]
            if lacking:
                yield _unregistered(facts, broker, topic, settings, lacking)


def _unregistered(
    facts: FleetFacts, broker: BrokerFacts, topic: str, settings: Mapping[str, Any], lacking: list[NameServerFacts]
) -> Diagnosis:
    read, write, perm = (settings.get(name) for name in ("readQueueNums", "writeQueueNums", "perm"))
    words = {"broker": broker.name or broker.addr, "addr": broker.addr, "topic": topic,
             "lacking": addresses_of(lacking), "read": read, "write": write, "perm": perm}  # fmt: skip
    sentence = _("The broker %(broker)s has the topic %(topic)s, and %(lacking)s does not show it there: its "
                 "registration did not arrive.") % words  # fmt: skip
    evidence = (
        _("%(broker)s (%(addr)s): %(topic)s has %(write)s queues to write, %(read)s to read, perm %(perm)s (351, "
          "or 21)") % words,
        _("%(lacking)s: the route of %(topic)s does not name %(broker)s (request 105)") % words,
    )  # fmt: skip
    numbers = ("-r", str(read), "-w", str(write), "-p", str(perm))
    commands = (
        _("# writes the topic again unchanged, so that the broker registers again:"),
        mqadmin(facts, "updateTopic", "-b", broker.addr, "-t", topic, *numbers),
        _("# if it still is not there, the broker's log says why:"),
        BROKER_LOG,
    )
    weight = Weight.EXPLAINS if topic in facts.missing_topics() else Weight.PARTLY
    return Diagnosis(sentence, evidence, commands, weight, CAUSES)
