"""Messages from a producer to a consumer, whatever they are written in: each arrives exactly once."""

from __future__ import annotations

from collections import Counter

from interop.harness.clients import JavaClient

FLOW_TIMEOUT_S = 90.0


def assert_each_arrives_once(producer: JavaClient, consumer: JavaClient, count: int) -> None:
    """The producer was told that all are stored, the consumer printed each one time until it was stopped."""
    expected = Counter(str(n) for n in range(count))
    producer.wait_for("DONE", within_s=FLOW_TIMEOUT_S)
    assert Counter(producer.values("SENT")) == expected, producer.process.text()[-4000:]
    consumer.wait_for("GOT", count, within_s=FLOW_TIMEOUT_S)
    consumer.stop()
    assert Counter(consumer.values("GOT")) == expected, consumer.process.text()[-4000:]
