"""A pair of Java name servers is replaced by rocketns one at a time, and back, under load (docs/migration.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.harness import codes, views
from interop.harness.ports import free_port
from interop.harness.rocketmq.brokers import REGISTRATION_PERIOD_S, Broker
from interop.harness.rocketmq.java import SHORT_KEY
from interop.harness.sending.clients import JavaClient
from interop.harness.sending.flow import stop_and_check
from interop.harness.servers import JavaNameServer, NameServer, RocketnsServer
from interop.harness.wire import eventually

TOPIC = "Moving"
PAUSE_MS = 20
MESSAGES_BETWEEN = 100
RESTORED_WITHIN_S = REGISTRATION_PERIOD_S + 90.0


class Place:
    """One address of the pair: a port, and a folder for the files of the server on it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()
        self.server: NameServer = JavaNameServer(home, {"listenPort": self.port}, options=[SHORT_KEY])

    def replace_by(self, kind: type[NameServer]) -> None:
        """Stop the server here and start the other kind with the same configuration and KV file."""
        self.server.stop()
        self.server = kind(self.home, {"listenPort": self.port})


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[list[Place]]:
    places = [Place(tmp_path / "ns-a"), Place(tmp_path / "ns-b")]
    yield places
    for place in places:
        place.server.kill()


def test_a_pair_is_replaced_one_at_a_time_and_back_without_losing_a_message(
    pair: list[Place],
    start_broker: Callable[..., Broker],
    produce: Callable[..., JavaClient],
    consume: Callable[..., JavaClient],
) -> None:
    """B108, B250: KV and configuration are taken over, routes come back with the next registration, messages flow."""
    servers = [place.server for place in pair]
    start_broker("broker-a", *servers)
    for server in servers:
        with server.connect() as client:
            client.request(codes.PUT_KV_CONFIG, {"namespace": "kept", "key": "k", "value": "taken over: ü"})
    producer = produce(servers, TOPIC, 1_000_000, pause_ms=PAUSE_MS)
    consumer = consume(servers, TOPIC, "readers")
    consumer.wait_for_more("GOT", MESSAGES_BETWEEN)

    for kind in (RocketnsServer, JavaNameServer):
        for place, other in (pair, pair[::-1]):
            place.replace_by(kind)
            routes = views.routes(other.server)
            assert TOPIC in routes
            eventually(lambda place=place, routes=routes: views.routes(place.server) == routes, RESTORED_WITHIN_S)
            assert views.kv(place.server, "kept", "k") == "taken over: ü"
            consumer.wait_for_more("GOT", MESSAGES_BETWEEN)

    stop_and_check(producer, consumer)
