"""Where a name server can be reached, by bindAddress, over IPv4 and IPv6."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from interop.harness import codes
from interop.harness.ports import free_port
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually

IPV4, IPV6 = "127.0.0.1", "::1"


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind((IPV6, 0))
    except OSError:
        return False
    return True


pytestmark = pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1, so nothing about IPv6 is tested")


def answers(client: Client) -> bool:
    return client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).code == codes.SUCCESS


def reached(server: NameServer) -> list[str]:
    """The loopback addresses at which a request is answered."""
    found = []
    for host in (IPV4, IPV6):
        try:
            with Client(server.port, host) as client:
                assert answers(client)
                found.append(host)
        except ConnectionRefusedError:
            pass
    return found


@pytest.mark.parametrize(
    ("bind_address", "hosts"),
    [("0.0.0.0", [IPV4, IPV6]), ("::", [IPV4, IPV6]), ("[::]", [IPV4, IPV6]), ("::1", [IPV6]), ("[::1]", [IPV6])],
)
def test_every_address_is_one_of_ipv4_or_ipv6(
    start_server: Callable[..., NameServer], bind_address: str, hosts: list[str]
) -> None:
    """B245: the boot line shows the address as it is configured. The port is one that no other test listens at, by
    either family."""
    server = start_server({"bindAddress": bind_address, "listenPort": free_port()})
    assert f"address {bind_address}:{server.port}" in server.process.text()
    assert reached(server) == hosts


def test_the_system_property_of_java_leaves_out_ipv6(start_server: Callable[..., NameServer]) -> None:
    """B245: java.net.preferIPv4Stack, which is often in JAVA_OPT."""
    settings = {"bindAddress": "0.0.0.0", "listenPort": free_port()}
    server = start_server(settings, options=["-Djava.net.preferIPv4Stack=true"])
    assert reached(server) == [IPV4]


def test_a_peer_over_ipv4_is_shown_as_such(start_server: Callable[..., NameServer]) -> None:
    """B245: not as ::ffff:127.0.0.1, which the socket for both families gives."""
    server = start_server({"bindAddress": "::"})
    if server.kind == "java":
        pytest.skip("Java's logback configuration decides where it logs, and these tests give it none")
    for host in (IPV4, IPV6):
        with Client(server.port, host) as client:
            port = client.socket.getsockname()[1]
            assert answers(client)
        said = f"channelInactive, the channel[{host}:{port}]"
        eventually(lambda said=said: said in server.process.text())  # type: ignore[misc]
