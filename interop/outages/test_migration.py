"""A pair of Java name servers is replaced by rocketns one at a time, and back, under load (docs/migration.md).

Once in the short way, and once by way of a shadow.
"""

from __future__ import annotations

from interop.harness import codes, views
from interop.harness.ports import free_port
from interop.harness.rocketmq.brokers import REGISTRATION_PERIOD_S
from interop.harness.sending.fleet import Fleet
from interop.harness.sending.flow import stop_and_check
from interop.harness.servers import JavaNameServer, NameServer, RocketnsServer
from interop.harness.wire import eventually
from interop.shadowing.shadow import Shadow
from rocketns.shadow.outcome import UNWANTED

TOPIC = "Moving"
PAUSE_MS = 20
MESSAGES_BETWEEN = 100
RESTORED_WITHIN_S = REGISTRATION_PERIOD_S + 90.0
SETTLED_WITHIN_S = 60.0 + 90.0  # --settle


class Place:
    """One address of the pair: a port, and a folder for the files of the server on it."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.server: NameServer = fleet.java()

    def replace_by(self, kind: type[NameServer]) -> None:
        """Stop the server here and start the other kind with the same configuration and KV file."""
        self.server.stop()
        self.server = self._fleet.kills(kind(self.server.home, {"listenPort": self.server.port}))

    def shadowed(self) -> Shadow:
        """Phase 2: the server moves to another port of its machine, and a shadow takes the old one."""
        port = self.server.port
        self.server.stop()
        self.server = self._fleet.kills(JavaNameServer(self.server.home, {"listenPort": free_port()}))
        return self._fleet.kills(Shadow(self._fleet.folder("shadow"), self.server, port))

    def removed(self, shadow: Shadow, seed: NameServer) -> RocketnsServer:
        """Phase 4: rocketns takes the port and the files, and reads the routes from the other server of the pair."""
        assert shadow.stop() == 0, shadow.process.text()[-4000:]
        settings = {"listenPort": shadow.port, "rocketns.seedServers": f"127.0.0.1:{seed.port}"}
        ours = self._fleet.kills(RocketnsServer(self.server.home, settings))
        self.server.stop()
        return ours


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


def test_one_is_replaced_by_way_of_a_shadow_without_losing_a_message(fleet: Fleet) -> None:
    """What is written while rocketns serves is there when Java is gone."""
    place = Place(fleet)
    other = fleet.java()
    fleet.broker("broker-a", place.server, other)
    producer = fleet.producer([place.server, other], TOPIC, 1_000_000, pause_ms=PAUSE_MS)
    consumer = fleet.consumer([place.server, other], TOPIC, "readers")
    consumer.wait_for_more("GOT", MESSAGES_BETWEEN)

    shadow = place.shadowed()
    eventually(lambda: TOPIC in views.routes(shadow), RESTORED_WITHIN_S)
    for to, percent in (("serve", 100), ("pass", 0), ("serve", 100)):
        shadow.switch(to)
        eventually(lambda percent=percent: shadow.status()["relay"]["served_percent_now"] == percent, SETTLED_WITHIN_S)
        with shadow.connect() as client:
            assert client.request(codes.PUT_KV_CONFIG, {"namespace": "kept", "key": "k", "value": to}).code == 0
        consumer.wait_for_more("GOT", MESSAGES_BETWEEN)
    assert not UNWANTED & shadow.outcomes().keys()

    ours = place.removed(shadow, other)
    assert views.routes(ours) == views.routes(other)
    assert views.kv(ours, "kept", "k") == "serve"
    consumer.wait_for_more("GOT", MESSAGES_BETWEEN)
    stop_and_check(producer, consumer)
