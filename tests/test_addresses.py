"""Which addresses count as one host."""

from __future__ import annotations

import pytest

from rocketns.addresses import host_of


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("10.0.0.1:1234", "10.0.0.1"),
        ("::ffff:10.0.0.1:1234", "10.0.0.1"),
        ("2001:db8:1:2::1:1234", "20010db800010002"),
        ("2001:db8:1:2:ffff::9:1", "20010db800010002"),
        ("fe80::1%eth0:1234", "fe80000000000000"),
        ("a:b:c", "a:b"),
        ("?", ""),
    ],
)
def test_the_host_of_an_address(address: str, host: str) -> None:
    """An IPv4 address, or the first 64 bits of an IPv6 address."""
    assert host_of(address) == host
