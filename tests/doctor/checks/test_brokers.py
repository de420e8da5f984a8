"""What brokers say of their registrations, clocks and versions."""

from __future__ import annotations

from typing import Any

import pytest

from rocketns.doctor.checks.brokers.clocks import clocks
from rocketns.doctor.checks.brokers.elsewhere import elsewhere
from rocketns.doctor.checks.brokers.registration_size import registration_size
from rocketns.doctor.checks.brokers.unregistered_topic import unregistered_topic
from rocketns.doctor.checks.brokers.version import version
from rocketns.doctor.facts.brokers import BrokerFacts, Clock
from rocketns.doctor.facts.name_servers import Kind
from rocketns.doctor.finding import State, Weight
from rocketns.languages import use
from tests.doctor.checks.made import BROKER, NAME_SERVER, broker, facts, name_server, route

OTHER = "10.0.0.8:9876"


def own_list(text: str, **more: str) -> dict[str, str]:
    return {"brokerName": "broker-a", "namesrvAddr": text, **more}


@pytest.mark.parametrize("text", ["10.0.0.9:9876", "ns.example:9876", "10.0.0.7:1; 10.0.0.9:9876", ""])
def test_broker_that_every_name_server_shows_is_well(text: str) -> None:
    assert not list(elsewhere(facts(broker(configuration=own_list(text)))))


def test_broker_whose_list_lacks_a_name_server_registers_elsewhere() -> None:
    servers = (name_server(), name_server(OTHER, groups={}))
    (finding,) = elsewhere(facts(broker(configuration=own_list(NAME_SERVER)), servers=servers))
    assert OTHER in finding.sentence
    assert "namesrvAddr=10.0.0.9:9876" in finding.evidence[0]
    assert finding.commands[0] == (
        f"mqadmin updateBrokerConfig -n '{NAME_SERVER};{OTHER}' -b {BROKER} -k namesrvAddr -v '{NAME_SERVER};{OTHER}'"
    )


def test_list_is_compared_by_addresses_too() -> None:
    """The broker knows the name server by its address, the user by its name."""
    server = name_server("ns.example:9876", groups={}, ips=("10.0.0.8",))
    (finding,) = elsewhere(facts(broker(configuration=own_list(OTHER)), servers=(name_server(), server)))
    assert "refused" in finding.sentence


def test_broker_that_no_name_server_shows_is_the_cause_where_none_has_another() -> None:
    given = broker(is_announced=False, configuration=own_list("10.0.0.7:9876"))
    (finding,) = elsewhere(facts(given, servers=(name_server(groups={}),), brokers=(BROKER,)))
    assert finding.weight is Weight.PRECISELY


def test_broker_without_a_list_is_named() -> None:
    settings = own_list("", fetchNamesrvAddrByAddressServer="true")
    (finding,) = elsewhere(facts(broker(configuration=settings), servers=(name_server(groups={}),)))
    assert "no list" in finding.sentence
    assert len(finding.evidence) == 2


@pytest.mark.parametrize(("tls", "uses"), [(True, "false"), (False, "true")])
def test_broker_with_another_transport_is_told_apart(tls: bool, uses: str) -> None:
    settings = own_list(NAME_SERVER, useTLS=uses)
    (finding,) = elsewhere(facts(broker(configuration=settings), servers=(name_server(groups={}),), tls=tls))
    assert f"useTLS={uses}" in finding.evidence[-1]
    assert "tls" in finding.commands[1]


@pytest.mark.parametrize(
    ("size", "settings", "weight"),
    [(None, {}, None), (1_000_000, {}, None), (14_000_000, {}, Weight.NOTE), (16_777_216, {}, Weight.NOTE),
     (16_777_217, {}, Weight.PRECISELY), (20_000_000, {"compressedRegister": "true"}, None),
     (20_000_000, {"enableSplitRegistration": "true"}, None)],
)  # fmt: skip
def test_size_of_a_registration(size: int | None, settings: dict[str, str], weight: Weight | None) -> None:
    found = registration_size(facts(broker(topics_bytes=size, configuration=own_list(NAME_SERVER, **settings))))
    assert [one.weight for one in found] == ([] if weight is None else [weight])


def test_size_that_an_unregistered_broker_does_not_tell_is_unknown() -> None:
    (finding,) = registration_size(facts(broker(is_announced=False)))
    assert finding.state is State.UNKNOWN
    assert list(registration_size(facts(broker(is_announced=False, topics_bytes=1_000_000)))) == []


@pytest.mark.parametrize(("split", "name"), [({"enableSplitRegistration": "false"}, "enableSplitRegistration"),
                                             ({}, "compressedRegister")])  # fmt: skip
