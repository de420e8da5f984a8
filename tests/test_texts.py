"""Text as Java reads it, and addresses: numbers, booleans, hosts, ports and lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.addresses import host_of, listed, read_server, shown_account
from rocketns.javatext import (
    INT_MAX,
    INT_MIN,
    LONG_MAX,
    LONG_MIN,
    parse_boolean,
    parse_int,
    parse_long,
)
from rocketns.routeinfo.view import first_of_hash_map


@given(st.integers(LONG_MIN, LONG_MAX), st.integers(0, 40), st.booleans())
def test_every_long_parses_with_zeros_and_sign(number: int, zeros: int, plus: bool) -> None:
    sign = "-" if number < 0 else "+" if plus else ""
    assert parse_long(f"{sign}{'0' * zeros}{abs(number)}") == number
    assert parse_int(str(number)) == (number if INT_MIN <= number <= INT_MAX else None)


@pytest.mark.parametrize("text", ["", "+", "-", " 1", "1 ", "1\n", "1_0", "1.0", "1e2", "0x1", "--1", "9" * 5000,
                                  "\U0001d7cf", "\u00b2", "\u2167", "\u0660 ", "\u0661" * 20])  # fmt: skip
def test_text_that_java_refuses_is_none(text: str) -> None:
    assert parse_long(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("12\u0663", 123), ("\uff11", 1), ("-\u0665", -5), ("0\u0660\u0660\u0661", 1)],
)
def test_a_digit_of_any_script_is_a_digit(text: str, value: int) -> None:
    """B084: as Java's Character.digit has it."""
    assert parse_long(text) == parse_int(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("TRUE", True), ("True", True), ("", False), ("yes", False), (None, False)]
)
def test_only_one_word_is_true(text: str | None, value: bool) -> None:
    """B085."""
    assert parse_boolean(text) is value


# From java.util.HashMap (17): the keys in the order in which they were put, and the one that it gives first.
@pytest.mark.parametrize(
    ("keys", "first"),
    [
        (["broker-a", "broker-b"], "broker-b"),
        ([f"b{number}" for number in range(13)], "b10"),
        ([f"ü😀{number}" for number in range(30)], "ü😀8"),
        (["Aa", "BB", "z"], "Aa"),
        (["", "a"], ""),
    ],
)
def test_the_first_key_of_a_hash_map(keys: list[str], first: str) -> None:
    """B233: 311 to 313 look at one broker of a topic."""
    assert first_of_hash_map(keys) == first


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("10.0.0.1:1234", "10.0.0.1"),
        ("::ffff:10.0.0.1:1234", "10.0.0.1"),
        ("2001:db8:1:2::1:1234", "20010db800010002"),
        ("2001:db8:1:2:ffff::9:1", "20010db800010002"),
        ("fe80::1%eth0:1234", "fe80000000000000"),
        ("?", ""),
    ],
)
def test_the_host_of_an_address(address: str, host: str) -> None:
    """An IPv4 address, or the first 64 bits of an IPv6 address."""
    assert host_of(address) == host


@pytest.mark.parametrize(
    ("address", "host"),
    [("10.0.0.1:80", "10.0.0.1"), ("2001:db8:0:1:2:3:4:5:80", "2001:db8:0:1::/64"), ("fe80::1%eth0:80", "fe80::/64"),
     ("::ffff:10.0.0.1:80", "10.0.0.1"), ("unknown", "")],
)  # fmt: skip
def test_a_host_as_people_read_it(address: str, host: str) -> None:
    """An access rule can name it."""
    assert shown_account(host_of(address)) == host


@pytest.mark.parametrize(
    "text", ["a:1,b:2", "a:1;b:2", "a:1 b:2", " a:1 ;, b:2;", "a:1\n\tb:2", "a:1\uff0cb:2", "a:1\u3001b:2"]
)
def test_commas_semicolons_and_blanks_separate_the_items_of_a_list(text: str) -> None:
    assert listed(text) == ["a:1", "b:2"]


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("ns-1.example.com:9876", ("ns-1.example.com", 9876)),
        ("ns_1.:65535", ("ns_1.", 65535)),
        ("[::1]:9876", ("::1", 9876)),
        ("::1:9876", ("::1", 9876)),
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
