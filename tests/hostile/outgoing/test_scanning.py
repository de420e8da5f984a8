"""The server is no scanner: it connects only where the announcing connection came from, or where the operator allows.

On a clock that the test moves. Accepted connections are counted by the listeners themselves.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from interop.harness.wire import eventually
from tests.behaviour.views import group
from tests.hostile.outgoing.listeners import ON, Listener, announce, connect_from
from tests.support.inprocess import TimedServer
from tests.support.proxyheaders import v1
from tests.timed.steps import SECOND, pass_time

TIMEOUT_MS = 20 * SECOND
KEPT_S = 60
SILENT = {
    "rocketns.massExpiryPercent": 50, "rocketns.massExpirySeconds": KEPT_S, "serverChannelMaxIdleTimeSeconds": 0,
}  # fmt: skip
HERE, THERE = "127.0.0.2", "127.0.0.3"
Serve = Callable[..., TimedServer]


@pytest.fixture(params=[0, 2], ids=["loop", "reactors"])
def serve(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Serve]:
    """Start a server: ``serve(**{"rocketns.askNetworks": "127.0.0.0/8"})``; stopped after the test."""
    started: list[TimedServer] = []

    def start(**properties: object) -> TimedServer:
        started.append(TimedServer(tmp_path, {"rocketns.reactors": request.param} | SILENT | ON | properties))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def refusing_port(stack: ExitStack, host: str) -> int:
    """A port that refuses connections as long as the test runs."""
    bound = stack.enter_context(socket.socket())
    bound.bind((host, 0))
    return int(bound.getsockname()[1])


class Scan:
    """A stranger announces an open port and a closed one of a host, each over a connection, and falls silent."""

    def __init__(self, server: TimedServer, stack: ExitStack, host: str, first: bytes = b"") -> None:
        self.server = server
        self.listener = stack.enter_context(Listener(host))
        self.viewer = stack.enter_context(server.connect())
        addrs = {"open": self.listener.addr, "closed": f"{host}:{refusing_port(stack, host)}"}
        for name, addr in addrs.items():
            client = stack.enter_context(connect_from(server.port, HERE))
            client.send(first)
            announce(client, name, addr, heartbeatTimeoutMillis=TIMEOUT_MS)

    @property
    def known(self) -> list[str]:
        return [name for name in ("open", "closed") if group(self.viewer, name) is not None]

    def fall_silent(self) -> None:
        pass_time(self.server, TIMEOUT_MS + 10 * SECOND)


def test_nobody_is_asked_outside_of_the_announcers_host(serve: Serve, stack: ExitStack) -> None:
    """The open port and the closed one leave at the same time, which is the end of the time for all."""
    scan = Scan(serve(), stack, THERE)
    scan.fall_silent()
    pass_time(scan.server, KEPT_S * SECOND - 15 * SECOND)
    assert scan.known == ["open", "closed"]
    pass_time(scan.server, 20 * SECOND)
    eventually(lambda: scan.known == [])
    assert scan.listener.accepted == 0


def test_the_announcers_own_host_is_asked_when_its_time_is_over(serve: Serve, stack: ExitStack) -> None:
    """Nobody learns more of it than an expiry shows: it stays for its own time-out."""
    scan = Scan(serve(), stack, HERE)
    pass_time(scan.server, TIMEOUT_MS - SECOND)
    assert scan.known == ["open", "closed"]
    assert scan.listener.accepted == 0
    scan.fall_silent()
    eventually(lambda: scan.known == ["open"])
    eventually(lambda: scan.listener.accepted > 0)


def test_networks_that_the_operator_allows_are_asked(serve: Serve, stack: ExitStack) -> None:
    """rocketns.askNetworks."""
    scan = Scan(serve(**{"rocketns.askNetworks": "10.0.0.0/8;127.0.0.0/8"}), stack, THERE)
    scan.fall_silent()
    eventually(lambda: scan.known == ["open"])
    eventually(lambda: scan.listener.accepted > 0)


def test_the_whole_internet_is_not_the_machine_itself(serve: Serve, stack: ExitStack) -> None:
    """0.0.0.0/0 does not contain loopback and link-local addresses: these must be named."""
    scan = Scan(serve(**{"rocketns.askNetworks": "0.0.0.0/0;::/0"}), stack, THERE)
    scan.fall_silent()
    assert scan.known == ["open", "closed"]
    assert scan.listener.accepted == 0


def test_a_proxy_header_announces_no_host(serve: Serve, stack: ExitStack) -> None:
    """Any peer may send one, so the address in it proves nothing."""
    scan = Scan(serve(), stack, THERE, v1("TCP4", THERE, "127.0.0.1", 5_000, 9_876))
    scan.fall_silent()
    assert scan.known == ["open", "closed"]
    assert scan.listener.accepted == 0


def test_notifications_go_to_the_announcers_host_only(serve: Serve, stack: ExitStack) -> None:
    """905. Of two members of a group, one was announced by somebody else."""
    server = serve()
    own, other = stack.enter_context(Listener(HERE)), stack.enter_context(Listener(THERE))
    client = stack.enter_context(connect_from(server.port, HERE))
    announce(client, "g", other.addr, 9)
    announce(client, "g", own.addr, 8)
    announce(client, "g", f"{HERE}:1", 7)
    eventually(lambda: own.accepted == 1)
    assert other.accepted == 0


def test_a_broker_that_announced_itself_stays_its_own(serve: Serve, stack: ExitStack) -> None:
    """A stranger who registers its address again does not keep notifications from it."""
    server = serve()
    own = stack.enter_context(Listener(HERE))
    broker = stack.enter_context(connect_from(server.port, HERE))
    stranger = stack.enter_context(connect_from(server.port, THERE))
    announce(broker, "g", own.addr, 8)
    announce(stranger, "g", own.addr, 8)
    announce(stranger, "g", f"{THERE}:1", 7)
    eventually(lambda: own.accepted == 1)
