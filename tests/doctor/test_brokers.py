"""What is found wrong with brokers: their addresses, registrations, clocks and versions."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocketns.doctor.checks import address as check
from rocketns.doctor.checks.address import Fault
from rocketns.doctor.checks.brokers import clocks, present, version
from rocketns.doctor.checks.registering import elsewhere, registration_size, unregistered_topic
from rocketns.doctor.facts import AddressFacts, BrokerClock, BrokerFacts, FleetFacts, IpScope, NameServerFacts, Reaction
from rocketns.doctor.finding import Weight
from tests.doctor.page import GROUPS, NS_1, RW, TOPIC, A, B, broker, fleet, name_server, reached, route

ONLY_A: dict[str, dict[int, str]] = {"broker-a": {0: A}}


def server(groups: dict[str, dict[int, str]] = ONLY_A, **more: Any) -> NameServerFacts:
    """One that shows one broker, unless it is said."""
    return name_server(NS_1, {}, groups, ips=("10.0.0.1",), **more)


def told(name: str = "broker-a", addr: str = A, **more: Any) -> BrokerFacts:
    """A broker that has the configuration of its name."""
    return broker(name, addr, **{"configuration": own_list(NS_1, brokerName=name)} | more)


def own_list(text: str, **more: str) -> dict[str, str]:
    return {"brokerName": "broker-a", "namesrvAddr": text, **more}


def facts(
    *brokers: BrokerFacts, shown_by: NameServerFacts | None = None, addresses: tuple[AddressFacts, ...] = (),
    **options: Any,
) -> FleetFacts:  # fmt: skip
    """``options`` are those of the doctor. The brokers were reached, unless other addresses were tried."""
    tried = addresses or tuple(reached(one.addr, Reaction.ANSWERED, IpScope.PRIVATE) for one in brokers)
    by_addr = {one.addr: one for one in tried}
    return fleet(shown_by or server(), addresses=by_addr, brokers=brokers, **options)


CASES: list[tuple[Reaction, IpScope, dict[str, Any], Fault | None]] = [
    (Reaction.ANSWERED, IpScope.PRIVATE, {}, None),
    (Reaction.ANSWERED, IpScope.LOOPBACK, {}, check.LOOPBACK),
    (Reaction.ANSWERED, IpScope.LOOPBACK, {"from_client": True}, None),
    (Reaction.REFUSED, IpScope.LOOPBACK, {}, check.LOOPBACK),
    (Reaction.REFUSED, IpScope.PRIVATE, {}, check.BY_OUTCOME[Reaction.REFUSED]),
    (Reaction.REFUSED, IpScope.CONTAINER, {}, check.CONTAINER),
    (Reaction.TIMED_OUT, IpScope.LINK_LOCAL, {}, check.LINK_LOCAL),
    (Reaction.TIMED_OUT, IpScope.PRIVATE, {}, check.UNSURE),
    (Reaction.TIMED_OUT, IpScope.PRIVATE, {"from_client": True}, check.BY_OUTCOME[Reaction.TIMED_OUT]),
    (Reaction.UNREACHABLE, IpScope.PUBLIC, {"from_client": True}, check.BY_OUTCOME[Reaction.UNREACHABLE]),
    (Reaction.NO_HOST, IpScope.PRIVATE, {}, check.BY_OUTCOME[Reaction.NO_HOST]),
    (Reaction.UNRESOLVED, IpScope.UNKNOWN, {}, check.BY_OUTCOME[Reaction.UNRESOLVED]),
    *(
        (Reaction.SILENT, scope, {}, check.BY_OUTCOME[Reaction.SILENT])
        for scope in (IpScope.PRIVATE, IpScope.LOOPBACK, IpScope.LINK_LOCAL, IpScope.CONTAINER)
    ),
    (Reaction.CLOSED, IpScope.PRIVATE, {}, check.BY_OUTCOME[Reaction.CLOSED]),
    (Reaction.OTHER_PROTOCOL, IpScope.PRIVATE, {}, check.BY_OUTCOME[Reaction.OTHER_PROTOCOL]),
    (Reaction.SPEAKS_TLS, IpScope.PRIVATE, {}, None),
]


@pytest.mark.parametrize(("outcome", "scope", "options", "fault"), CASES)
def test_fault_by_what_happens_where(
    outcome: Reaction, scope: IpScope, options: dict[str, Any], fault: Fault | None
) -> None:
    findings = list(check.address(facts(addresses=(reached(A, outcome, scope),), **options)))
    assert [(one.state, one.sentence) for one in findings] == (
        [] if fault is None else [(fault.state, fault.sentence % {"brokers": f"broker-a ({A})"})]
    )
    assert all(A in one.evidence[0] and one.commands for one in findings)


def here(addr: str = A) -> AddressFacts:
    """A loopback address of this machine."""
    return replace(reached(addr, Reaction.ANSWERED, IpScope.LOOPBACK), is_here=True)


def test_loopback_is_well_where_all_is_on_one_machine() -> None:
    assert not list(check.address(facts(shown_by=server(is_here=True), addresses=(here(),))))


def test_loopback_is_a_fault_where_one_broker_is_elsewhere() -> None:
    tried = (here(), reached(B, Reaction.ANSWERED, IpScope.PRIVATE))
    (finding,) = check.address(facts(shown_by=server(GROUPS, is_here=True), addresses=tried))
    assert finding.sentence == check.LOOPBACK.sentence % {"brokers": f"broker-a ({A})"}


def test_another_broker_at_the_address_is_named() -> None:
    (finding,) = check.address(facts(told(configuration={"brokerName": "broker-b"})))
    assert finding.sentence == check.ANOTHER_BROKER.sentence % {"brokers": f"broker-a ({A})"}
    assert "broker-b" in finding.evidence[0]


WELL_A, WELL_B = (reached(one, Reaction.ANSWERED, IpScope.PRIVATE) for one in (A, B))


@pytest.mark.parametrize(
    ("groups", "tried", "weight"),
    [(GROUPS, (reached(A, Reaction.REFUSED, IpScope.LOOPBACK), WELL_B), Weight.PRECISELY),
     ({"broker-a": {0: A, 1: B}}, (WELL_A, reached(B, Reaction.REFUSED, IpScope.PRIVATE)), Weight.PARTLY)],
    ids=["all brokers of the topic", "a slave"],
)  # fmt: skip
def test_a_fault_explains_as_much_as_it_keeps_from_clients(
    groups: dict[str, dict[int, str]], tried: tuple[AddressFacts, ...], weight: Weight
) -> None:
    on_one = server(groups, routes={TOPIC: route({"broker-a": RW}, groups)})
    (finding,) = check.address(facts(shown_by=on_one, addresses=tried, topic=TOPIC))
    assert finding.weight is weight


@pytest.mark.parametrize("text", [NS_1, "ns.example:9876", f"10.0.0.7:1; {NS_1}", ""])
def test_broker_that_every_name_server_shows_is_well(text: str) -> None:
    assert not list(elsewhere(facts(told(configuration=own_list(text)))))


def test_broker_that_no_name_server_shows_is_the_cause_where_none_has_another() -> None:
    given = told(is_announced=False, configuration=own_list("10.0.0.7:9876"))
    (finding,) = elsewhere(facts(given, shown_by=server({})))
    assert finding.weight is Weight.PRECISELY


@pytest.mark.parametrize(
    ("size", "settings", "weight"),
    [(None, {}, None), (1_000_000, {}, None), (14_000_000, {}, Weight.NOTE), (16_777_216, {}, Weight.NOTE),
     (16_777_217, {}, Weight.PRECISELY), (20_000_000, {"compressedRegister": "true"}, None),
     (20_000_000, {"enableSplitRegistration": "true"}, None)],
)  # fmt: skip
def test_size_of_a_registration(size: int | None, settings: dict[str, str], weight: Weight | None) -> None:
    found = registration_size(facts(told(topics_bytes=size, configuration=own_list(NS_1, **settings))))
    assert [one.weight for one in found] == ([] if weight is None else [weight])


def at(name: str, from_s: float, to_s: float) -> BrokerFacts:
    return told(name, f"{name}:10911", clock=BrokerClock(round(from_s * 1000), round(to_s * 1000)))


@pytest.mark.parametrize(
    ("told", "ill"),
    [([("a", -0.5, 0.6), ("b", -0.9, 0.2)], []), ([("a", -0.5, 0.6), ("b", 5.0, 6.0)], []),
     ([("a", -0.5, 0.6), ("b", 6.0, 7.1), ("c", -0.4, 0.7)], ["b"]),
     ([("a", -70, -69), ("b", 0, 1), ("c", 0, 1)], ["a"]),
     ([("a", 0.0, 30.0), ("b", 20.0, 21.0)], [])],
)  # fmt: skip
def test_clock_is_apart_only_beyond_the_uncertainty(told: list[tuple[Any, ...]], ill: list[str]) -> None:
    found = list(clocks(facts(*(at(*one) for one in told))))
    assert [name for one in found for name in "abc" if f"of {name} " in one.sentence] == ill


@pytest.mark.parametrize(
    ("broker_version", "client", "lacking"),
    [(513, 513, 0), (407, 513, 3), (407, 407, 0), (312, 407, 1), (513, None, 0)],
)
def test_older_broker_lacks_what_the_client_can(broker_version: int, client: int | None, lacking: int) -> None:
    found = list(version(facts(told(version=broker_version), client_version=client)))
    assert sum(len(one.evidence) - 1 for one in found) == lacking


def test_topic_that_its_route_shows_is_well() -> None:
    shown_by = server(routes={TOPIC: route({"broker-a": RW}, ONLY_A)})
    assert not list(unregistered_topic(facts(told(topics={TOPIC: {}}), shown_by=shown_by, topic=TOPIC)))


@pytest.mark.parametrize(
    ("is_here", "words"), [(True, "in its list of name servers"), (False, "list of name servers lacks")]
)
def test_loopback_in_a_brokers_list_is_a_name_server_of_this_machine_only(is_here: bool, words: str) -> None:
    shown_by = server({}, is_here=is_here)
    (finding,) = elsewhere(facts(told(configuration=own_list("127.0.0.1:9876")), shown_by=shown_by))
    assert words in finding.sentence


def test_a_broker_that_is_shown_by_another_address_registers_there() -> None:
    """Given with --broker by an address that it does not announce."""
    one = told(addr="10.9.9.9:10911", is_announced=False, configuration=own_list(NS_1))
    assert not list(elsewhere(facts(one)))


def test_no_topic_of_a_slave_is_missed_in_the_route() -> None:
    """Routes have only the queues of masters, as a slave has the topics of its master."""
    one = told(broker_id=1, topics={TOPIC: {"perm": 6}})
    asked = facts(one, shown_by=server(routes={TOPIC: None}), topic=TOPIC)
    assert not list(unregistered_topic(asked))


@pytest.mark.parametrize(("outcome", "lines"), [(Reaction.REFUSED, 3), (Reaction.OTHER_PROTOCOL, 2)])
def test_views_are_mended_in_their_file_and_not_at_the_broker(outcome: Reaction, lines: int) -> None:
    viewing = server(configuration={"rocketns.viewsFile": "/etc/my views.toml"})
    (found,) = check.address(facts(shown_by=viewing, addresses=(reached(A, outcome, IpScope.PRIVATE),)))
    assert len(found.commands) == lines
    assert found.commands[-1] == f"rocketns views check '/etc/my views.toml' -n {NS_1} --as ADDRESS"
    assert not any("brokerIP1" in one for one in found.commands)


REASON = "org.apache.rocketmq.remoting.exception.RemotingConnectException: connect to 10.0.0.9:9876 failed"
BEHIND = "\tat org.apache.rocketmq.broker.out.BrokerOuterAPI.registerBroker(BrokerOuterAPI.java:580)\n" * 20


@pytest.mark.parametrize(
    "line",
    ["WARN brokerOutApi_thread_1 - registerBroker Exception, 10.0.0.9:9876",  # 4.9.7, and 5.5.0
     "ERROR brokerOutApi_thread_1 - Failed to register current broker to name server. TargetHost=10.0.0.9:9876"],
)  # fmt: skip
def test_the_command_for_a_brokers_log_prints_why_it_could_not_register(line: str, tmp_path: Path) -> None:
    log = tmp_path / "logs" / "rocketmqlogs" / "broker.log"
    log.parent.mkdir(parents=True)
    log.write_text(f"INFO main - registerBrokerTimeoutMills=24000\n{line}\n{REASON}\n{BEHIND}", "utf-8")
    (found,) = present(facts(shown_by=server({})))
    (command,) = (one for one in found.commands if one.startswith("grep"))
    printed = subprocess.run(["sh", "-c", command], env=os.environ | {"HOME": str(tmp_path)},
                             capture_output=True, text=True, check=True).stdout  # fmt: skip
    assert printed == f"{line}\n{REASON}\n"
