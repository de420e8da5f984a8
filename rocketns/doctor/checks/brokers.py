"""What is wrong with the brokers that name servers show: their groups, clocks and versions."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from rocketns.doctor.checks.showing import (
    BROKER_LOG,
    addresses_of,
    again,
    listed,
    namesrv_addr,
    setting,
    weight_of_brokers,
)
from rocketns.doctor.facts import BrokerClock, FleetFacts
from rocketns.doctor.finding import Diagnosis, Weight
from rocketns.doctor.words import N_, _
from rocketns.protocol.codes import MASTER_ID, V5_0_0, version_name

# By broker name and id, the addresses that were seen there, each with where and when it was first, for evidence.
Seen = Mapping[tuple[str, int], Mapping[str, str]]


def seen(facts: FleetFacts) -> Seen:
    """What all looks showed."""
    found: defaultdict[tuple[str, int], dict[str, str]] = defaultdict(dict)
    for one in facts.readable:
        looks = [(_("%(addr)s after %(s)g s") % {"addr": one.addr, "s": look.at_s}, look.groups) for look in one.looks]
        for at, groups in ((one.addr, one.groups or {}), *looks):
            for name, group in groups.items():
                for broker_id, addr in group.addrs:
                    found[name, broker_id].setdefault(addr, at)
    return found


def present(facts: FleetFacts) -> Iterator[Diagnosis]:
    """One finding if no name server that can be read has a broker."""
    if not facts.readable or facts.groups:
        return
    unread = [one for one in facts.name_servers if not one.is_readable]
    follows = ("name-server-reachable", "name-server-kind", "tls") if unread else ()
    sentence = _("No broker is registered at %(addrs)s, so no topic has a route there.") % {
        "addrs": addresses_of(facts.readable)
    }
    evidence = tuple(_("%(addr)s shows no broker (request 106)") % {"addr": one.addr} for one in facts.readable)
    commands = (
        _("# in broker.conf of every broker, then restart it:"),
        f"namesrvAddr={namesrv_addr(facts)}",
        _("# why a broker that runs is not registered, its log says:"),
        BROKER_LOG,
        _("# this doctor asks a broker at its own address, too:"),
        again(facts, "--broker HOST:10911"),
    )
    yield Diagnosis(sentence, evidence, commands, Weight.EXPLAINS, follows)


def clusters(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for each such name."""
    for broker, found in sorted(_clusters_of(facts).items()):
        if len(found) > 1:
            first = facts.groups.get(broker)  # what came first: a name server shows its cluster with its addresses
            sentence = _("The broker name %(broker)s is registered in several clusters, %(clusters)s: brokers of one "
                         "name are one broker to clients, and replace each other's address.") % {
                "broker": broker, "clusters": listed(found)}  # fmt: skip
            evidence = tuple(
                _("cluster %(cluster)s has %(broker)s at %(addrs)s")
                % {"cluster": cluster, "broker": broker, "addrs": listed(at)}
                for cluster, at in sorted(found.items())
            )
            commands = (
                _("# in broker.conf of the broker of one cluster, then restart it:"),
                setting("brokerName", f"{broker}-2"),
                _("# or, where only its cluster is wrong: brokerClusterName=%(cluster)s")
                % {"cluster": first.cluster if first is not None and first.cluster else min(found)},
            )
            evidence += tuple(
                _("%(broker)s (%(addr)s): brokerClusterName=%(cluster)s (request 26)")
                % {"broker": broker, "addr": one.addr, "cluster": cluster}
                for one in facts.brokers
                if one.name == broker and (cluster := one.setting("brokerClusterName")) is not None
            )
            yield Diagnosis(sentence, evidence, commands, weight_of_brokers(facts, {broker}))


def _clusters_of(facts: FleetFacts) -> dict[str, dict[str, set[str]]]:
    """By broker name and cluster, the name servers that say so."""
    found: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in facts.readable:
        for cluster, names in one.clusters.items():
            for name in names:
                found[name][cluster].add(one.addr)
        for name, group in (one.groups or {}).items():
            if group.cluster is not None:
                found[name][group.cluster].add(one.addr)
    return {name: dict(clusters) for name, clusters in found.items()}


