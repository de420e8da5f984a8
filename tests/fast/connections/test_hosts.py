"""The compiled host of an address is that of the Python reference, and connections of one host have one number."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketns._fast.connections.hosts import host_of as compiled
from rocketns.addresses import host_of

PORTS = st.integers(0, 65_535)
IPV4 = st.builds(IPv4Address, st.integers(0, 2**32 - 1)).map(str)
IPV6 = st.builds(IPv6Address, st.integers(0, 2**128 - 1))
MAPPED = IPV4.map(lambda address: f"::ffff:{address}")
TEXT = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=100)


@given(st.one_of(IPV4, IPV6.map(str), IPV6.map(lambda address: address.exploded), MAPPED, TEXT), PORTS)
@example("fe80::1%eth0", 1)
@example("::", 0)
@example("1:2:3:4:5:6:7:8" * 10, 0)
def test_the_host_of_an_address(host: str, port: int) -> None:
    address = f"{host}:{port}"
    assert compiled(address.encode()).decode() == host_of(address)


@pytest.mark.parametrize("text", ["", "?", "no port", ":"])
def test_texts_that_are_not_addresses(text: str) -> None:
    assert compiled(text.encode()).decode() == host_of(text)
