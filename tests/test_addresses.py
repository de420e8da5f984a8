"""Which addresses count as one host, how lists are separated, and what can be a host and a port."""

from __future__ import annotations

import pytest

from rocketns.addresses import host_of, listed, read_server, shown_host


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


@pytest.mark.parametrize(
    "text", ["a:1,b:2", "a:1;b:2", "a:1 b:2", " a:1 ;, b:2;", "a:1\n\tb:2", "a:1\uff0cb:2", "a:1\u3001b:2"]
)
def test_commas_semicolons_and_blanks_separate_the_items_of_a_list(text: str) -> None:
    assert listed(text) == ["a:1", "b:2"]


def test_a_list_without_items_is_empty() -> None:
    assert listed(" ,; ") == []


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("ns-1.example.com:9876", ("ns-1.example.com", 9876)),
        ("ns_1.:65535", ("ns_1.", 65535)),
        ("10.0.0.1:1", ("10.0.0.1", 1)),
        ("[::1]:9876", ("::1", 9876)),
        ("::1:9876", ("::1", 9876)),
        ("[fe80::1%eth0]:9876", ("fe80::1%eth0", 9876)),
        ("fe80::1%eth0:9876", ("fe80::1%eth0", 9876)),
        ("[::ffff:10.0.0.1]:9876", ("::ffff:10.0.0.1", 9876)),
    ],
)
def test_a_host_and_a_port_are_read(text: str, server: tuple[str, int]) -> None:
    assert read_server(text) == server


@pytest.mark.parametrize(
    "text",
    [
        "", "a", ":9876", "9876", "1:9876", "a:0", "a:65536", "a:99999", "a:9876x", "a:\u0661", "a:1;b:2", "a:1,b:2",
        "10.0.0.0/8", "10.0.0.0/8:9876", "10.0.0.256:9876", "127.1:9876", "http://a:9876", "a..b:1", "-a:1", "a-:1",
        "[::1:9876", "::1]:9876", "[10.0.0.1]:9876", "[a]:9876", "a:b:9876", "2001:db8::1:", f"{'a' * 64}:1",
        f"{'a.' * 127}a:1",
    ],
)  # fmt: skip
def test_what_cannot_be_a_host_and_a_port_is_none(text: str) -> None:
    assert read_server(text) is None
