"""What decides about access in compiled code: keyed hashes and digests, remembered lookups, networks, core dumps."""

from __future__ import annotations

import os
import subprocess
import sys
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interop.harness.wire import ROCKETMQ, binary_header, frame
from rocketns._fast.access.networks import NETWORK_TABLE_MAX, Networks
from rocketns.config.address_texts import Network, packed, packed_address
from tests.compiled.access import DecisionTable, flags_of, lookup_digest, peer_of, siphash
from tests.fast.lookups import CLIENTS, KEYS, SIGNATURE, look_up, signed, signed_binary, valid_frames

DECISIONS_MAX = 65_536  # policy.pxd
EXT_BYTES_MAX = 4096


def test_the_hash_is_the_one_of_cpython() -> None:
    """Where PYTHONHASHSEED is 0, the key of CPython's is 0, too."""
    assert sys.hash_info.algorithm == "siphash13"
    program = "print(*(hash(bytes(range(length))) % 2**64 for length in range(1, 64)))"
    seed = os.environ | {"PYTHONHASHSEED": "0"}
    printed = subprocess.run([sys.executable, "-c", program], env=seed, capture_output=True, check=True).stdout
    assert [siphash(bytes(range(length))) for length in range(1, 64)] == [int(word) for word in printed.split()]


def test_a_digest_changes_with_what_the_decision_depends_on() -> None:
    digest = lookup_digest(signed("T"), KEYS)
    assert digest is not None
    for same in (signed("T", opaque=-1), signed("T", version=317), signed("T", language="GO")):
        assert lookup_digest(same, KEYS) == digest
    others = [
        signed("T"), signed("U"), signed("T", signature="kKm0P8pT3+u4/1c!"), signed("T", key="rocketmq3"),
        signed("T", more={"x": "y"}), signed_binary("T"), signed_binary("U"),
    ]  # fmt: skip
    digests = {lookup_digest(one, KEYS) for one in others}
    assert len(digests - {None}) == len(others)


@pytest.mark.parametrize("signature", ['kKm0P8pT3+u4/1c"', "kKm0P8pT3+u4/1\\u", "kKm0P8pT3+u4/1cÜ", ""])
def test_another_signature_in_its_place_follows_no_layout(signature: str) -> None:
    """One that needs escaping, and none."""
    assert lookup_digest(signed("T", signature=signature), KEYS, signed("T")) is None


def test_the_same_bytes_in_two_forms_of_header_have_two_digests() -> None:
    """Both forms have a key of their own."""
    assert lookup_digest(signed("T"), KEYS) != lookup_digest(signed("T"), KEYS[32:] + KEYS[:32])
    assert lookup_digest(signed_binary("T"), KEYS) == lookup_digest(signed_binary("T"), KEYS[32:] + KEYS[32:])


@pytest.mark.parametrize("whole", [
    look_up(CLIENTS[0]),
    signed("T", signature=""),
    signed("T", body=b"x"),
    signed("T", more={"x": "y" * EXT_BYTES_MAX}),
    signed_binary("T", body=b"x"),
    frame(binary_header(105, {"topic": "T"}), b"", ROCKETMQ),
], ids=["unsigned", "empty signature", "body", "large", "binary body", "binary unsigned"])  # fmt: skip
def test_a_lookup_that_control_has_to_see_has_no_digest(whole: bytes) -> None:
    assert lookup_digest(whole, KEYS) is None


@given(valid_frames, st.sampled_from(["T", "U", "%RETRY%g"]), st.text("aZ+/=", min_size=1, max_size=40))
def test_a_lookup_that_follows_a_layout_has_the_digest_of_its_own_bytes(
    whole: bytes, topic: str, signature: str
) -> None:
    """Topic and signature differ from those that the layout was learnt from."""
    learnt = signed("T")
    for one in (whole, signed_binary(topic), signed(topic, signature=signature, body=b"x")):
        assert lookup_digest(one, KEYS, learnt) in (None, lookup_digest(one, KEYS))
    for one in (signed(topic, signature=signature), signed(topic, signature=signature, opaque=-1)):
        assert lookup_digest(one, KEYS, learnt) == lookup_digest(one, KEYS) is not None


