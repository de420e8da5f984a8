"""Brokers, clients and mqadmin that sign, and those that do not, at a name server that enforces or observes."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.access.policies import OLD_BROKERS, SIGNING_BROKER, SIGNING_CLIENT, give_keys, write_policy
from interop.harness import codes
from interop.harness.rocketmq.java import CURRENT, OLD
from interop.harness.sending.fleet import Fleet
from interop.harness.sending.flow import assert_each_arrives_once
from interop.harness.wire import Client

TOPIC, MESSAGES = "Guarded", 100
NO_PERMISSION = 16


@pytest.mark.client(
    language="Java",
    client="`rocketmq-client`",
    version=CURRENT,
    shows="signed requests of a broker, clients and mqadmin where everything else is refused",
)
def test_signing_fleet_works_where_everything_is_enforced(fleet: Fleet, tmp_path: Path) -> None:
    server = fleet.name_server(write_policy(tmp_path / "policy", "enforce"))
    broker = fleet.unregistered("broker-a", [server], topics=[TOPIC], properties=SIGNING_BROKER)
    server.process.wait_for("new broker registered", 120)

    producer = fleet.producer([server], TOPIC, MESSAGES, options=SIGNING_CLIENT)
    consumer = fleet.consumer([server], TOPIC, "readers", options=SIGNING_CLIENT)
    assert_each_arrives_once(producer, consumer, MESSAGES)

    unsigned = fleet.producer([server], TOPIC, 1)
    unsigned.wait_for("DONE")
    assert not unsigned.values("SENT")
    server.process.wait_for("no_evidence")

    admin = give_keys(fleet.admin(server))
    admin.run("topicRoute", "-t", TOPIC).prints(broker.address)
    admin.run("wipeWritePerm", "-b", "broker-a").prints("wipe write perm of broker\\[broker-a\\]")
    fleet.admin(server).run("wipeWritePerm", "-b", "broker-a").fails_with("CODE: 16")
    with Client(server.port) as client:
        assert client.request(codes.GET_BROKER_CLUSTER_INFO).code == NO_PERMISSION


def test_unsigned_broker_is_not_registered_where_brokers_are_enforced(fleet: Fleet, tmp_path: Path) -> None:
    server = fleet.name_server(write_policy(tmp_path / "policy", "enforce"))
    fleet.unregistered("broker-a", [server], topics=[TOPIC])
    server.process.wait_for("103.*no_evidence|no_evidence.*103", 120)
    assert "new broker registered" not in server.process.text()


@pytest.mark.client(
    language="Java", client="`rocketmq-client`", version=OLD, shows="a broker known by its network, and signed lookups"
)
def test_old_broker_is_known_by_its_network_and_its_clients_sign(fleet: Fleet, tmp_path: Path) -> None:
    server = fleet.name_server(write_policy(tmp_path / "policy", "enforce", OLD_BROKERS))
    fleet.unregistered("broker-a", [server], topics=[TOPIC], version=OLD)
    server.process.wait_for("new broker registered", 120)
    producer = fleet.producer([server], TOPIC, MESSAGES, version=OLD, options=SIGNING_CLIENT)
    consumer = fleet.consumer([server], TOPIC, "readers", version=OLD, options=SIGNING_CLIENT)
    assert_each_arrives_once(producer, consumer, MESSAGES)


def test_unsigned_fleet_works_and_is_told_of_where_everything_is_observed(fleet: Fleet, tmp_path: Path) -> None:
    server = fleet.name_server(write_policy(tmp_path / "policy", "observe"))
    fleet.broker("broker-a", server, topics=[TOPIC])
    producer, consumer = fleet.producer([server], TOPIC, MESSAGES), fleet.consumer([server], TOPIC, "readers")
    assert_each_arrives_once(producer, consumer, MESSAGES)
    for access in ("broker", "lookup"):
        server.process.wait_for(f"{access}.*no_evidence|no_evidence.*{access}")
