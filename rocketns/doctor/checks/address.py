"""Whether the addresses that brokers announce can be used by others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import NamedTuple

from rocketns.addresses import literal
from rocketns.doctor.asking.requests import BrokerRequest
from rocketns.doctor.checks.showing import again, listed, weight_of_brokers
from rocketns.doctor.facts import AddressFacts, FleetFacts, IpScope, Reaction
from rocketns.doctor.finding import Diagnosis, Health, Weight
from rocketns.doctor.words import N_, _
from rocketns.protocol.codes import MASTER_ID, ResponseCode


class Announced(NamedTuple):
    """A member of a broker group, at an address that was tried; or one that only the user named, by its address."""

    name: str
    broker_id: int
    address: AddressFacts
    is_only_option: bool = False

    @property
    def addr(self) -> str:
        return self.address.addr


def announced(facts: FleetFacts) -> Iterator[Announced]:
    """Each member at each address once, in the order of names and ids."""
    seen: set[tuple[str, int, str]] = set()
    for name_server in facts.readable:
        for name, group in (name_server.groups or {}).items():
            seen.update((name, broker_id, addr) for broker_id, addr in group.addrs)
    for name, broker_id, addr in sorted(seen):
        if addr in facts.addresses:
            yield Announced(name, broker_id, facts.addresses[addr])
    registered = {addr for _name, _id, addr in seen}
    for addr in facts.options.brokers:
        if addr not in registered and addr in facts.addresses:
            yield Announced(addr, MASTER_ID, facts.addresses[addr], is_only_option=True)


def is_one_machine(facts: FleetFacts) -> bool:
    """Whether all name servers and all brokers are on this machine: then its clients are, too."""
    addrs = {addr for group in facts.groups.values() for _, addr in group.addrs}
    return all(one.is_here for one in facts.name_servers) and all(_is_here(facts, addr) for addr in addrs)


def _is_here(facts: FleetFacts, addr: str) -> bool:
    tried = facts.addresses.get(addr)
    if tried is not None:
        return tried.is_here
    found = literal(addr.rpartition(":")[0])
    return found is not None and found.is_loopback


NAMES_MAX = 3  # in a sentence, with their addresses


class Fault(NamedTuple):
    """What is wrong with an address. ``names_cause``: it says more than that a connection fails."""

    sentence: str
    command: str
    state: Health = Health.ILL
    names_cause: bool = False


REACHED_BY = N_("# brokerIP1 is an address of the broker's machine that clients reach")
LOOPBACK = Fault(N_("%(brokers)s announced a loopback address: each client connects to its own machine instead."),
                 REACHED_BY, names_cause=True)  # fmt: skip
CONTAINER = Fault(N_("%(brokers)s announced an address of a container network, which others cannot reach."), N_(
    "# brokerIP1 is the address of the container's host, and listenPort is published there under the same number"
), names_cause=True)  # fmt: skip
LINK_LOCAL = Fault(N_("%(brokers)s announced a link-local address: the machine had no address when the broker "
                      "started."), REACHED_BY, names_cause=True)  # fmt: skip
ANOTHER_BROKER = Fault(N_("At the address that %(brokers)s announced, another broker answers."), N_(
    "# each broker has an address of its own: look for two brokers with one brokerIP1 and listenPort, forwarded ports, "
    "and host names that resolve differently"
), names_cause=True)  # fmt: skip
NO_BROKER = Fault(N_("At the address of %(brokers)s a name server or a proxy answers, and no broker."), N_(
    "# brokerIP1 and listenPort are those of the broker; a broker's port is 10911 as a rule, a name server's 9876"
), names_cause=True)  # fmt: skip
UNSURE = Fault(N_("%(brokers)s cannot be reached from here. That says nothing of clients in another network."),
               N_("# run this where a client runs: it says there whether this is the fault"),
               Health.UNKNOWN)  # fmt: skip
NOT_THERE = Fault(N_("No broker answers at %(brokers)s, which was given with --broker."),
              N_("# the address is that of the broker's listenPort, which is 10911 as a rule"))  # fmt: skip
# Something takes connections there, so that its place is not the fault.
IN_USE = {
    Reaction.SILENT: Fault(N_("%(brokers)s takes connections, and does not answer requests."),
                          N_("# its process may hang: jstack PID, or its log")),
    Reaction.CLOSED: Fault(N_("%(brokers)s ends each connection without an answer."),
                          N_("# see the broker's log; a proxy or firewall in front of it may end connections, too")),
}  # fmt: skip
DOWN = Fault(N_("%(brokers)s cannot be reached at the announced address."), N_(
    "# if the broker runs: brokerIP1 and listenPort are an address at which clients reach it; its "
    "firewall lets them in"
))  # fmt: skip
MAY_BE_DOWN = (Reaction.REFUSED, Reaction.UNREACHABLE, Reaction.NO_HOST, Reaction.TIMED_OUT)
# The check of TLS says more of those that have no row.
BY_OUTCOME = {**IN_USE, **dict.fromkeys(MAY_BE_DOWN, DOWN),
    Reaction.UNRESOLVED: Fault(
        N_("The host name that %(brokers)s announced has no address here."),
        N_("# brokerIP1 is an address, or a name that every client resolves"), names_cause=True),
    Reaction.OTHER_PROTOCOL: Fault(
        N_("At the address that %(brokers)s announced, something else than a broker answers."),
        N_("# brokerIP1 and listenPort are those of the broker, not of a proxy's gRPC port or another program"),
        names_cause=True),
}  # fmt: skip
BY_SCOPE = {IpScope.CONTAINER: CONTAINER, IpScope.LINK_LOCAL: LINK_LOCAL}
VIEWS = N_("# the name server has views: this says by which rule clients at an address get what; mend that rule")
START = N_("# if the broker is down, start it again; name servers forget it 2 minutes after its last registration")


def address(facts: FleetFacts) -> Iterator[Diagnosis]:
    """A finding for each kind of fault."""
    by_fault: defaultdict[Fault, list[Announced]] = defaultdict(list)
    one_machine = is_one_machine(facts)
    for one in announced(facts):
        fault = _fault(facts, one, one_machine)
        if fault is not None:
            by_fault[fault].append(one)
    for fault, brokers in by_fault.items():
        yield _finding(facts, fault, brokers)


def _fault(facts: FleetFacts, one: Announced, one_machine: bool) -> Fault | None:
    outcome, scope = one.address.outcome, one.address.scope
    if outcome is Reaction.ANSWERED and _is_no_broker(facts, one):
        return NO_BROKER
    if one.is_only_option:
        return None if outcome in (Reaction.ANSWERED, Reaction.SPEAKS_TLS, Reaction.SPEAKS_PLAIN) else NOT_THERE
    if outcome is Reaction.ANSWERED:
        if scope is IpScope.LOOPBACK and not (one_machine or facts.options.from_client):
            return LOOPBACK
        return ANOTHER_BROKER if _other_name(facts, one) else None
    if outcome in IN_USE or outcome is Reaction.NOT_TRIED:
        return IN_USE.get(outcome)
    if scope is IpScope.LOOPBACK and not (one_machine and outcome is Reaction.OTHER_PROTOCOL):
        return LOOPBACK
    if scope in BY_SCOPE and outcome in MAY_BE_DOWN:
        return BY_SCOPE[scope]
    if outcome in (Reaction.TIMED_OUT, Reaction.UNREACHABLE) and not facts.options.from_client:
        return UNSURE
    return BY_OUTCOME.get(outcome)


def _is_no_broker(facts: FleetFacts, one: Announced) -> bool:
    broker = facts.broker(one.addr)
    code = int(BrokerRequest.GET_BROKER_RUNTIME_INFO)
    return broker is not None and broker.codes.get(code) == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


def _other_name(facts: FleetFacts, one: Announced) -> str:
    """The name of the broker that answers there, where it is another one."""
    broker = facts.broker(one.addr)
    name = "" if broker is None else broker.setting("brokerName") or ""
    return name if name != one.name else ""


def _finding(facts: FleetFacts, fault: Fault, brokers: Sequence[Announced]) -> Diagnosis:
    sentence = _(fault.sentence) % {"brokers": listed(map(_named, brokers), NAMES_MAX)}
    evidence = tuple(_line(facts, one) for one in brokers)
    commands, weight = _commands(facts, fault, brokers), _weight(facts, fault, brokers)
    return Diagnosis(sentence, evidence, commands, weight, state=fault.state)


def _named(one: Announced) -> str:
    if one.is_only_option:
        return one.addr
    if one.broker_id == MASTER_ID:
        return f"{one.name} ({one.addr})"
    return _("the slave %(id)d of %(broker)s (%(addr)s)") % {
        "id": one.broker_id, "broker": one.name, "addr": one.addr}  # fmt: skip


def _line(facts: FleetFacts, one: Announced) -> str:
    found = one.address
    words: Mapping[str, object] = {
        "broker": one.name, "id": one.broker_id, "addr": one.addr, "outcome": _(found.outcome),
        "error": found.error, "ips": ", ".join(found.ips), "scope": _(found.scope),
        "other": _other_name(facts, one),
    }  # fmt: skip
    if one.is_only_option:
        text = _("%(addr)s (%(scope)s): %(outcome)s, %(error)s")
    elif words["other"]:
        text = _("%(broker)s (id %(id)d) announced %(addr)s, where a broker says that it is %(other)s")
    elif found.ips and found.ips[0] not in one.addr:
        text = _("%(broker)s (id %(id)d) announced %(addr)s, which is %(ips)s here (%(scope)s): %(outcome)s")
    elif found.error:
        text = _("%(broker)s (id %(id)d) announced %(addr)s (%(scope)s): %(outcome)s, %(error)s")
    else:
        text = _("%(broker)s (id %(id)d) announced %(addr)s (%(scope)s): %(outcome)s")
    return text % words


def _commands(facts: FleetFacts, fault: Fault, brokers: Sequence[Announced]) -> tuple[str, ...]:
    if fault is UNSURE:
        return (_(fault.command), again(facts, "--from-client"))
    if fault in (*IN_USE.values(), NOT_THERE) or all(one.is_only_option for one in brokers):
        return (_(fault.command),)
    down = (_(START),) if fault is DOWN else ()
    if viewed := _views_of(facts):
        return *down, *viewed
    if down:  # it answered when it registered, so its configuration is the last thing to change
        return *down, _(fault.command)
    where = _("# in broker.conf of %(brokers)s, then restart it:") % {"brokers": listed({one.name for one in brokers})}
    return where, f"brokerIP1={_('ADDRESS')}", _(fault.command)


def _views_of(facts: FleetFacts) -> tuple[str, ...]:
    """With views of a rocketns the addresses that clients get are not the brokers' own: `brokerIP1` stays."""
    for one in facts.readable:
        if path := (one.configuration or {}).get("rocketns.viewsFile"):
            return _(VIEWS), f"rocketns views check {quote(path)} -n {one.addr} --as {_('ADDRESS')}"
    return ()


def _weight(facts: FleetFacts, fault: Fault, brokers: Sequence[Announced]) -> Weight:
    masters = {one.name for one in brokers if one.broker_id == MASTER_ID}
    if fault is NOT_THERE:
        return Weight.PARTLY if facts.groups else Weight.EXPLAINS
    if not masters:
        return Weight.NOTE if fault.state is Health.UNKNOWN else Weight.PARTLY
    weight = weight_of_brokers(facts, masters)
    return Weight.PRECISELY if weight is Weight.EXPLAINS and fault.names_cause else weight