def test_a_quote_in_the_place_of_a_signature_ends_no_text() -> None:
    """As many bytes as a signature has, with another field among them: the decision would be about other fields."""
    learnt = signed("T")
    planted = learnt.replace(SIGNATURE.encode(), b'x","AccessKey":"')
    assert len(planted) == len(learnt)
    assert lookup_digest(planted, KEYS, learnt) is None


def test_what_is_remembered_is_found_and_nothing_else() -> None:
    table, digests = DecisionTable(), [os.urandom(16) for _ in range(1_000)]
    for digest in digests[:500]:
        table.remember(digest)
    assert all(digest in table for digest in digests[:500])
    assert not any(digest in table for digest in digests[500:])


@pytest.mark.parametrize("half", [slice(0, 8), slice(8, 16)])
def test_half_of_a_digest_is_not_enough(half: slice) -> None:
    table, digest = DecisionTable(), bytes(range(1, 17))
    table.remember(digest)
    other = bytearray(digest)
    other[half] = bytes(8)
    assert bytes(other) not in table


def test_a_full_table_still_remembers_what_came_last() -> None:
    """Random digests: four times as many as have room."""
    table, digests = DecisionTable(), [os.urandom(16) for _ in range(4 * DECISIONS_MAX)]
    for digest in digests:
        table.remember(digest)
    kept = sum(digest in table for digest in digests)
    assert DECISIONS_MAX * 0.9 < kept <= DECISIONS_MAX
    assert digests[-1] in table


# The compiled table of networks, against Python's ipaddress.

MAPPED = IPv6Address("::ffff:0:0")
addresses_4 = st.builds(IPv4Address, st.integers(0, 2**32 - 1))
addresses_6 = st.one_of(
    st.builds(IPv6Address, st.integers(0, 2**128 - 1)), addresses_4.map(lambda one: IPv6Address(int(MAPPED) + int(one)))
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
    assert flags_of(compiled, packed_address(address)) == expected(table, address)


def test_an_address_in_a_full_table_is_found() -> None:
    rows = [(packed_address(IPv4Address(number)), 128, 1) for number in range(NETWORK_TABLE_MAX)]
    table = Networks(rows)
    assert [flags_of(table, packed_address(IPv4Address(number))) for number in (0, NETWORK_TABLE_MAX - 1)] == [1, 1]
    assert flags_of(table, packed_address(IPv4Address(NETWORK_TABLE_MAX))) == 0
    with pytest.raises(ValueError, match="at most 4160"):
        Networks([*rows, rows[0]])


@pytest.mark.parametrize("row", [(bytes(4), 8, 1), (bytes(17), 8, 1), (bytes(16), 129, 1), (bytes(16), -1, 1)])
def test_a_network_that_is_none_is_refused(row: tuple[bytes, int, int]) -> None:
    with pytest.raises(ValueError, match="address"):
        Networks([row])
    with pytest.raises(ValueError, match="16 expected"):
        Networks([]).first_flags_of(bytes(15))


@given(addresses, st.integers(0, 65_535))
def test_an_announced_address_is_read_like_ipaddress_does(address: IPv4Address | IPv6Address, port: int) -> None:
    assert peer_of(f"{address}:{port}".encode()) == packed_address(address)


@pytest.mark.parametrize("text", ["", "?", "?:1", "10.0.0:1", "10.0.0.1", "host:1", "::1", "1" * 100 + ":1", "%:1"])
def test_a_text_that_is_no_address_has_none(text: str) -> None:
    """Of ``::1`` the last part is the port."""
    assert peer_of(text.encode()) is None


# keep_secrets_out_of_core_dumps: what the kernel then refuses.

CALL = "keep_secrets_out_of_core_dumps()"
BEFORE = """
import ctypes, resource
from rocketns._fast.system.process import keep_secrets_out_of_core_dumps
"""


def printed(*script: str) -> str:
    command = [sys.executable, "-c", BEFORE + "\n".join(script)]
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True, timeout=60).stdout.strip()


def test_a_process_with_secrets_has_no_cores_and_is_not_dumpable() -> None:
    cores = "print(resource.getrlimit(resource.RLIMIT_CORE))"
    dumpable = "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"  # PR_GET_DUMPABLE
    assert printed(dumpable) == "1"
    assert printed(CALL, cores, dumpable) == "(0, 0)\n0"
