"""Connections with any bytes, against a running server: they leave nothing behind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interop.harness import codes
from interop.harness.wire import frame, json_header
from tests.protocol.strategies import mutated
from tests.support.certificates import Files, authority
from tests.support.inprocess import TimedServer
from tests.support.proxyheaders import TCP4, addresses4, v1, v2
from tests.support.tlsclient import TlsPeer
from tests.support.tlsfiles import tls_properties
from tests.timed.steps import wait_for_bytes, wait_for_connections

REQUEST = frame(json_header(codes.GET_BROKER_CLUSTER_INFO))
HELLO = TlsPeer().shake_hands()
BEGINNINGS = [
    v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 443) + HELLO,
    v2(TCP4, addresses4("192.0.2.7", 1)) + REQUEST,
    HELLO,
    REQUEST * 2,
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TimedServer]:
    """One server for all examples of the property test."""
    home = tmp_path_factory.mktemp("lasting")
    files = Files.write(home / "tls", authority("tests").issue("server"))
    started = TimedServer(home, dict(tls_properties(files)))
    yield started
    started.stop()


@given(st.one_of(mutated(st.sampled_from(BEGINNINGS)), st.binary(max_size=80)), st.integers(1, 80))
def test_any_bytes(server: TimedServer, data: bytes, size: int) -> None:
    """B056, B064: a connection with any beginning and end leaves nothing behind, and the next one is served."""
    with server.connect() as client, contextlib.suppress(ConnectionError):  # it may be closed already
        for at in range(0, len(data), size):
            client.send(data[at : at + size])
    with server.connect() as client:  # accepted after the first one
        assert client.request(codes.GET_BROKER_CLUSTER_INFO).code == codes.SUCCESS
    wait_for_connections(server, 0)
    wait_for_bytes(server, 0)
