"""Name servers that hold the simulated fleet, checked by the requests that a collector sends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.failures import CellFailed
from benchmarks.loading.brokers import Brokers, Shape
from benchmarks.loading.registrations import topic
from benchmarks.servers.kinds import DEFAULT, JAVA, all_kinds
from benchmarks.servers.running import Needs, Server
from interop.harness import codes

# Java has one upstream of the three: the other two only answer, and rocketns does so with less memory.
KINDS = (JAVA, DEFAULT, DEFAULT)
JAVA_HEAP_MB = 3000


@contextmanager
def filled(count: int, shape: Shape, folder: Path, kinds: tuple[str, ...] = KINDS) -> Iterator[list[Brokers]]:
    """So many name servers, each with the whole fleet. CellFailed if one does not answer with all of it."""
    with ExitStack() as stack:
        found = []
        for number, key in enumerate(kinds[:count]):
            server = Server(all_kinds()[key], folder / f"{key}-{number}", Needs(java_heap_mb=JAVA_HEAP_MB))
            stack.callback(server.kill)
            found.append(Brokers(server))
            stack.callback(found[-1].close)
        for broker in range(shape.brokers):
            frame = shape.frame(broker)
            for one in found:
                one.register(broker, frame)
        for one in found:
            check(one.server, shape)
        yield found


def check(server: Server, shape: Shape) -> None:
    """CellFailed unless all brokers, all topics, and all brokers of a topic are there."""
    with server.connect() as client:
        # not JSON in Java's dialect: its broker ids are keys without quotes
        brokers = (client.request(codes.GET_BROKER_CLUSTER_INFO).body or b"").count(b'"brokerName":')
        topics = len(client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).json()["topicList"])
        asked = {"topic": topic(0), "acceptStandardJsonOnly": "true"}
        width = len(client.request(codes.GET_ROUTEINFO_BY_TOPIC, asked).json()["queueDatas"])
    if (brokers, topics, width) != (shape.brokers, shape.topics, shape.width):
        raise CellFailed(f"{server.kind.label} has {brokers} brokers, {topics} topics, {width} brokers of a topic")
