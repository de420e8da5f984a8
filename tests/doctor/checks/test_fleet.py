"""What is said of name servers and of the broker groups that they show."""

from __future__ import annotations

import pytest

from interop.harness import codes
from rocketns.doctor.finding import State
from tests.client.peers import CLOSED as REFUSING
from tests.doctor.standin import CREATION, ONE, SYSTEM, TWO, StandIn, examined, found, ill, well

OTHER = "10.0.0.9:10911"


def test_a_well_fleet_is_well() -> None:
    report = examined(well(), well())
    assert (ill(report), report.of(State.UNKNOWN), report.exit_status) == ([], [], 0)
    assert found(report, "name-server-kind").sentence == "name servers: 2 Java 5.5.0"


def test_a_name_server_that_refuses_is_named_and_the_other_one_serves() -> None:
    report = examined(well(), addrs=(REFUSING,), topics=("Orders",))
    assert ill(report) == ["name-server-reachable"]
    assert found(report, "name-server-reachable").weight.name == "PARTLY"


def test_an_unreachable_name_server_comes_before_what_follows_from_it() -> None:
    """The other one has no broker, so it is no wonder that it lacks the topic."""
    report = examined(StandIn(), addrs=(REFUSING,), topics=("Orders",))
    assert ill(report) == ["name-server-reachable", "no-broker", "topic-missing"]


def test_a_missing_topic_comes_before_a_second_name_server_that_is_down() -> None:
    report = examined(well(), addrs=(REFUSING,), topics=("Payments",))
    assert ill(report) == ["topic-missing", "name-server-reachable"]


def test_a_name_server_that_waits_for_its_brokers_is_named() -> None:
    one = well()
    one.wrong = {codes.GET_ROUTEINFO_BY_TOPIC: 1}
    assert "waits for its brokers" in found(examined(one), "name-server-reachable").sentence


def test_a_name_server_that_wants_a_key_cannot_be_judged() -> None:
    one = well()
    one.wrong = {codes.GET_ROUTEINFO_BY_TOPIC: 16}
    report = examined(one, topics=("Orders",))
    assert (ill(report), report.exit_status) == ([], 2)


def test_a_broker_in_the_list_of_name_servers_is_the_cause() -> None:
    report = examined(StandIn(wrong={codes.GET_BROKER_CLUSTER_INFO: 3}), topics=("Orders",))
    assert ill(report) == ["name-server-kind"]


def test_no_broker_at_all_is_the_cause_of_a_missing_topic() -> None:
    assert ill(examined(StandIn(), topics=("Orders",))) == ["no-broker", "topic-missing"]


def test_what_each_name_server_lacks_is_named() -> None:
    other = StandIn({"broker-a": {0: ONE}}, {"SELF_TEST_TOPIC": {"broker-a": {}}, "TBW102": {"broker-a": {}}})
    report = examined(well(), other)
    second = report.facts.name_servers[1].addr
    assert ill(report) == ["name-servers-agree"]
    assert found(report, "name-servers-agree").sentence == (
        f"The name server {second} lacks brokers that others have (broker-b), and with them topics (Orders)."
    )


def test_name_servers_of_two_fleets_are_told_from_one_that_lacks_brokers() -> None:
    east = StandIn({"east": {0: ONE}}, {"Orders": {"east": {}}, "SELF_TEST_TOPIC": {"east": {}}})
    west = StandIn({"west": {0: TWO}}, {"SELF_TEST_TOPIC": {"west": {}}})
    report = examined(east, west, topics=("Orders",))
    assert "no broker in common" in found(report, "name-servers-agree").sentence
    assert ill(report)[0] in ("name-servers-agree", "topic-on-some-name-servers")


def test_two_masters_at_different_name_servers_are_seen_at_once() -> None:
    one, other = well(), well()
    other.brokers["broker-a"] = {0: OTHER}
    report = examined(one, other)
    assert ill(report) == ["two-masters"]
    assert all(addr in found(report, "two-masters").sentence for addr in (ONE, OTHER))


def test_two_masters_that_take_turns_are_seen_by_watching() -> None:
    one = well()
    one.later = [one.brokers, {"broker-a": {0: OTHER}, "broker-b": {0: TWO}}]
    assert ill(examined(one)) == []
    assert ill(examined(one, watch_s=20)) == ["two-masters"]


def test_the_same_names_at_other_addresses_are_no_two_fleets() -> None:
    other = well()
    other.brokers = {"broker-a": {0: OTHER}, "broker-b": {0: "10.0.0.8:10911"}}
    assert set(ill(examined(well(), other))) == {"two-masters"}


@pytest.mark.parametrize(("topic", "expected"), [("rmq_sys_wheel_timer", []), ("Payments", ["name-servers-agree"])])
def test_nobody_misses_a_topic_that_brokers_make_for_themselves(topic: str, expected: list[str]) -> None:
    assert ill(examined(well(), well(**{topic: {"broker-a": {}}}))) == expected


def test_it_is_said_when_each_master_was_seen_first() -> None:
    one = well()
    one.later = [one.brokers, {"broker-a": {0: OTHER}, "broker-b": {0: TWO}}] * 2
    first, second = found(examined(one, watch_s=20), "two-masters").evidence
    assert (f"{ONE}: seen at" in first, "after" in first) == (True, False)
    assert (f"{OTHER}: seen at" in second, second.endswith("after 0.02 s")) == (True, True)


def test_slaves_without_a_master_are_the_cause_where_the_topic_has_no_other_broker() -> None:
    one = well(OnlyA={"broker-a": {}})
    one.brokers["broker-a"] = {1: ONE}
    report = examined(one, topics=("OnlyA",))
    assert (ill(report), found(report, "slave-without-master").weight.name) == (["slave-without-master"], "EXPLAINS")


def test_a_slave_beside_its_master_is_well() -> None:
    one = well()
    one.brokers["broker-a"] = {0: ONE, 1: OTHER}
    assert ill(examined(one)) == []


def test_a_broker_name_in_two_clusters_is_named() -> None:
    one = well()
    one.clusters = {"c": ["broker-a", "broker-b"], "other": ["broker-a"]}
    report = examined(one)
    assert ill(report) == ["broker-in-two-clusters"]
    finding = found(report, "broker-in-two-clusters")
    assert "c, other" in finding.sentence
    assert finding.commands[-1].endswith("brokerClusterName=c"), "that of the broker which came first"


def test_of_a_name_in_two_clusters_no_address_need_be_known() -> None:
    one = well()
    one.clusters = {"other": ["gone"], "third": ["gone"]}
    finding = found(examined(one), "broker-in-two-clusters")
    assert finding.commands[-1].endswith("brokerClusterName=other")


def test_an_address_in_two_places_is_named() -> None:
    one = StandIn({"broker-a": {0: ONE}, "old-name": {0: ONE}}, {**SYSTEM, **CREATION})
    assert ill(examined(one)) == ["broker-id-moves"]


def test_slaves_with_one_id_are_named() -> None:
    one, other = well(), well()
    one.brokers["broker-a"] = {0: ONE, 1: "10.0.0.7:10911"}
    other.brokers["broker-a"] = {0: ONE, 1: "10.0.0.8:10911"}
    assert ill(examined(one, other)) == ["broker-id-moves"]
