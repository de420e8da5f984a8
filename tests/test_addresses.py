"""Which addresses count as one host."""

from __future__ import annotations

import pytest

from rocketns.addresses import host_of, shown_host


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


@pytest.mark.parametrize(
    ("address", "host"),
    [("10.0.0.1:80", "10.0.0.1"), ("2001:db8:0:1:2:3:4:5:80", "2001:db8:0:1::/64"), ("fe80::1%eth0:80", "fe80::/64"),
     ("::ffff:10.0.0.1:80", "::ffff:10.0.0.1"), ("unknown", "")],
)  # fmt: skip
def test_a_host_as_people_read_it(address: str, host: str) -> None:
    """An access rule can name it."""
    assert shown_host(address) == host
