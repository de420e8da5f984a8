"""Groups with two masters, groups without one, and members that change their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rocketns.doctor.checks.fleet.views import Member, Sighting, places, seen
from rocketns.doctor.checks.showing import listed, members, setting
from rocketns.doctor.checks.weighing import weight_of_brokers
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.finding import Finding, State
from rocketns.doctor.words import _
from rocketns.protocol.codes import MASTER_ID

TWO_MASTERS, NO_MASTER, MOVES = "two-masters", "slave-without-master", "broker-id-moves"


def two_masters(facts: Facts) -> Iterator[Finding]:
    """A finding for each group that was seen with different masters."""
    for member, addrs in seen(facts).items():
        if member.broker_id == MASTER_ID and len(addrs) > 1:
            sentence = _("The broker %(broker)s has several masters, %(addrs)s: each replaces the other in the routes, "
                         "and messages of one are not found at the other.") % {
                "broker": member.broker, "addrs": listed(addrs)}  # fmt: skip
            commands = (
                _("# in broker.conf of all but one of them: another name, or a slave's role; then restart them:"),
                setting("brokerName", f"{member.broker}-2"),
                _("# or: brokerId=1 and brokerRole=SLAVE"),
            )
            yield Finding(TWO_MASTERS, State.ILL, sentence, _sightings(member, addrs), commands,
                          weight_of_brokers(facts, {member.broker}))  # fmt: skip


def no_master(facts: Facts) -> Iterator[Finding]:
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
            "broker": name, "cluster": group.cluster or "-", "members": members(group)}  # fmt: skip
        commands = (
            _("# start the master of %(broker)s again, with these lines in its broker.conf:") % {"broker": name},
            setting("brokerClusterName", group.cluster or ""),
            setting("brokerName", name),
            "brokerId=0",
        )
        yield Finding(NO_MASTER, State.ILL, sentence, (evidence,), commands, weight_of_brokers(facts, {name}))


def moves(facts: Facts) -> Iterator[Finding]:
    """Slaves whose address changes, and addresses that are in several places."""
    for member, addrs in seen(facts).items():
        if member.broker_id != MASTER_ID and len(addrs) > 1:
            sentence = _("The id %(id)d of the broker %(broker)s is taken by several slaves, %(addrs)s: each replaces "
                         "the other.") % {
                "id": member.broker_id, "broker": member.broker, "addrs": listed(addrs)}  # fmt: skip
            command = _("# in broker.conf of each slave of %(broker)s: a brokerId of its own") % {
                "broker": member.broker
            }
            yield Finding(MOVES, State.ILL, sentence, _sightings(member, addrs), (command,),
                          weight_of_brokers(facts, {member.broker}))  # fmt: skip
    for addr, found in places(facts).items():
        if len(found) > 1:
            yield _moving(facts, addr, found)


def _moving(facts: Facts, addr: str, found: Mapping[Member, Sighting]) -> Finding:
    names = {member.broker for member in found}
    texts = [f"{member.broker}/{member.broker_id}" for member in found]
    sentence = _("The address %(addr)s is registered in several places, %(places)s: the broker was given another name "
                 "or id, or two brokers announce one address.") % {"addr": addr, "places": listed(texts)}  # fmt: skip
    evidence = tuple(
        _("broker %(broker)s, id %(id)d, at %(addr)s: seen at %(at)s")
        % {"broker": member.broker, "id": member.broker_id, "addr": addr, "at": sighting.text()}
        for member, sighting in found.items()
    )
    command = _("# in broker.conf of each broker: a brokerIP1 and listenPort that no other one has. What a broker left "
                "behind under its former name disappears 2 minutes after its last registration")  # fmt: skip
    return Finding(MOVES, State.ILL, sentence, evidence, (command,), weight_of_brokers(facts, names))


def _sightings(member: Member, found: Mapping[str, Sighting]) -> tuple[str, ...]:
    return tuple(
        _("broker %(broker)s, id %(id)d, at %(addr)s: seen at %(at)s")
        % {"broker": member.broker, "id": member.broker_id, "addr": addr, "at": sighting.text()}
        for addr, sighting in found.items()
    )
