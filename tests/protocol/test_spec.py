"""The Construct declarations: one sample of each layout in both directions, and checks of lengths."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any

import pytest
from construct import ConstructError, Int32sb, StreamError, Struct
from hypothesis import given
from hypothesis import strategies as st

from interop.harness.wire import binary_header
from rocketns.errors import MalformedFrame
from rocketns.protocol import proxy, spec
from rocketns.protocol.bounds import BLOCKS_MAX
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import Reply
from rocketns.protocol.encoding import encode_reply

FRAME_HEAD = bytes.fromhex("0000001b 00000017")
BINARY_HEADER = bytes.fromhex(  # GET_ROUTEINFO_BY_TOPIC of topic "nope"
    "0069 00 0201 00000007 00000000 00000002 6f6b 0000000f 0005 746f706963 00000004 6e6f7065"
)
REGISTRATION = bytes.fromhex(
    "00000002 7b7d"  # the version {}
    "00000001 00000012 54203120312036204d554c54495f544147 20"  # one line, with its trailing blank
    "00000002 5b5d"  # the filter servers []
    "00000001 0000000b 7b22746f706963223a307d"  # one mapping {"topic":0}
)


def test_the_frame_head() -> None:
    """B001, B003."""
    head = spec.FRAME_HEAD.parse(FRAME_HEAD)
    assert (head.length, head.serialize_type, head.header_length) == (27, 0, 23)
    assert spec.FRAME_HEAD.build({"length": 27, "serialize_type": 0, "header_length": 23}) == FRAME_HEAD


@pytest.mark.parametrize("serialize_type", [2, 127, 128, 255])
def test_other_serialize_types_do_not_exist(serialize_type: int) -> None:
    """B004."""
    with pytest.raises(ConstructError):
        spec.FRAME_HEAD.parse(struct.pack(">iB3x", 4, serialize_type))


@given(
    st.integers(-(2**15), 2**15 - 1),
    st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=8), max_size=5),
    st.binary(max_size=8),
)
def test_the_binary_header_is_built_as_a_peer_builds_it(code: int, ext: dict[str, str], remark: bytes) -> None:
    expected = binary_header(code, ext, opaque=9, remark=remark)
    fields: dict[str, Any] = {"code": code, "language": 0, "version": 513, "opaque": 9, "flag": 0, "remark": remark}
    fields["ext"] = [{"key": key.encode(), "value": value.encode()} for key, value in ext.items()]
    assert spec.BINARY_HEADER.build(fields, header_length=spec.HEADER_MAX) == expected
    parsed = spec.BINARY_HEADER.parse(expected, header_length=len(expected))
    assert [(pair.key.decode(), pair.value.decode()) for pair in parsed.ext or ()] == list(ext.items())


def test_the_compressed_registration() -> None:
    """B126."""
    body = spec.COMPRESSED_REGISTRATION.parse(REGISTRATION, mappings=True)
    assert (body.data_version.data, body.filter_servers.data) == (b"{}", b"[]")
    assert (body.topics.blocks, body.mappings.blocks) == ([b"T 1 1 6 MULTI_TAG "], [b'{"topic":0}'])
    assert spec.COMPRESSED_REGISTRATION.build(body, mappings=True) == REGISTRATION


def test_the_compressed_registration_of_an_old_broker_ends_before_the_mappings() -> None:
    """B128."""
    body = spec.COMPRESSED_REGISTRATION.parse(REGISTRATION[:-19], mappings=False)
    assert body.mappings is None
    assert spec.COMPRESSED_REGISTRATION.build(body, mappings=False) == REGISTRATION[:-19]


@pytest.mark.parametrize("cut", range(len(REGISTRATION)))
def test_a_cut_registration_is_refused(cut: int) -> None:
    """B127, B129."""
    with pytest.raises(ConstructError):
        spec.COMPRESSED_REGISTRATION.parse(REGISTRATION[:cut], mappings=True)


@pytest.mark.parametrize("count", [0, -1, -(2**31)])
def test_a_negative_count_is_none(count: int) -> None:
    """Java's loops do not run."""
    data = b"\x00\x00\x00\x00" + struct.pack(">i", count) + b"\x00\x00\x00\x00" + struct.pack(">i", count)
    body = spec.COMPRESSED_REGISTRATION.parse(data, mappings=True)
    assert (body.topics.blocks, body.mappings.blocks) == ([], [])


