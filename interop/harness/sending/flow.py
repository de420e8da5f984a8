"""Messages from a producer to a consumer in any language: each arrives exactly once."""

from __future__ import annotations

from collections import Counter

from interop.harness.sending.clients import JavaClient

FLOW_TIMEOUT_S = 180.0


def assert_each_arrives_once(producer: JavaClient, consumer: JavaClient, count: int) -> None:
    """Check that the producer stored all messages and the consumer printed each exactly once."""
    expected = Counter(str(n) for n in range(count))
    producer.wait_for("DONE", within_s=FLOW_TIMEOUT_S)
    assert Counter(producer.values("SENT")) == expected, producer.process.text()[-4000:]
    consumer.wait_for("GOT", count, within_s=FLOW_TIMEOUT_S)
    consumer.stop()
    assert Counter(consumer.values("GOT")) == expected, consumer.process.text()[-4000:]


def stop_and_check(producer: JavaClient, consumer: JavaClient) -> None:
    """Stop a producer without an end of its own; check that no send failed and each message arrived exactly once."""
    producer.stop()
    sent = producer.values("SENT")
    assert producer.values("DONE"), "the producer did not end in good order"
    assert not producer.values("FAILED")
    consumer.wait_for("GOT", len(sent))
    consumer.stop()
    assert Counter(consumer.values("GOT")) == Counter(sent)
