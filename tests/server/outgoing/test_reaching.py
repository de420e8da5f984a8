"""To which announced addresses the server connects: the announcer's own, and those that the operator allows."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_network

import pytest

from rocketns.addresses import is_host_of
from rocketns.server.outgoing.reaching import ADDRESSES_MAX, Reach


@pytest.mark.parametrize(
    ("addr", "host"),
    [
        ("10.0.0.1:1", "10.0.0.1"), ("[2001:db8::1]:1", "2001:db8::1"), ("2001:db8::1:1", "2001:db8::1"),
        ("[2001:db8:0:0::1]:1", "2001:db8::1"),
        ("[::ffff:10.0.0.1]:1", "10.0.0.1"), ("[fe80::1%eth0]:1", "fe80::1%eth0"),
        ("169.254.1.1:1", "169.254.1.1"),
    ],
)  # fmt: skip
def test_the_host_that_announced_it(addr: str, host: str) -> None:
    assert is_host_of(addr, host)
    assert not Reach().is_out(addr, host)


@pytest.mark.parametrize(
    ("addr", "host"),
    [
        ("10.0.0.2:1", "10.0.0.1"), ("10.0.0.1:1", None), ("[2001:db8::2]:1", "2001:db8::1"), ("[::]:1", "::1"),
        ("[fe80::1%eth1]:1", "fe80::1%eth0"), ("[64:ff9b::a9fe:a9fe]:1", "64:ff9b::1"), ("0.0.0.0:1", "127.0.0.1"),
        ("169.254.169.254:80", "10.0.0.1"),
    ],
)  # fmt: skip
def test_any_other_host(addr: str, host: str | None) -> None:
    """Not its neighbours either."""
    assert not is_host_of(addr, host)
    assert Reach().is_out(addr, host)


@pytest.mark.parametrize(
    ("addr", "network", "is_in"),
    [
        ("10.1.2.3:1", "10.0.0.0/8", True), ("11.1.2.3:1", "10.0.0.0/8", False), ("10.1.2.3:1", "0.0.0.0/0", True),
        ("[2001:db8::1]:1", "2001:db8::/32", True), ("[::ffff:10.1.2.3]:1", "10.0.0.0/8", True),
        ("127.0.0.1:1", "0.0.0.0/0", False), ("127.0.0.1:1", "127.0.0.1/32", True), ("[::1]:1", "::/0", False),
        ("169.254.169.254:80", "0.0.0.0/0", False), ("169.254.169.254:80", "169.254.0.0/16", True),
        ("[fe80::1]:1", "::/0", False), ("[fe80::1]:1", "fe80::/10", True), ("0.0.0.0:1", "0.0.0.0/0", False),
        ("[::]:1", "::/0", False), ("224.0.0.1:1", "0.0.0.0/0", False), ("[::ffff:127.0.0.1]:1", "::/0", False),
    ],
)  # fmt: skip
def test_networks_of_the_operator(addr: str, network: str, is_in: bool) -> None:
    assert Reach([ip_network(network)]).is_out(addr, "192.0.2.1") is not is_in


@pytest.mark.parametrize(
    ("found", "is_reached"),
    [(["10.0.0.1"], True), (["10.0.0.1", "10.0.0.2"], False), ([], False), (["10.0.0.1"] * ADDRESSES_MAX, True),
     (["10.0.0.1"] * (ADDRESSES_MAX + 1), False)],
)  # fmt: skip
def test_a_name_is_judged_by_all_its_addresses(found: list[str], is_reached: bool) -> None:
    async def ask() -> bool:
        reach = Reach(resolver=lambda _host, port: [(socket.AF_INET, (one, port)) for one in found])
        try:
            return bool(await reach.addresses("broker-a:1", "10.0.0.1"))
        finally:
            reach.close()

    assert asyncio.run(ask()) is is_reached
