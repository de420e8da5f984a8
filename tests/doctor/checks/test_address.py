"""Announced addresses that others cannot use."""

from __future__ import annotations

from typing import Any

import pytest

from rocketns.doctor.checks.brokers import address as check
from rocketns.doctor.checks.brokers.address import Fault
from rocketns.doctor.facts.reach import Outcome, Place
from rocketns.doctor.finding import Finding, State, Weight
from tests.doctor.checks.made import BROKER, address, broker, facts, group, name_server, route

CASES: list[tuple[Outcome, Place, dict[str, Any], Fault | None]] = [
    (Outcome.ANSWERED, Place.PRIVATE, {}, None),
    (Outcome.ANSWERED, Place.PUBLIC, {}, None),
    (Outcome.ANSWERED, Place.CONTAINER, {}, None),
    (Outcome.ANSWERED, Place.LOOPBACK, {}, check.LOOPBACK),
    (Outcome.ANSWERED, Place.LOOPBACK, {"from_client": True}, None),
    (Outcome.REFUSED, Place.LOOPBACK, {}, check.LOOPBACK),
    (Outcome.REFUSED, Place.LOOPBACK, {"from_client": True}, check.LOOPBACK),
    (Outcome.REFUSED, Place.PRIVATE, {}, check.REFUSED),
    (Outcome.REFUSED, Place.CONTAINER, {}, check.CONTAINER),
    (Outcome.TIMED_OUT, Place.CONTAINER, {}, check.CONTAINER),
    (Outcome.UNREACHABLE, Place.CONTAINER, {}, check.CONTAINER),
    (Outcome.TIMED_OUT, Place.LINK_LOCAL, {}, check.LINK_LOCAL),
    (Outcome.TIMED_OUT, Place.PRIVATE, {}, check.UNSURE),
    (Outcome.TIMED_OUT, Place.PRIVATE, {"from_client": True}, check.TIMED_OUT),
    (Outcome.UNREACHABLE, Place.PUBLIC, {}, check.UNSURE),
    (Outcome.UNREACHABLE, Place.PUBLIC, {"from_client": True}, check.UNREACHABLE),
    (Outcome.NO_HOST, Place.PRIVATE, {}, check.NO_HOST),
    (Outcome.NO_HOST, Place.CONTAINER, {}, check.CONTAINER),
    (Outcome.UNRESOLVED, Place.UNKNOWN, {}, check.UNRESOLVED),
    (Outcome.SILENT, Place.PRIVATE, {}, check.SILENT),
    (Outcome.CLOSED, Place.PRIVATE, {}, check.CLOSED),
    (Outcome.OTHER_PROTOCOL, Place.PRIVATE, {}, check.ANOTHER_PROTOCOL),
    (Outcome.SPEAKS_TLS, Place.PRIVATE, {}, None),
]


def found(outcome: Outcome, place: Place, options: dict[str, Any]) -> list[Finding]:
    return list(check.address(facts(addresses=(address(BROKER, outcome, place),), **options)))


@pytest.mark.parametrize(("outcome", "place", "options", "fault"), CASES)
def test_fault_by_what_happens_where(
    outcome: Outcome, place: Place, options: dict[str, Any], fault: Fault | None
) -> None:
    findings = found(outcome, place, options)
    assert [(one.state, one.sentence) for one in findings] == (
        [] if fault is None else [(fault.state, fault.sentence % {"brokers": f"broker-a ({BROKER})"})]
    )
    assert all(BROKER in one.evidence[0] and one.commands for one in findings)


def test_loopback_is_well_where_all_is_on_one_machine() -> None:
    here = address(BROKER, place=Place.LOOPBACK, is_here=True)
    assert not list(check.address(facts(servers=(name_server(is_here=True),), addresses=(here,))))


def test_loopback_is_a_fault_where_one_broker_is_elsewhere() -> None:
    server = name_server(is_here=True, groups={"broker-a": group(BROKER), "broker-b": group("10.0.0.2:10911")})
    tried = (address(BROKER, place=Place.LOOPBACK, is_here=True), address("10.0.0.2:10911"))
    (finding,) = check.address(facts(servers=(server,), addresses=tried))
    assert finding.sentence == check.LOOPBACK.sentence % {"brokers": f"broker-a ({BROKER})"}


def test_another_broker_at_the_address_is_named() -> None:
    (finding,) = check.address(facts(broker(configuration={"brokerName": "broker-b"})))
    assert finding.sentence == check.ANOTHER_BROKER.sentence % {"brokers": f"broker-a ({BROKER})"}
    assert "broker-b" in finding.evidence[0]


def test_fault_of_all_brokers_of_the_topic_explains_most() -> None:
    server = name_server(
        groups={"broker-a": group(BROKER), "broker-b": group("10.0.0.2:10911")}, routes={"Orders": route("broker-a")}
    )
    tried = (address(BROKER, Outcome.REFUSED, Place.LOOPBACK), address("10.0.0.2:10911"))
    (finding,) = check.address(facts(servers=(server,), addresses=tried, topics=("Orders",)))
    assert finding.weight is Weight.PRECISELY


def test_fault_of_a_slave_explains_little() -> None:
    server = name_server(groups={"broker-a": group(BROKER, "10.0.0.2:10911")})
    tried = (address(BROKER), address("10.0.0.2:10911", Outcome.REFUSED))
    (finding,) = check.address(facts(servers=(server,), addresses=tried))
    assert finding.weight is Weight.PARTLY


def test_one_finding_has_all_brokers_of_one_fault() -> None:
    addrs = [f"10.0.0.{n}:10911" for n in range(20)]
    server = name_server(groups={f"broker-{n:02d}": group(addr) for n, addr in enumerate(addrs)})
    tried = tuple(address(addr, Outcome.REFUSED) for addr in addrs)
    (finding,) = check.address(facts(servers=(server,), addresses=tried))
    assert len(finding.evidence) == check.LINES_MAX + 1


def test_broker_that_was_only_given_and_does_not_answer_is_said() -> None:
    given = "10.0.0.7:10911"
    tried = (address(BROKER), address(given, Outcome.REFUSED))
    (finding,) = check.address(facts(addresses=tried, brokers=(given,)))
    assert (finding.state, finding.sentence) == (State.ILL, check.GIVEN.sentence % {"brokers": given})


@pytest.mark.parametrize(("outcome", "may_be_down"), [(Outcome.REFUSED, True), (Outcome.NO_HOST, True),
                                                      (Outcome.UNRESOLVED, False)])  # fmt: skip
def test_a_broker_that_may_be_down_is_to_be_started_first(outcome: Outcome, may_be_down: bool) -> None:
    (finding,) = found(outcome, Place.PRIVATE, {})
    assert ("start it again" in finding.commands[0]) == may_be_down
