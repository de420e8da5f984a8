"""The name server is killed and started again, with a real broker, producer, consumer and new clients.

rocketns restores its routes from its journal, and its listening socket is kept by a stand-in for systemd. For the
figures of docs/reliability.md ROCKETNS_KILLS says how often.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from interop.harness import codes, views
from interop.harness.ports import free_port
from interop.harness.rocketmq.brokers import Broker
from interop.harness.sending.clients import JavaClient
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer, RocketnsServer
from interop.harness.supervisor import Supervisor
from interop.harness.topics import create_topic
from interop.harness.wire import Client, eventually

KILLS = int(os.environ.get("ROCKETNS_KILLS") or 4)
TOPIC = "Steady"
NEW_CLIENT_EVERY_MS = 1000
MESSAGES_BETWEEN = 100
ASK_EVERY_S = 0.02


class Watcher:
    """Asks for every known topic over a new connection, all the time; counts what came back."""

    def __init__(self, server: NameServer, topics: list[str]) -> None:
        self.counts: Counter[str] = Counter()
        self._port, self._topics, self._over = server.port, topics, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        for n in itertools.count():
            if self._over.wait(ASK_EVERY_S):
                return
            self.counts[self._ask(self._topics[n % len(self._topics)])] += 1

    def _ask(self, topic: str) -> str:
        try:
            client = Client(self._port)
        except OSError:
            return "refused connections"
        try:
            with client:
                code = client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}).code
        except OSError:
            return "connections cut by a kill"
        return {codes.SUCCESS: "routes", codes.TOPIC_NOT_EXIST: "TOPIC_NOT_EXIST"}.get(code, f"code {code}")


@pytest.fixture
def name_server(fleet: Fleet) -> Iterator[NameServer]:
    with Supervisor(f"@rocketns-never-empty-{free_port()}") as kept:
        home = fleet.folder("ns")
        properties = {"listenPort": kept.port, "journalPath": home / "journal", "journalNs": "ns"}
        yield fleet.kills(RocketnsServer(home, properties, supervisor=kept))


def killed_often(server: NameServer, broker: Broker, topics: list[str], consumer: JavaClient) -> None:
    """Every second kill comes right after the broker has registered a new topic."""
    for n in range(KILLS):
        if n % 2:
            name = f"made{n}"
            create_topic(broker.port, name)
            eventually(lambda name=name: name in views.routes(server), every_s=0.001)  # type: ignore[misc]
            topics.append(name)
        server.kill()
        server.start()
        consumer.wait_for_more("GOT", MESSAGES_BETWEEN)


def test_kills_of_the_name_server(name_server: NameServer, fleet: Fleet) -> None:
    """No topic is missing at any moment, no connection is refused, no message is lost."""
    topics = [TOPIC]
    broker = fleet.broker("broker-a", name_server, topics=topics)
    producer = fleet.producer([name_server], TOPIC, 1_000_000, pause_ms=20)
    consumer = fleet.consumer([name_server], TOPIC, "readers")
    newcomers = fleet.client("NewClients", [name_server], TOPIC, NEW_CLIENT_EVERY_MS)
    watcher = Watcher(name_server, topics)
    try:
        consumer.wait_for("GOT", MESSAGES_BETWEEN)
        newcomers.wait_for("SENT")
        killed_often(name_server, broker, topics, consumer)
        newcomers.wait_for_more("SENT", 2)
    finally:
        watcher.stop()
        newcomers.kill()
    producer.stop()
    sent = set(producer.values("SENT")) | {f"new-{n}" for n in newcomers.values("SENT")}
    eventually(lambda: sent <= set(consumer.values("GOT")), within_s=120.0)
    consumer.stop()
    figures = watcher.counts + told(newcomers, producer)
    line = ", ".join(f"{figures[name]} {name}" for name in sorted(figures))
    line = "\n".join((line, *newcomers.values("CUT"), *newcomers.values("FAILED"), *producer.values("FAILED")))
    wrong = ("TOPIC_NOT_EXIST", "refused connections", "new clients without a route", "failed sends")
    assert [name for name in wrong if figures[name]] == [], line


def told(newcomers: JavaClient, producer: JavaClient) -> Counter[str]:
    """What the Java clients saw."""
    return Counter(
        {
            "new clients with a route": len(newcomers.values("ROUTED")),
            "new clients without a route": len(newcomers.values("NOT_EXIST") + newcomers.values("REFUSED")),
            "failed sends": len(newcomers.values("FAILED") + producer.values("FAILED")),
            "connections of new clients cut by a kill": len(newcomers.values("CUT")),
            "sent messages": len(newcomers.values("SENT") + producer.values("SENT")),
        }
    )
