"""serverChannelMaxIdleTimeSeconds: a connection without a byte for this long is closed, also before its first frame."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.harness.wire import eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import group, route
from tests.support.certificates import Files, authority
from tests.support.ended import is_ended
from tests.support.inprocess import TimedServer
from tests.support.proxyheaders import SIGNATURE, v1
from tests.support.tlsclient import TlsPeer
from tests.support.tlsfiles import tls_properties
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import SECOND, is_open, pass_time, wait_for_bytes, wait_for_connections

LIMIT = 120 * SECOND


def test_a_silent_connection_closes_at_the_limit(
    timed_server: TimedServerFactory, names: Names, caplog: pytest.LogCaptureFixture
) -> None:
    """B060: no read and no write for 120 s: closed; its broker is unregistered."""
    caplog.set_level("INFO")
    server = timed_server()
    with server.connect() as broker, server.connect() as client:
        registered(broker, names, heartbeatTimeoutMillis=10_000_000)
        pass_time(server, LIMIT - SECOND)
        assert not is_ended(broker)
        assert route(client, names.topic("T"))
        server.advance(SECOND)
        assert broker.is_closed_by_server()
        assert "IDLE exception" in caplog.text
        eventually(lambda: group(client, names.broker) is None)
        assert route(client, names.topic("T")) is None


def test_a_request_starts_the_time_anew(timed_server: TimedServerFactory) -> None:
    """B060: the limit counts from the last request and its answer."""
    server = timed_server()
    with server.connect() as client:
        for _ in range(3):
            assert is_open(client)
            pass_time(server, LIMIT - SECOND)
        server.advance(SECOND)
        assert client.is_closed_by_server()


HELLO = TlsPeer().shake_hands()
PROXY = v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 443)


@pytest.fixture
def tls_server(timed_server: TimedServerFactory, tmp_path: Path) -> TimedServer:
    """With a certificate from files, which is faster than making one, and no limit but the idle one."""
    files = Files.write(tmp_path / "tls", authority("tests").issue("server"))
    return timed_server(**tls_properties(files), **{"rocketns.progressSeconds": 0})


@pytest.mark.parametrize("start", [HELLO[:100], PROXY, SIGNATURE + b"\x21"], ids=["a hello", "v1 and nothing", "v2"])
def test_a_peer_that_stalls(tls_server: TimedServer, start: bytes) -> None:
    """B058, B060, B064: its connection closes at the idle limit like any other, and its bytes no longer count."""
    with tls_server.connect() as client:
        client.send(start)
        wait_for_connections(tls_server, 1)
        tls_server.wait_until_read(client)
        eventually(lambda: tls_server.handshaking == 1)
        kept = len(start.removeprefix(PROXY)) if HELLO[:9] not in start else 0
        wait_for_bytes(tls_server, kept)
        pass_time(tls_server, LIMIT - SECOND)
        assert not is_ended(client)
        tls_server.advance(SECOND)
        assert client.is_closed_by_server()
        wait_for_connections(tls_server, 0)
        wait_for_bytes(tls_server, 0)
