"""A pair of Java name servers is replaced by rocketns one at a time, and back, under load (docs/migration.md)."""

from __future__ import annotations

from interop.harness import codes, views
from interop.harness.sending.clients import stop_and_check
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import JavaNameServer, NameServer, RocketnsServer
from interop.harness.wire import eventually

TOPIC = "Moving"
PAUSE_MS = 20
MESSAGES_BETWEEN = 100
RESTORED_WITHIN_S = 240.0


class Place:
    """One address of the pair: a port, and a folder for the files of the server on it."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.server: NameServer = fleet.java()

    def replace_by(self, kind: type[NameServer]) -> None:
        """Stop the server here and start the other kind with the same configuration and KV file."""
        self.server.stop()
        self.server = self._fleet.kills(kind(self.server.home, {"listenPort": self.server.port}))


def test_a_pair_is_replaced_one_at_a_time_and_back_without_losing_a_message(fleet: Fleet) -> None:
    """B108, B250: KV and configuration are taken over, routes come back with the next registration, messages flow."""
    pair = [Place(fleet), Place(fleet)]
    servers = [place.server for place in pair]
    fleet.broker("broker-a", *servers)
    for server in servers:
        with server.connect() as client:
            client.request(codes.PUT_KV_CONFIG, {"namespace": "kept", "key": "k", "value": "taken over: ü"})
    producer = fleet.producer(servers, TOPIC, 1_000_000, pause_ms=PAUSE_MS)
    consumer = fleet.consumer(servers, TOPIC, "readers")
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
