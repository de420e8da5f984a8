"""A broker, a Java producer and a Java push consumer that know nothing but the name server."""

from __future__ import annotations

from collections import Counter

from interop.harness import views
from interop.harness.sending.fleet import Fleet

MESSAGES = 1000
TOPIC = "Orders"


def test_each_of_1000_messages_arrives_exactly_once(fleet: Fleet) -> None:
    """B109, B111: the topic is created by the first message, so the broker announces it to the name server alone."""
    server = fleet.name_server()
    broker = fleet.broker("broker-a", server)
    assert views.brokers(server) == {"broker-a": {0: broker.address}}

    producer = fleet.producer([server], TOPIC, MESSAGES)
    consumer = fleet.consumer([server], TOPIC, "readers")
    producer.wait_for("DONE", within_s=200)
    assert not producer.values("FAILED")
    consumer.wait_for("GOT", MESSAGES, within_s=200)
    consumer.stop()

    assert consumer.values("DONE"), consumer.process.text()[-2000:]
    assert Counter(consumer.values("GOT")) == Counter(str(n) for n in range(MESSAGES))
    assert views.addresses(server, TOPIC) == {"broker-a": {0: broker.address}}