def two_masters(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for each group that was seen with different masters."""
    for (broker, broker_id), addrs in seen(facts).items():
        if broker_id == MASTER_ID and len(addrs) > 1:
            sentence = _("The broker %(broker)s has several masters, %(addrs)s: each replaces the other in the routes, "
                         "and messages of one are not found at the other.") % {
                "broker": broker, "addrs": listed(addrs)}  # fmt: skip
            commands = (
                _("# in broker.conf of all but one of them: another name, or a slave's role; then restart them:"),
                setting("brokerName", f"{broker}-2"),
                *(() if _elects(facts, broker) else (_("# or: brokerId=1 and brokerRole=SLAVE"),)),
            )
            evidence = _sightings((broker, broker_id, *one) for one in addrs.items())
            weight = weight_of_brokers(facts, {broker})
            yield Diagnosis(sentence, evidence, commands, weight)


def no_master(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for each group that no name server shows a master of."""
    for name, group in sorted(facts.groups.items()):
        shown = [(one.groups or {}).get(name) for one in facts.readable]
        if any(view is not None and dict(view.addrs).get(MASTER_ID) for view in shown):
            continue
        sentence = _("The broker %(broker)s has no master, only slaves. Producers find no queue of it; consumers go on "
                     "reading.") % {"broker": name}  # fmt: skip
        if group.enable_acting_master:
            sentence = _("The broker %(broker)s has no master, only slaves. The slave with the lowest id acts as "
                         "master: consumers go on, producers find no queue of it.") % {"broker": name}  # fmt: skip
        evidence = _("%(broker)s in cluster %(cluster)s: %(members)s; an id of 0 is missing") % {
            "broker": name, "cluster": group.cluster or "-", "members": group.members}  # fmt: skip
        commands: tuple[str, ...] = (
            _("# start the master of %(broker)s again, with these lines in its broker.conf:") % {"broker": name},
            setting("brokerClusterName", group.cluster or ""),
            setting("brokerName", name),
            "brokerId=0",
        )
        if _elects(facts, name):
            commands = (
                _("# its roles are elected (enableControllerMode=true): start a replica that is in sync, and the "
                  "controller makes it the master. Which are in sync, an address of a controller says:"),
                shlex.join(("mqadmin", "getSyncStateSet", "-a", "CONTROLLER:9878", "-b", name)),
            )  # fmt: skip
        yield Diagnosis(sentence, (evidence,), commands, weight_of_brokers(facts, {name}))


def _elects(facts: FleetFacts, name: str) -> bool:
    return any(one.name == name and one.is_on("enableControllerMode") for one in facts.brokers)


def moves(facts: FleetFacts) -> Iterator[Diagnosis]:
    """Slaves whose address changes, and addresses that are in several places."""
    by_addr: defaultdict[str, list[Sighting]] = defaultdict(list)
    for (broker, broker_id), addrs in seen(facts).items():
        sightings = [(broker, broker_id, addr, at) for addr, at in addrs.items()]
        for one in sightings:
            by_addr[one[2]].append(one)
        if broker_id != MASTER_ID and len(addrs) > 1:
            sentence = _("The id %(id)d of the broker %(broker)s is taken by several slaves, %(addrs)s: each replaces "
                         "the other.") % {"id": broker_id, "broker": broker, "addrs": listed(addrs)}  # fmt: skip
            command = _("# in broker.conf of each slave of %(broker)s: a brokerId of its own") % {"broker": broker}
            yield Diagnosis(sentence, _sightings(sightings), (command,), weight_of_brokers(facts, {broker}))
    for addr, found in by_addr.items():
        if len(found) > 1:
            texts = [f"{broker}/{broker_id}" for broker, broker_id, *_rest in found]
            sentence = _("The address %(addr)s is registered in several places, %(places)s: the broker was given "
                         "another name or id, or two brokers announce one address.") % {
                "addr": addr, "places": listed(texts)}  # fmt: skip
            command = _("# in broker.conf of each broker: a brokerIP1 and listenPort that no other one has. A former "
                        "name stays while its address registers under another: start the broker under it once more "
                        "and stop it, which unregisters it, or restart the name servers, one at a time")  # fmt: skip
            weight = weight_of_brokers(facts, {one[0] for one in found})
            yield Diagnosis(sentence, _sightings(found), (command,), weight)


Sighting = tuple[str, int, str, str]  # broker name, its id, the address, where and when


def _sightings(found: Iterable[Sighting]) -> tuple[str, ...]:
    return tuple(
        _("broker %(broker)s, id %(id)d, at %(addr)s: seen at %(at)s")
        % {"broker": broker, "id": broker_id, "addr": addr, "at": at} for broker, broker_id, addr, at in found
    )  # fmt: skip


APART_MS = 5_000  # at least, whatever the uncertainty
FAR_APART_MS = 60_000  # timed messages, and consuming from a time on, are wrong by a minute then


def clocks(facts: FleetFacts) -> Iterator[Diagnosis]:
    """One finding for all whose clocks differ from most others'. Of two, both."""
    told = sorted(((one, one.clock) for one in facts.brokers if one.clock is not None), key=lambda one: _middle(one[1]))
    usual = told[(len(told) - 1) // 2][1] if told else BrokerClock(0, 0)
    apart = [(broker, ms) for broker, clock in told if (ms := _apart_ms(clock, usual)) >= APART_MS]
    if apart:
        most_ms = max(ms for _broker, ms in apart)
        names = listed({broker.name or broker.addr for broker, _ms in apart})
        sentence = _("The clock of %(brokers)s differs from those of other brokers by %(seconds).1f s or more: delayed "
                     "messages, and times of messages, are wrong by that.") % {
            "brokers": names, "seconds": most_ms / 1000}  # fmt: skip
        evidence = tuple(
            _("%(broker)s (%(addr)s): %(ahead)+.1f s from this machine's clock, give or take %(unsure).1f s "
              "(bootTimestamp and runtime of request 28)")
            % {"broker": broker.name, "addr": broker.addr, "ahead": _middle(clock) / 1000,
               "unsure": (clock.to_ms - clock.from_ms) / 2000}  # at least half a second: a broker counts whole ones
            for broker, clock in told
        )  # fmt: skip
        commands = (_("# on the machine of %(brokers)s:") % {"brokers": names}, "timedatectl set-ntp true")
        weight = Weight.PARTLY if most_ms >= FAR_APART_MS else Weight.NOTE
        yield Diagnosis(sentence, evidence, commands, weight)


def _middle(clock: BrokerClock) -> int:
    return (clock.from_ms + clock.to_ms) // 2


def _apart_ms(one: BrokerClock, other: BrokerClock) -> int:
    """How far they are apart at least."""
    return max(one.from_ms - other.to_ms, other.from_ms - one.to_ms, 0)


V4_6_0 = 333


# What clients from a version on can do, and older brokers do not answer.
FEATURES = (
    (V4_6_0, N_("request and reply (Producer.request): the broker has no REPLY_TOPIC")),
    (V5_0_0, N_("pop consumption, so simple consumers and clients over gRPC: request 200050 is not supported")),
    (V5_0_0, N_("messages of any delay (timer messages): the broker delivers them at once")),
    (V5_0_0, N_("static topics, and configurations of single topics and groups: requests 351 and 352")),
)


def version(facts: FleetFacts) -> Iterator[Diagnosis]:
    """One finding for each version that lacks something."""
    client = facts.options.client_version or 0
    by_version: dict[int, set[str]] = {}
    for broker in facts.brokers:
        if broker.version is not None:
            by_version.setdefault(broker.version, set()).add(broker.name or broker.addr)
    for older, names in sorted(by_version.items()):
        if lacking := [what for since, what in FEATURES if older < since <= client]:
            words = {"client": version_name(client), "broker": version_name(older), "names": listed(names)}
            sentence = _("The brokers %(names)s have version %(broker)s: a client of %(client)s can do things "
                         "that they cannot.") % words  # fmt: skip
            evidence = (
                _("%(names)s: the headers of answers say version %(broker)s") % words,
                *(_("not there: %(what)s") % {"what": _(what)} for what in lacking),
            )
            commands = (_("# use only what a broker of %(broker)s has, or a newer broker") % words,)
            yield Diagnosis(sentence, evidence, commands, Weight.NOTE)