def test_too_large_registration_is_sent_in_parts_where_the_broker_can(split: dict[str, str], name: str) -> None:
    (finding,) = registration_size(facts(broker(topics_bytes=20_000_000, configuration=own_list(NAME_SERVER, **split))))
    assert finding.commands[0] == f"mqadmin updateBrokerConfig -n {NAME_SERVER} -b {BROKER} -k {name} -v true"


@pytest.mark.parametrize(("kind", "version", "named"), [(Kind.JAVA, 513, True), (Kind.JAVA, 407, False),
                                                       (Kind.ROCKETNS, 513, False)])  # fmt: skip
def test_registration_that_java_cannot_inflate_is_named(kind: Kind, version: int, named: bool) -> None:
    settings = own_list(NAME_SERVER, compressedRegister="true")
    made = facts(broker(version=version, configuration=settings), servers=(name_server(groups={}, kind=kind),))
    (finding,) = elsewhere(made)
    assert ("compresses" in finding.sentence) == named


def test_registrations_compressed_in_vain_are_named_in_every_language() -> None:
    """Several name servers are listed with another comma in Chinese."""
    java = tuple(name_server(addr, groups={}, kind=Kind.JAVA) for addr in (NAME_SERVER, OTHER))
    one = broker(configuration=own_list(f"{NAME_SERVER};{OTHER}", compressedRegister="true"), version=513)
    use("zh")
    try:
        (finding,) = elsewhere(facts(one, servers=java))
    finally:
        use("en")
    assert "压缩" in finding.sentence


def test_too_large_registration_stands_before_what_follows_from_it() -> None:
    given = broker(is_announced=False, topics_bytes=20_000_000)
    made = facts(given, servers=(name_server(groups={}),))
    (cause,), (effect,) = registration_size(made), elsewhere(made)
    assert cause.weight > effect.weight
    assert cause.check in effect.follows


def at(name: str, from_s: float, to_s: float) -> BrokerFacts:
    return broker(name, f"{name}:10911", clock=Clock(round(from_s * 1000), round(to_s * 1000)))


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


def test_far_apart_clocks_weigh_more() -> None:
    (near,) = clocks(facts(at("a", 0, 1), at("b", 0, 1), at("c", 10, 11)))
    (far,) = clocks(facts(at("a", 0, 1), at("b", 0, 1), at("c", 90, 91)))
    assert (near.weight, far.weight) == (Weight.NOTE, Weight.PARTLY)


def test_own_clock_is_named_where_all_brokers_agree() -> None:
    (finding,) = clocks(facts(at("a", 60, 61), at("b", 60.3, 61.3)))
    assert "This machine's clock" in finding.sentence


@pytest.mark.parametrize(
    ("broker_version", "client", "lacking"),
    [(513, 513, 0), (407, 513, 3), (407, 407, 0), (312, 407, 1), (513, None, 0)],
)
def test_older_broker_lacks_what_the_client_can(broker_version: int, client: int | None, lacking: int) -> None:
    found = list(version(facts(broker(version=broker_version), client_version=client)))
    assert sum(len(one.evidence) - 1 for one in found) == lacking


def test_topic_that_only_its_broker_shows_was_not_registered() -> None:
    settings = {"readQueueNums": 8, "writeQueueNums": 8, "perm": 6}
    server = name_server(routes={"Orders": None})
    (finding,) = unregistered_topic(facts(broker(topics={"Orders": settings}), servers=(server,), topics=("Orders",)))
    assert finding.weight is Weight.EXPLAINS
    assert f"updateTopic -n {NAME_SERVER} -b {BROKER} -t Orders -r 8 -w 8 -p 6" in finding.commands[1]


def test_topic_that_its_route_shows_is_well() -> None:
    server = name_server(routes={"Orders": route("broker-a")})
    assert not list(unregistered_topic(facts(broker(topics={"Orders": {}}), servers=(server,), topics=("Orders",))))


@pytest.mark.parametrize(
    ("is_here", "words"), [(True, "in its list of name servers"), (False, "list of name servers lacks")]
)
def test_loopback_in_a_brokers_list_is_a_name_server_of_this_machine_only(is_here: bool, words: str) -> None:
    server = name_server(groups={}, is_here=is_here)
    (finding,) = elsewhere(facts(broker(configuration=own_list("127.0.0.1:9876")), servers=(server,)))
    assert words in finding.sentence


def test_a_broker_that_is_shown_by_another_address_registers_there() -> None:
    """Given with --broker by an address that it does not announce."""
    one = broker(addr="10.0.1.1:10911", is_announced=False, configuration=own_list(NAME_SERVER))
    assert not list(elsewhere(facts(one)))


def test_no_topic_of_a_slave_is_missed_in_the_route() -> None:
    """Routes have only the queues of masters, as a slave has the topics of its master."""
    one = broker(broker_id=1, topics={"Orders": {"perm": 6}})
    asked = facts(one, servers=(name_server(routes={"Orders": None}),), topics=("Orders",))
    assert not list(unregistered_topic(asked))
