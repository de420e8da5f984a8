"""The compiled table of networks, against Python's ipaddress."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketns._fast.access.networks import NETWORK_TABLE_MAX, NetworkFlag, Networks
from rocketns.config.texts.networks import Network, packed, packed_address
from tests.compiled.access import peer_of

MAPPED = IPv6Address("::ffff:0:0")
addresses_4 = st.builds(IPv4Address, st.integers(0, 2**32 - 1))
addresses_6 = st.one_of(
    st.builds(IPv6Address, st.integers(0, 2**128 - 1)),
    addresses_4.map(lambda one: IPv6Address(int(MAPPED) + int(one))),
)
addresses = st.one_of(addresses_4, addresses_6)
networks = st.one_of(
    st.builds(lambda address, bits: IPv4Network((address, bits), strict=False), addresses_4, st.integers(0, 32)),
    st.builds(lambda address, bits: IPv6Network((address, bits), strict=False), addresses_6, st.integers(0, 128)),
)
flags = st.integers(0, 7)


def as_ipv6(one: Network) -> IPv6Network:
    """An IPv4 network as the part of ::ffff:0:0/96 that it is in the table."""
    if isinstance(one, IPv6Network):
        return one
    return IPv6Network((int(MAPPED) + int(one.network_address), 96 + one.prefixlen))


def expected(table: list[tuple[Network, int]], address: IPv4Address | IPv6Address) -> int:
    wide = IPv6Address(int(MAPPED) + int(address)) if isinstance(address, IPv4Address) else address
    found = 0
    for network, flag in table:
        is_wider = isinstance(network, IPv6Network) and network.prefixlen < 96 and wide.ipv4_mapped is not None
        found |= flag if wide in as_ipv6(network) and not is_wider else 0
    return found


@st.composite
def tables_and_addresses(draw: st.DrawFn) -> tuple[list[tuple[Network, int]], IPv4Address | IPv6Address]:
    """Often an address at an edge of one of the networks, or beside it."""
    table = draw(st.lists(st.tuples(networks, flags), max_size=12))
    if not table or draw(st.booleans()):
        return table, draw(addresses)
    network = draw(st.sampled_from(table))[0]
    edge = draw(st.sampled_from([int(network.network_address), int(network.broadcast_address)]))
    return table, type(network.network_address)((edge + draw(st.integers(-1, 1))) % 2**network.max_prefixlen)


@given(tables_and_addresses())
@example(([(IPv4Network("0.0.0.0/0"), 1)], IPv6Address("2001:db8::1")))
@example(([(IPv6Network("::/0"), 1)], IPv4Address("10.0.0.1")))
@example(([(IPv6Network("::ffff:0:0/96"), 1)], IPv4Address("10.0.0.1")))
@example(([(IPv6Network("2001:db8::/64"), 1), (IPv6Network("2001:db8::/65"), 2)], IPv6Address("2001:db8::")))
def test_an_address_has_the_flags_of_all_networks_that_contain_it(
    drawn: tuple[list[tuple[Network, int]], IPv4Address | IPv6Address],
) -> None:
    table, address = drawn
    compiled = Networks([(*packed(network), flag) for network, flag in table])
    assert compiled.flags_of(packed_address(address)) == expected(table, address)


def test_bits_behind_the_prefix_do_not_count() -> None:
    address = IPv6Address("2001:db8::1").packed
    assert Networks([(address, 64, 1)]).flags_of(IPv6Address("2001:db8::2").packed) == 1


def test_an_address_in_a_full_table_is_found() -> None:
    rows = [(packed_address(IPv4Address(number)), 128, 1) for number in range(NETWORK_TABLE_MAX)]
    table = Networks(rows)
    assert [table.flags_of(packed_address(IPv4Address(number))) for number in (0, NETWORK_TABLE_MAX - 1)] == [1, 1]
    assert table.flags_of(packed_address(IPv4Address(NETWORK_TABLE_MAX))) == 0
    with pytest.raises(ValueError, match="at most 4160"):
        Networks([*rows, rows[0]])


@pytest.mark.parametrize("row", [(bytes(4), 8, 1), (bytes(17), 8, 1), (bytes(16), 129, 1), (bytes(16), -1, 1)])
def test_a_network_that_is_none_is_refused(row: tuple[bytes, int, int]) -> None:
    with pytest.raises(ValueError, match="address"):
        Networks([row])


@pytest.mark.parametrize("size", [0, 4, 15, 17])
def test_an_address_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="16 expected"):
        Networks([]).flags_of(bytes(size))


def test_an_empty_table_has_no_flags_for_anybody() -> None:
    assert Networks([]).flags_of(bytes(16)) == 0


def test_flags_are_bits_of_their_own() -> None:
    assert NetworkFlag.MAY_LOOK_UP & NetworkFlag.HAS_EVIDENCE == 0


@given(addresses, st.integers(0, 65_535))
def test_an_announced_address_is_read_like_ipaddress_does(address: IPv4Address | IPv6Address, port: int) -> None:
    assert peer_of(f"{address}:{port}".encode()) == packed_address(address)


def test_a_scope_is_left_out() -> None:
    assert peer_of(b"fe80::1%eth0:9876") == ipaddress.ip_address("fe80::1").packed


@pytest.mark.parametrize("text", ["", "?", "?:1", "10.0.0:1", "10.0.0.1", "host:1", "::1", "1" * 100 + ":1", "%:1"])
def test_a_text_that_is_no_address_has_none(text: str) -> None:
    """Of ``::1`` the last part is the port."""
    assert peer_of(text.encode()) is None
