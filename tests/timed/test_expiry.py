"""Brokers that stop sending: when they are overdue, what a scan does, and many that fall silent together."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext
from interop.harness.wire import Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import configs, register, registered
from tests.behaviour.views import group, members, route
from tests.journal.files import records_of
from tests.support.inprocess import TimedServer
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import SECOND, pass_time

DEFAULT_TIMEOUT = 120 * SECOND
INTERVAL = 5 * SECOND
NO_IDLE = {"serverChannelMaxIdleTimeSeconds": 0}


def is_broker(client: Client, names: Names) -> bool:
    """Whether any request still shows the broker: group, cluster, its topic's route, or version query."""
    shown = {
        group(client, names.broker) is not None,
        members(client, names.cluster) is not None,
        route(client, names.topic("T")) is not None,
    }
    assert len(shown) == 1, shown
    return shown.pop()


def test_a_broker_that_full_tables_refuse_stays_in_the_routes(timed_server: TimedServerFactory, names: Names) -> None:
    """Whoever fills the tables must not remove a broker that creates a topic."""
    server = timed_server(**NO_IDLE, **{"rocketns.routesMax": 2})
    with server.connect() as broker, server.connect() as client:
        registered(broker, names)
        for _ in range(3):
            pass_time(server, DEFAULT_TIMEOUT - INTERVAL)
            assert register(broker, names, ("T", "U", "V")).code == codes.SYSTEM_ERROR
        assert is_broker(client, names)
        assert route(client, names.topic("V")) is None
        pass_time(server, DEFAULT_TIMEOUT + INTERVAL)
        eventually(lambda: not is_broker(client, names))


TIMEOUT = 20 * SECOND
SCAN = 5 * SECOND
KEPT_S = 100
BROKERS = 10
HALF = {"rocketns.massExpiryPercent": 50, "rocketns.massExpirySeconds": KEPT_S} | NO_IDLE
LINE = "brokers are silent, more than massExpiryPercent=50"


class Fleet:
    """Brokers with a connection each, whose addresses accept connections: nobody is proved to be gone."""

    def __init__(
        self, server: TimedServer, stack: ExitStack, listening: socket.socket, *, refusing: int | None = None
    ) -> None:
        """``refusing``: another port for the first broker."""
        self.server = server
        self.names = [Names() for _ in range(BROKERS)]
        self.connections = [stack.enter_context(server.connect()) for _ in range(BROKERS)]
        # Loopback addresses that share a listening socket: each broker has an address of its own.
        port = listening.getsockname()[1]
        self.addrs = [f"127.0.0.{number + 1}:{port}" for number in range(BROKERS)]
        if refusing is not None:
            self.addrs[0] = f"127.0.0.1:{refusing}"
        self.register(range(BROKERS))

    def register(self, which: range) -> None:
        for number in which:
            self.request(number, codes.REGISTER_BROKER)

    def heartbeat(self, which: range) -> None:
        for number in which:
            self.request(number, codes.BROKER_HEARTBEAT)

    def request(self, number: int, code: int) -> None:
        names, body = self.names[number], b""
        if code == codes.REGISTER_BROKER:
            body = register_body(configs(names, ["T", "U"]))
        fields = register_ext(names.cluster, names.broker, self.addrs[number], 0, body, heartbeatTimeoutMillis=TIMEOUT)
        assert self.connections[number].request(code, fields, body).code == codes.SUCCESS

    @property
    def known(self) -> list[int]:
        with self.server.connect() as client:
            return [number for number, names in enumerate(self.names) if group(client, names.broker) is not None]

    @property
    def unconfirmed(self) -> int:
        return self.server.call(lambda: len(self.server.controller.core.context.tables.unconfirmed))

    def pass_time(self, ms: int, hearing: range = range(0)) -> None:
        """Let time pass; only these brokers send heartbeats, every five seconds."""
        for _ in range(ms // (5 * SECOND)):
            pass_time(self.server, 5 * SECOND)
            self.heartbeat(hearing)


Start = Callable[..., Fleet]


@pytest.fixture
def start(timed_server: TimedServerFactory) -> Iterator[Start]:
    """Start a server with these settings and its brokers."""
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("0.0.0.0", 0), backlog=100))

        def started(settings: dict[str, int] = HALF, *, refusing: int | None = None, **more: object) -> Fleet:
            return Fleet(timed_server(**settings, **more), stack, listening, refusing=refusing)

        yield started


