"""Brokers of three releases side by side in one cluster, and classic Java clients of two."""

from __future__ import annotations

from interop.harness import views
from interop.harness.rocketmq.brokers import CLUSTER, Broker
from interop.harness.rocketmq.java import CURRENT, OLD
from interop.harness.rocketmq.maven import classpath
from interop.harness.sending.fleet import Fleet
from interop.harness.sending.flow import assert_each_arrives_once
from interop.harness.topics import stored

BETWEEN = "5.3.3"
VERSIONS = (OLD, BETWEEN, CURRENT)
MESSAGES = 150


def build() -> None:
    classpath(BETWEEN)


def test_clients_of_two_releases_use_brokers_of_three(fleet: Fleet) -> None:
    """B109, B198, B199, B216: what one release sends the other receives, and each broker carries a part."""
    server = fleet.name_server()
    topics = {sender: f"From-{sender.replace('.', '-')}" for sender in (CURRENT, OLD)}
    brokers = [fleet.broker(f"broker-{v}", server, version=v, topics=topics.values()) for v in VERSIONS]
    expected = {broker.name: {0: broker.address} for broker in brokers}
    assert views.brokers(server) == expected

    for sender, receiver in ((CURRENT, OLD), (OLD, CURRENT)):
        topic = topics[sender]
        assert views.addresses(server, topic) == expected
        producer = fleet.producer([server], topic, MESSAGES, version=sender)
        producer.wait_for("DONE")
        consumer = fleet.consumer([server], topic, f"readers-{topic}", version=receiver)
        assert_each_arrives_once(producer, consumer, MESSAGES)
        carried = {broker.version: stored(broker.port, topic) for broker in brokers}
        assert sum(carried.values()) == MESSAGES
        assert all(carried.values()), carried

    command = fleet.admin(server).run("clusterList")
    for broker in brokers:
        printed = command.prints(rf"{CLUSTER} +{broker.name} .*\n")[0]
        assert printed.split()[:5] == [CLUSTER, broker.name, "0", broker.address, _printed_version(broker)]


def _printed_version(broker: Broker) -> str:
    return "V" + broker.version.replace(".", "_")
