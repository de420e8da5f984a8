"""Lists as people type them, and options that cannot be used."""

from __future__ import annotations

import pytest

from rocketns.doctor.arguments import NAME_SERVERS_MAX, WrongListError, addresses, build, options_of
from rocketns.doctor.facts.options import Options


def options(*words: str, **environment: str) -> Options:
    return options_of(build().parse_args(words), environment, tls=False)


@pytest.mark.parametrize(
    "words",
    [
        ("a:9876;b:9877",),
        ("a:9876,b:9877",),
        ("a:9876 b:9877",),
        ("a", "b:9877"),
        ("a:9876; b:9877;",),
        ("a,a;b:9877",),
    ],
)
def test_commas_semicolons_and_blanks_separate_and_a_port_is_added(words: tuple[str, ...]) -> None:
    assert options(*words).name_servers == ("a:9876", "b:9877")


@pytest.mark.parametrize(
    ("text", "addr"),
    [
        ("[::1]:1", "[::1]:1"),
        ("::1", "[::1]:9876"),
        ("::1:9877", "[::1]:9877"),
        ("fe80::1%eth0:9877", "[fe80::1%eth0]:9877"),
        ("2001:db8::1", "[2001:db8::1]:9876"),
        ("2001:db8:0:0:0:0:0:1234", "[2001:db8:0:0:0:0:0:1234]:9876"),
        ("[fe80::1%eth0]", "[fe80::1%eth0]:9876"),
        ("h.example", "h.example:9876"),
    ],
)
def test_addresses_of_ipv6_and_names(text: str, addr: str) -> None:
    assert addresses([text], 9876, 1) == (addr,)


@pytest.mark.parametrize("item", ["a:b", "a:", ":9876", "a:0", "a:65536", "http://a:1", "a=b:1", "a:1:2x"])
def test_what_is_no_address_is_refused_with_its_name(item: str) -> None:
    with pytest.raises(WrongListError, match="HOST:PORT"):
        options("good:1", item)


def test_too_many_name_servers_are_refused() -> None:
    with pytest.raises(WrongListError, match="17"):
        options(*(f"a:{port}" for port in range(1, NAME_SERVERS_MAX + 2)))


def test_without_a_list_the_environment_is_asked_then_this_machine() -> None:
    assert options(NAMESRV_ADDR="x:1;y:2").name_servers == ("x:1", "y:2")
    assert options().name_servers == ("127.0.0.1:9876",)


def test_brokers_get_the_port_of_brokers() -> None:
    assert options("a", "--broker", "b").brokers == ("b:10911",)


@pytest.mark.parametrize(("text", "ordinal"), [("4.9.7", 407), ("5.0.0", 413), ("5.5.0", 513)])
def test_a_clients_version_is_an_ordinal(text: str, ordinal: int) -> None:
    assert options("a", "--client-version", text).client_version == ordinal


@pytest.mark.parametrize(
    "words", [("--client-version", "6.0"), ("--topic", ""), ("--topic", "x" * 256), ("--watch", "601")]
)
def test_wrong_values_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(WrongListError):
        options("a", *words)


@pytest.mark.parametrize("option", ["--topic", "--group"])
def test_a_name_that_no_request_can_carry_is_refused(option: str) -> None:
    """A byte that is no UTF-8, as Python reads it from a command line."""
    with pytest.raises(WrongListError, match=option):
        options("a", option, "orders\udcff")
