"""Peers that stall before their first frame: in a PROXY header, in a TLS handshake, or after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext
from interop.harness.wire import Client, eventually, frame, json_header
from rocketns.server.connections.asyncio_connection import AsyncioConnection
from tests.behaviour.conftest import Names
from tests.behaviour.steps import configs
from tests.behaviour.views import group
from tests.support.certificates import Files, authority
from tests.support.ended import is_ended
from tests.support.inprocess import TimedServer
from tests.support.proxyheaders import SIGNATURE, v1
from tests.support.tlsclient import TlsPeer
from tests.support.tlsfiles import tls_properties
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import SECOND, connection_of, pass_time, wait_for_bytes, wait_for_connections

LIMIT = 120 * SECOND
HELLO = TlsPeer().shake_hands()
PROXY = v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 443)


@pytest.fixture
def tls_server(timed_server: TimedServerFactory, tmp_path: Path) -> TimedServer:
    """With a certificate from files, which is faster than making one, and no limit but the idle one."""
    files = Files.write(tmp_path / "tls", authority("tests").issue("server"))
    return timed_server(**tls_properties(files), **{"rocketns.progressSeconds": 0})


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What control has read from all connections."""
    parts: list[bytes] = []
    take = AsyncioConnection.data_received

    def noted(connection: AsyncioConnection, data: bytes) -> None:
        take(connection, data)
        parts.append(data)

    monkeypatch.setattr(AsyncioConnection, "data_received", noted)
    return parts


@pytest.mark.parametrize(
    "start",
    [b"\x16", HELLO[:100], PROXY[:30], PROXY, SIGNATURE + b"\x21", PROXY + HELLO[:100]],
    ids=["one byte", "a hello", "v1", "v1 and nothing", "v2", "v1 and a hello"],
)
def test_a_peer_that_stalls(tls_server: TimedServer, start: bytes, received: list[bytes]) -> None:
    """B058, B060, B064: its connection closes at the idle limit like any other, and its bytes no longer count."""
    with tls_server.connect() as client:
        client.send(start)
        eventually(lambda: b"".join(received) == start)
        wait_for_connections(tls_server, 1)
        kept = len(start.removeprefix(PROXY)) if HELLO[:9] not in start else 0
        wait_for_bytes(tls_server, kept)
        pass_time(tls_server, LIMIT - SECOND)
        assert not is_ended(client)
        tls_server.advance(SECOND)
        assert client.is_closed_by_server()
        wait_for_connections(tls_server, 0)
        wait_for_bytes(tls_server, 0)


def test_a_peer_that_stalls_in_the_middle_of_the_handshake(tls_server: TimedServer) -> None:
    """B060, B064: after it has received the server's part of the handshake."""
    peer = TlsPeer()
    with tls_server.connect() as client:
        client.send(peer.shake_hands())
        assert client.socket.recv(1 << 16)
        pass_time(tls_server, LIMIT)
        client.socket.settimeout(60)
        while client.socket.recv(1 << 16):
            pass


def test_a_broker_that_falls_silent_over_tls(tls_server: TimedServer, names: Names) -> None:
    """B060, B067: its connection is closed, after close_notify or not, and it is unregistered."""
    peer = TlsPeer()
    body = register_body(configs(names, ["T", "U"]))
    ext = register_ext(names.cluster, names.broker, names.addr(), 0, body, heartbeatTimeoutMillis=10**9)
    with tls_server.connect() as client, tls_server.connect() as broker:
        peer.connect(broker)
        broker.send(peer.encrypt(frame(json_header(codes.REGISTER_BROKER, ext), body)))
        eventually(lambda: group(client, names.broker) is not None)
        pass_time(tls_server, LIMIT)
    with tls_server.connect() as client:
        eventually(lambda: group(client, names.broker) is None)


def wait_until_heard(server: TimedServer, client: Client) -> None:
    """Wait until the server has read a byte of the connection at the present time."""
    channel = connection_of(server, client)
    eventually(lambda: channel.last_active_ms == server.clock.now().ms)


def test_bytes_of_tls_keep_a_connection_open(tls_server: TimedServer) -> None:
    """B060, B064: any byte counts, as over a plain connection."""
    with tls_server.connect() as client:
        for at in range(3):
            client.send(HELLO[at : at + 1])
            wait_until_heard(tls_server, client)
            pass_time(tls_server, LIMIT - SECOND)
        assert not is_ended(client)
