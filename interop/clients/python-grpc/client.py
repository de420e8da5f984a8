"""The producer and the push consumer of Apache's Python gRPC client, through a proxy.

``produce PROXY TOPIC COUNT`` or ``consume PROXY TOPIC GROUP``; prints what the Java ones print.
"""

from __future__ import annotations

import signal
import sys

from rocketmq import (
    ClientConfiguration,
    ConsumeResult,
    Credentials,
    FilterExpression,
    Message,
    MessageListener,
    Producer,
    PushConsumer,
)


class Printer(MessageListener):
    def consume(self, message: Message) -> ConsumeResult:
        sys.stdout.write(f"GOT {message.body.decode()}\n")
        sys.stdout.flush()
        return ConsumeResult.SUCCESS


def produce(proxy: ClientConfiguration, topic: str, count: int) -> None:
    producer = Producer(proxy, (topic,))
    producer.startup()
    print("READY", flush=True)
    for n in range(count):
        message = Message()
        message.topic = topic
        message.body = str(n).encode()
        try:
            producer.send(message)
            print("SENT", n, flush=True)
        except Exception as error:  # whatever the client raises is the message's fate
            print("FAILED", n, error, flush=True)
    print("DONE", flush=True)
    producer.shutdown()


def consume(proxy: ClientConfiguration, topic: str, group: str) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    consumer = PushConsumer(proxy, group, Printer(), {topic: FilterExpression("*")})
    consumer.startup()
    print("READY", flush=True)
    signal.sigwait([signal.SIGTERM])
    consumer.shutdown()
    print("DONE", flush=True)


if __name__ == "__main__":
    mode, address, name, last = sys.argv[1:]
    configuration = ClientConfiguration(address, Credentials())
    if mode == "produce":
        produce(configuration, name, int(last))
    else:
        consume(configuration, name, last)