def test_all_brokers_expire_without_the_property_as_in_java(start: Start) -> None:
    fleet = start(NO_IDLE)
    fleet.pass_time(TIMEOUT + 2 * SCAN)
    eventually(lambda: fleet.known == [])


def test_all_at_once_are_kept_until_they_are_heard(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    """They stay while they are silent. A broker that is heard is live again. One log line names likely causes."""
    fleet = start()
    fleet.pass_time(TIMEOUT + 2 * SCAN)
    assert fleet.known == list(range(BROKERS))
    assert fleet.unconfirmed == BROKERS
    assert [f"10 of 10 {LINE}" in one.getMessage() for one in caplog.records].count(True) == 1
    fleet.heartbeat(range(3))
    fleet.register(range(3, BROKERS))
    assert fleet.unconfirmed == 0
    fleet.pass_time(TIMEOUT, hearing=range(BROKERS))
    assert fleet.known == list(range(BROKERS))


def test_silent_brokers_expire_after_their_time(start: Start, tmp_path: Path) -> None:
    """Six of ten fell silent. Four come back; the journal has the doubt and why the others went."""
    fleet = start(journalPath=tmp_path / "journal", journalNs="n1")
    fleet.pass_time(TIMEOUT + SCAN, hearing=range(4))
    assert fleet.unconfirmed == 6
    fleet.heartbeat(range(8))
    fleet.pass_time(KEPT_S * SECOND - SCAN, hearing=range(8))
    assert fleet.known == list(range(BROKERS))
    fleet.pass_time(3 * SCAN, hearing=range(8))
    eventually(lambda: fleet.known == list(range(8)))
    fleet.server.stop()
    records = records_of(tmp_path / "journal")
    assert [one["doubt"] for one in records if one["ev"] == "doubt"] == ["silent_together"] * 6
    assert [one["cause"] for one in records if one["ev"] == "down"] == ["unconfirmed"] * 2


def test_half_of_them_is_not_more_than_half(start: Start) -> None:
    fleet = start()
    fleet.pass_time(TIMEOUT + 2 * SCAN, hearing=range(5))
    eventually(lambda: fleet.known == list(range(5)))


def test_the_first_to_be_overdue_is_kept_as_well(start: Start) -> None:
    """Heartbeats are spread over a period: when the first is overdue, the others are only late."""
    fleet = start()
    pass_time(fleet.server, 5 * SECOND)
    fleet.heartbeat(range(1, BROKERS))
    pass_time(fleet.server, TIMEOUT)
    assert fleet.unconfirmed == 1
    assert fleet.known == list(range(BROKERS))


def test_the_last_to_be_overdue_is_kept_as_well(start: Start) -> None:
    """It was heard after the others. When it is overdue, the others are already kept and still count as silent."""
    fleet = start()
    pass_time(fleet.server, 10 * SECOND)
    fleet.heartbeat(range(1))
    pass_time(fleet.server, TIMEOUT)
    assert fleet.unconfirmed == BROKERS - 1
    pass_time(fleet.server, SCAN)
    assert fleet.unconfirmed == BROKERS
    assert fleet.known == list(range(BROKERS))


def test_a_refused_connection_is_proof_at_once(start: Start) -> None:
    """One of them is really gone."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        fleet = start(refusing=bound.getsockname()[1])
        fleet.pass_time(TIMEOUT + 2 * SCAN)
        eventually(lambda: fleet.known == list(range(1, BROKERS)))
    assert fleet.unconfirmed == BROKERS - 1


def test_connections_that_are_closed_for_idling_are_silence(start: Start) -> None:
    """With Java's defaults the idle limit of a connection and the heartbeat time-out are the same."""
    fleet = start(HALF | {"serverChannelMaxIdleTimeSeconds": TIMEOUT // SECOND - 2})
    for _ in range((TIMEOUT + 2 * SCAN) // SECOND):
        pass_time(fleet.server, SECOND)
        assert fleet.known == list(range(BROKERS))
    assert fleet.unconfirmed == BROKERS
    assert all(connection.is_closed_by_server() for connection in fleet.connections)


def test_one_connection_closed_for_idling_takes_its_broker_along(start: Start) -> None:
    fleet = start(HALF | {"serverChannelMaxIdleTimeSeconds": TIMEOUT // SECOND - 2})
    fleet.pass_time(TIMEOUT + SCAN, hearing=range(1, BROKERS))
    eventually(lambda: fleet.known == list(range(1, BROKERS)))
