"""The producer and the push consumer of the ctypes client (librocketmq, the C++ client, is in its wheel).

``produce NAMESERVERS TOPIC COUNT`` or ``consume NAMESERVERS TOPIC GROUP``; prints what the Java ones print.
"""

from __future__ import annotations

import os
import signal
import sys

from rocketmq.client import Message, Producer, PushConsumer, SendStatus

# Sent again after the usual 3 s, a message would be there twice.
SEND_TIMEOUT_MS = 10_000


def say(*words: object) -> None:
    """Print a line by one write: the library calls from several threads, whose lines ``print`` would mix."""
    os.write(sys.stdout.fileno(), (" ".join(map(str, words)) + "\n").encode())


def sign(client: Producer | PushConsumer) -> None:
    """Without keys it adds empty ones and a signature by them."""
    if key := os.environ.get("INTEROP_ACCESS_KEY"):
        client.set_session_credentials(key, os.environ["INTEROP_SECRET_KEY"], "ALIYUN")


def produce(servers: str, topic: str, count: int) -> None:
    producer = Producer("interop-python-producer", timeout=SEND_TIMEOUT_MS)
    producer.set_namesrv_addr(servers)
    sign(producer)
    producer.start()
    say("READY")
    for n in range(count):
        message = Message(topic)
        message.set_body(str(n))
        status = producer.send_sync(message).status
        say("SENT" if status == SendStatus.OK else f"FAILED {status}", n)
    say("DONE")
    producer.shutdown()


def consume(servers: str, topic: str, group: str) -> None:
    # Blocked before the library starts its threads, so that none of them takes the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    consumer = PushConsumer(group)
    consumer.set_namesrv_addr(servers)
    sign(consumer)
    consumer.subscribe(topic, lambda message: say("GOT", message.body.decode()))
    consumer.start()
    say("READY")
    signal.sigwait([signal.SIGTERM])
    consumer.shutdown()
    say("DONE")


if __name__ == "__main__":
    mode, address, name, last = sys.argv[1:]
    if mode == "produce":
        produce(address, name, int(last))
    else:
        consume(address, name, last)
