"""Brokers with 2,000 topics, one registering plain, one compressed."""

from __future__ import annotations

import pytest

from interop.harness import views
from interop.harness.rocketmq.brokers import Broker
from interop.harness.rocketmq.java import CURRENT, OLD
from interop.harness.sending.fleet import Fleet
from interop.harness.sending.flow import assert_each_arrives_once
from interop.harness.topics import QUEUES
from interop.harness.wire import Client

TOPICS = [f"Many-{n}" for n in range(2000)]
MESSAGES = 100
GET_BROKER_CONFIG = 26


@pytest.mark.parametrize(
    ("version", "compressed"),
    [
        pytest.param(CURRENT, "false", id="plain"),
        pytest.param(OLD, "true", id="compressed"),
    ],
)  # fmt: skip
def test_every_topic_of_a_broker_with_2000_has_a_route(version: str, compressed: str, fleet: Fleet) -> None:
    """B109, B123, B128, B198: the topics come with the registration at boot, not one by one."""
    server = fleet.name_server()
    broker = fleet.broker(
        "broker-a", server, version=version, properties={"compressedRegister": compressed}, topics=TOPICS
    )
    assert f"\ncompressedRegister={compressed}\n" in _configuration(broker)
    routes = views.routes(server)
    queues = {topic: routes[topic]["queueDatas"] for topic in TOPICS}
    expected = {
        "brokerName": "broker-a",
        "perm": 6,
        "readQueueNums": QUEUES,
        "topicSysFlag": 0,
        "writeQueueNums": QUEUES,
    }
    assert [topic for topic in TOPICS if queues[topic] != [expected]] == []
    assert views.addresses(server, TOPICS[-1]) == {"broker-a": {0: broker.address}}

    producer = fleet.producer([server], TOPICS[-1], MESSAGES, version=version)
    consumer = fleet.consumer([server], TOPICS[-1], "readers", version=version)
    assert_each_arrives_once(producer, consumer, MESSAGES)


def _configuration(broker: Broker) -> str:
    """What the broker itself says that it runs with."""
    with Client(broker.port) as client:
        return (client.request(GET_BROKER_CONFIG).body or b"").decode()