@pytest.mark.parametrize("length", [-1, -(2**31), 0, 15, 2**31 - 1])
def test_a_topic_line_of_an_impossible_length_is_refused(length: int) -> None:
    data = b"\x00\x00\x00\x00" + struct.pack(">ii", 1, length) + b" " * 15
    with pytest.raises(StreamError, match="block"):
        spec.COMPRESSED_REGISTRATION.parse(data, mappings=True)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x00\x00", b"\x00\x00\x00\x01", b"\xff\xff\xff\xff"])
def test_blocks_end_with_the_bytes(data: bytes) -> None:
    """Also where an empty one is allowed, whatever the count says."""
    layout = Struct("count" / Int32sb, "blocks" / spec.Blocks(bytes_min=0))
    assert layout.parse(struct.pack(">i", 2) + b"\x00" * 8).blocks == [b"", b""]
    with pytest.raises(StreamError):
        layout.parse(struct.pack(">i", 2**31 - 1) + b"\x00" * 8 + data)


def test_more_blocks_than_any_broker_has_are_refused_before_they_are_read() -> None:
    data = b"\x00\x00\x00\x00" + struct.pack(">i", BLOCKS_MAX + 1) + (b"\x00\x00\x00\x10" + b" " * 16) * 3
    with pytest.raises(ConstructError) as raised:
        spec.COMPRESSED_REGISTRATION.parse(data, mappings=True)
    assert not isinstance(raised.value, StreamError)


@given(
    st.integers(-(2**15), 2**15 - 1),
    st.none() | st.text(max_size=8),
    st.dictionaries(st.text(max_size=8), st.none() | st.text(max_size=8), max_size=4),
    st.binary(max_size=8),
)
def test_answers_are_written_as_they_are_declared(code: int, remark: str | None, ext: Any, body: bytes) -> None:
    """B033: Java leaves null values out."""
    pairs = [{"key": key.encode(), "value": value.encode()} for key, value in ext.items() if value is not None]
    fields = {"code": code, "language": 0, "version": 513, "opaque": 9, "flag": 1, "remark": (remark or "").encode()}
    header = spec.BINARY_HEADER.build(fields | {"ext": pairs}, header_length=spec.HEADER_MAX)
    head = {"length": 4 + len(header) + len(body), "serialize_type": 1, "header_length": len(header)}
    written = encode_reply(Reply(code, remark, ext, body), 9, SerializeType.ROCKETMQ)
    assert written == spec.FRAME_HEAD.build(head) + header + body


@given(st.integers(0, 15), st.integers(0, 15), st.integers(0, 15), st.integers(0, 15), st.integers(0, 20))
def test_a_proxy_header_is_read_as_it_is_declared(
    version: int, command: int, family: int, kind: int, size: int
) -> None:
    fields = {
        "signature": proxy.V2_SIGNATURE,
        "version_command": {"version": version, "command": command},
        "family_transport": {"family": family, "transport": kind},
        "length": size,
    }
    addresses = b"\x0a\x00\x00\x01\x7f\x00\x00\x01\x04\xd2\x00\x50"
    data = spec.PROXY_V2_HEAD.build(fields) + addresses.ljust(size, b"\0")[:size]
    read: Any = "refused"
    with suppress(MalformedFrame):
        read = proxy.parse(data)
    assert read == _expected_proxy(version, command, family, kind, size)


def _expected_proxy(version: int, command: int, family: int, kind: int, size: int) -> Any:
    if version != 2 or command > 1:
        return "refused"
    if command == 0 or family == kind == 0:
        return proxy.ProxyHeader(16 + size, None)
    if family == 1 and kind in (1, 2) and size >= 12:
        return proxy.ProxyHeader(16 + size, "10.0.0.1:1234")
    return "refused"
