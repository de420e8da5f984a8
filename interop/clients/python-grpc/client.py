"""The producer and the push consumer of Apache's Python gRPC client, through a proxy.

``produce PROXY TOPIC COUNT`` or ``consume PROXY TOPIC GROUP``; prints what the Java ones print.
"""

from __future__ import annotations

import os
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


def say(*words: object) -> None:
    """Print a line by one write: the library calls from several threads, whose lines ``print`` would mix."""
    os.write(sys.stdout.fileno(), (" ".join(map(str, words)) + "\n").encode())


class Printer(MessageListener):
    def consume(self, message: Message) -> ConsumeResult:
        say("GOT", message.body.decode())
        return ConsumeResult.SUCCESS


def produce(proxy: ClientConfiguration, topic: str, count: int) -> None:
    producer = Producer(proxy, (topic,))
    producer.startup()
    say("READY")
    for n in range(count):
        message = Message()
        message.topic = topic
        message.body = str(n).encode()
        try:
            producer.send(message)
            say("SENT", n)
        except Exception as error:  # whatever the client raises is the message's fate
            say("FAILED", n, error)
    say("DONE")
    producer.shutdown()


def consume(proxy: ClientConfiguration, topic: str, group: str) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    consumer = PushConsumer(proxy, group, Printer(), {topic: FilterExpression("*")})
    consumer.startup()
    say("READY")
    signal.sigwait([signal.SIGTERM])
    consumer.shutdown()
    say("DONE")


if __name__ == "__main__":
    mode, address, name, last = sys.argv[1:]
    configuration = ClientConfiguration(address, Credentials(), request_timeout=10)
    if mode == "produce":
        produce(configuration, name, int(last))
    else:
        consume(configuration, name, last)
