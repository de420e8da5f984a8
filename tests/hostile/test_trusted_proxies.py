"""rocketns.trustedProxies: a PROXY header counts only from a load balancer's address. Others are closed and counted."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path

import pytest

from interop.harness.wire import Client, eventually
from rocketns._fast.connections.messages import Ending
from rocketns.errors import StartupError
from rocketns.server.connections.trusted import TrustedProxies
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
    transport = distrusting.controller.reactor_transport
    assert transport is not None
    with distrusting.connect() as client:
        client.send(HEADERS[header] + look_up(CLIENTS[0]))
        assert client.is_closed_by_server()
    with distrusting.connect() as client:
        assert is_answered(client)
    eventually(lambda: distrusting.call(lambda: transport.endings[Ending.UNTRUSTED_PROXY]) == 1)
    assert transport.trusted.refused == 1


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("trusted", ["", "10.0.0.0/8;127.0.0.1"])
def test_a_header_from_a_balancer_counts(tmp_path: Path, trusted: str, header: str) -> None:
    with LiveServer(tmp_path, 1, **{"rocketns.trustedProxies": trusted}) as server, server.connect() as client:
        assert is_answered(client, HEADERS[header])


@pytest.mark.parametrize(("networks", "address", "trusted"), [
    ((), "?", True),
    (("10.0.0.0/8",), "10.1.2.3:7", True),
    (("10.0.0.0/8",), "11.1.2.3:7", False),
    (("10.0.0.0/8",), "?", False),
    (("2001:db8::/32",), "2001:db8::7:1", True),
    (("0.0.0.0/0",), "2001:db8::7:1", False),
    (("fe80::/10",), "fe80::1%eth0:7", True),
    (("::ffff:10.0.0.0/104",), "10.1.2.3:7", True),
])  # fmt: skip
def test_an_address_is_trusted_if_a_network_has_it(networks: tuple[str, ...], address: str, trusted: bool) -> None:
    """Without networks everybody is."""
    assert TrustedProxies([ip_network(one) for one in networks]).trusts(address) is trusted


@pytest.mark.parametrize("wrong", ["10.0.0.1/8", "balancer.example", "10.0.0.0/33", "10.0.0.0/8/8"])
def test_a_start_names_the_network_that_is_none(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(StartupError, match=r"rocketns\.trustedProxies") as failed:
        LiveServer(tmp_path, 0, **{"rocketns.trustedProxies": f"10.0.0.0/8 {wrong},::1"})
    assert wrong in str(failed.value)
