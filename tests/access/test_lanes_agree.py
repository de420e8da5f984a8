"""Reactors and control decide the same of a network: the server is asked in both modes."""

from __future__ import annotations

import os
import signal
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.wire import eventually
from tests.access.conftest import StartGuarded, write_policy

REFUSED, NO_ROUTE = 16, 17
TOPIC = {"topic": "T"}
POLICY = """
    [modes]
    lookup = "enforce"
    [principals.p]
    networks = {networks}
    may = ["lookup"]
"""


@pytest.mark.parametrize(
    ("network", "code"),
    [("::/0", REFUSED), ("::/64", REFUSED), ("::ffff:127.0.0.0/104", NO_ROUTE), ("::ffff:0:0/96", NO_ROUTE)],
)
def test_an_ipv4_peer_is_in_networks_of_ipv4_alone(start_guarded: StartGuarded, network: str, code: int) -> None:
    with start_guarded(POLICY.format(networks=[network])).connect() as client:
        assert [client.request(codes.GET_ROUTEINFO_BY_TOPIC, TOPIC).code for _ in range(2)] == [code, code]


def test_a_policy_of_all_networks_is_followed_beside_trusted_proxies(
    start_guarded: StartGuarded, policy_file: Path
) -> None:
    many = [str(IPv4Address("10.0.0.0") + number) for number in range(4_096)]
    principals = "".join(f"""
    [principals.p{part}]
    networks = {many[1_000 * part:1_000 * (part + 1)]}
    may = ["lookup"]
    """ for part in range(5))  # fmt: skip
    proxies = ";".join(f"192.0.2.{number}" for number in range(64))
    server = start_guarded(POLICY.format(networks=["127.0.0.1"]), {"rocketns.trustedProxies": proxies})
    with server.connect() as client:
        assert client.request(codes.GET_ROUTEINFO_BY_TOPIC, TOPIC).code == NO_ROUTE
        write_policy(policy_file, f"""
    [modes]
    lookup = "enforce"
    {principals}""")  # fmt: skip
        os.kill(server.pid, signal.SIGHUP)
        assert eventually(lambda: client.request(codes.GET_ROUTEINFO_BY_TOPIC, TOPIC).code == REFUSED)
