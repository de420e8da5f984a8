"""Brokers, Java clients and mqadmin that sign, those that do not, and those that are known by their network."""

from __future__ import annotations

import pytest

from interop.access.conftest import IN_A_ZONE
from interop.access.guarded import (
    CLIENTS,
    NAMESPACE,
    OLD_BROKERS_HOST,
    STRAY_TOPIC,
    TOPIC,
    Guarded,
    Way,
    give_keys,
    has_registered,
    signs_as,
    was_registered,
)
from interop.harness.rocketmq.brokers import CLUSTER
from interop.harness.rocketmq.java import CURRENT, OLD
from interop.harness.sending.clients import assert_each_arrives_once
from interop.harness.sending.fleet import Fleet
from interop.harness.wire import eventually

MESSAGES = 100
REFUSED = "CODE: 16 "
# By the class of what it asks first: a command, and what it prints when it is answered.
COMMANDS = {
    "lookup": (("topicRoute", "-t", TOPIC, "-l"), f"{CLUSTER} +broker-a "),
    "read": (("clusterList",), f"{CLUSTER} +broker-a "),
    "config": (("getNamesrvConfig",), "bindAddress"),
    "admin": (("updateKvConfig", "-s", NAMESPACE, "-k", "colour", "-v", "green"), "create or update kv config"),
}


def test_signed_clients_use_a_broker_that_signs(guarded: Guarded, fleet: Fleet) -> None:
    """The producer adds its zone after it has signed, the broker before that: the signatures cover other fields."""
    producer = fleet.producer([guarded.server], TOPIC, MESSAGES, options=(*signs_as(CLIENTS), *IN_A_ZONE))
    consumer = fleet.consumer([guarded.server], TOPIC, "readers", options=signs_as(CLIENTS))
    assert_each_arrives_once(producer, consumer, MESSAGES)


def test_signed_clients_use_an_old_broker_that_is_known_by_its_network(guarded: Guarded, fleet: Fleet) -> None:
    way = Way.to(guarded.server, fleet, OLD_BROKERS_HOST)
    topic = "Guarded-old"
    has_registered(fleet.unregistered("old-a", [way.relay], topics=[topic], version=OLD), guarded.server)
    producer = fleet.producer([guarded.server], topic, MESSAGES, version=OLD, options=signs_as(CLIENTS))
    consumer = fleet.consumer([guarded.server], topic, "old-readers", version=OLD, options=signs_as(CLIENTS))
    assert_each_arrives_once(producer, consumer, MESSAGES)


@pytest.mark.parametrize(
    ("version", "options", "reason"),
    [(CURRENT, (), "no_evidence"), (OLD, signs_as("nobody", "another"), "unknown_key")],
)
def test_client_that_is_not_known_sends_nothing(
    version: str, options: tuple[str, ...], reason: str, guarded: Guarded, way: Way, fleet: Fleet
) -> None:
    """Where lookups are observed it is served."""
    refused = fleet.producer([way.relay], STRAY_TOPIC, 1, version=version, options=options)
    refused.wait_for("DONE")
    way.was_refused("lookup", reason)
    assert refused.values("FAILED")
    with guarded.observed():
        served = fleet.producer([way.relay], STRAY_TOPIC, 1, version=version, options=options)
        served.wait_for("DONE")
        assert served.values("SENT") == ["0"]
        way.would_be_refused("lookup", reason)


def test_unsigned_broker_is_registered_only_where_brokers_are_observed(
    guarded: Guarded, way: Way, fleet: Fleet
) -> None:
    broker = fleet.unregistered("broker-b", [way.relay])
    broker.ask_to_register()
    way.was_refused("broker")
    assert not was_registered(broker, guarded.server)
    with guarded.observed():
        has_registered(broker, guarded.server)
        way.would_be_refused("broker")


def test_operator_who_signs_is_answered_within_the_namespaces_of_the_policy(guarded: Guarded, fleet: Fleet) -> None:
    operator = give_keys(fleet.admin(guarded.server))
    for words, printed in COMMANDS.values():
        operator.run(*words).prints(printed)
    other = operator.run("updateKvConfig", "-s", "elsewhere", "-k", "colour", "-v", "green")
    other.fails_with(f"{REFUSED}.*operators may not use this namespace")


def test_operator_without_keys_is_refused_and_answered_where_all_is_observed(
    guarded: Guarded, way: Way, fleet: Fleet
) -> None:
    admin = fleet.admin(way.relay)
    for words, _ in COMMANDS.values():
        admin.run(*words).says(REFUSED)
    eventually(lambda: way.told("refused") == [*COMMANDS])
    with guarded.observed():
        for words, printed in COMMANDS.values():
            admin.run(*words).prints(printed)
        eventually(lambda: way.told("would refuse") == [*COMMANDS])
