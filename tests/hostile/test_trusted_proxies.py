"""rocketns.trustedProxies: a PROXY header counts only from a load balancer's address. Others are closed and counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness.wire import Client, eventually
from rocketns._fast.connections.connection import Ending
from rocketns.errors import StartupError
from tests.fast.lookups import CLIENTS, look_up
from tests.support.live import LiveServer
from tests.support.proxyheaders import LOCAL, TCP4, UNSPEC, addresses4, v1, v2

HEADERS = {
    "v1": v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 443),
    "v1 unknown": b"PROXY UNKNOWN\r\n",
    "v2": v2(TCP4, addresses4("192.0.2.8", 56325)),
    "v2 local": v2(UNSPEC, command=LOCAL),
}


@pytest.fixture
def distrusting(tmp_path: Path) -> Iterator[LiveServer]:
    """It trusts balancers elsewhere, and the tests connect from 127.0.0.1."""
    with LiveServer(tmp_path, 1, **{"rocketns.trustedProxies": "10.0.0.0/8, 2001:db8::/32"}) as server:
        yield server


def is_answered(client: Client, before: bytes = b"") -> bool:
    client.send(before + look_up(CLIENTS[0]))
    return b'"opaque":7,' in client.receive_frame()


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_from_elsewhere_closes_the_connection(distrusting: LiveServer, header: str) -> None:
    transport = distrusting.transport
    with distrusting.connect() as client:
        client.send(HEADERS[header] + look_up(CLIENTS[0]))
        assert client.is_closed_by_server()
    with distrusting.connect() as client:
        assert is_answered(client)
    eventually(lambda: distrusting.call(lambda: transport.endings[Ending.UNTRUSTED_PROXY]) == 1)


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("trusted", ["", "10.0.0.0/8;127.0.0.1"])
def test_a_header_from_a_balancer_counts(tmp_path: Path, trusted: str, header: str) -> None:
    with LiveServer(tmp_path, 1, **{"rocketns.trustedProxies": trusted}) as server, server.connect() as client:
        assert is_answered(client, HEADERS[header])


@pytest.mark.parametrize("wrong", ["10.0.0.1/8", "balancer.example", "10.0.0.0/33", "10.0.0.0/8/8"])
def test_a_start_names_the_network_that_is_none(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(StartupError, match=r"rocketns\.trustedProxies") as failed:
        LiveServer(tmp_path, 1, **{"rocketns.trustedProxies": f"10.0.0.0/8 {wrong},::1"})
    assert wrong in str(failed.value)
