"""The producer and the push consumer of the ctypes client (librocketmq, the C++ client, is in its wheel).

``produce NAMESERVERS TOPIC COUNT`` or ``consume NAMESERVERS TOPIC GROUP``; prints what the Java ones print.
"""

from __future__ import annotations

import signal
import sys

from rocketmq.client import Message, Producer, PushConsumer, SendStatus


def produce(servers: str, topic: str, count: int) -> None:
    producer = Producer("interop-python-producer")
    producer.set_namesrv_addr(servers)
    producer.start()
    print("READY", flush=True)
    for n in range(count):
        message = Message(topic)
        message.set_body(str(n))
        status = producer.send_sync(message).status
        print("SENT" if status == SendStatus.OK else f"FAILED {status}", n, flush=True)
    print("DONE", flush=True)
    producer.shutdown()


def consume(servers: str, topic: str, group: str) -> None:
    # Blocked before the library starts its threads, so that none of them takes the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    consumer = PushConsumer(group)
    consumer.set_namesrv_addr(servers)
    consumer.subscribe(topic, lambda message: print(f"GOT {message.body.decode()}", flush=True))
    consumer.start()
    print("READY", flush=True)
    signal.sigwait([signal.SIGTERM])
    consumer.shutdown()
    print("DONE", flush=True)


if __name__ == "__main__":
    mode, address, name, last = sys.argv[1:]
    if mode == "produce":
        produce(address, name, int(last))
    else:
        consume(address, name, last)
