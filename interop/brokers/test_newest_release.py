"""A broker of RocketMQ 5.5.1, and clients on its libraries, with a name server that stands for 5.5.1."""

from __future__ import annotations

from interop.harness import codes, views
from interop.harness.rocketmq.maven import NEWEST, classpath
from interop.harness.sending.fleet import Fleet
from interop.harness.sending.flow import assert_each_arrives_once

TOPIC, MESSAGES = "Newest", 100
V5_5_1 = 515


def build() -> None:
    classpath(NEWEST)


def test_broker_and_clients_of_5_5_1_use_a_name_server_that_stands_for_it(fleet: Fleet) -> None:
    """The client's jar is that of 5.5.0, for Maven Central has no other; its common and remoting are of 5.5.1."""
    server = fleet.name_server({"rocketns.compatibleVersion": NEWEST})
    broker = fleet.broker("broker-a", server, version=NEWEST, topics=[TOPIC])
    assert views.brokers(server) == {"broker-a": {0: broker.address}}
    producer = fleet.producer([server], TOPIC, MESSAGES, version=NEWEST)
    producer.wait_for("DONE")
    consumer = fleet.consumer([server], TOPIC, "readers", version=NEWEST)
    assert_each_arrives_once(producer, consumer, MESSAGES)
    with server.connect() as client:
        answer = client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": TOPIC})
    assert (answer.code, answer.header["version"]) == (0, V5_5_1)
