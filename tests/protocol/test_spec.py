"""Layouts: each declared one is read and built byte for byte, and PROXY headers are read from any bytes."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any

import pytest
from construct import Int32sb, StreamError, Struct
from hypothesis import given
from hypothesis import strategies as st

from rocketns._fast.codec.proxy_header import DETECTION_BYTES, is_header, parse
from rocketns.protocol import spec
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import Reply
from rocketns.protocol.encoding import encode_reply
from tests.protocol.strategies import mutated
from tests.support.proxyheaders import (
    LOCAL,
    SIGNATURE,
    TCP4,
    TCP6,
    UDP6,
    UNIX_ADDRESSES,
    UNIX_STREAM,
    UNSPEC,
    addresses4,
    addresses6,
    tlv,
    v1,
    v2,
)

BINARY_HEADER = bytes.fromhex(  # GET_ROUTEINFO_BY_TOPIC of topic "nope"
    "0069 00 0201 00000007 00000000 00000002 6f6b 0000000f 0005 746f706963 00000004 6e6f7065"
)
REGISTRATION = bytes.fromhex(
    "00000002 7b7d"  # the version {}
    "00000001 00000012 54203120312036204d554c54495f544147 20"  # one line, with its trailing blank
    "00000002 5b5d"  # the filter servers []
    "00000001 0000000b 7b22746f706963223a307d"  # one mapping {"topic":0}
)


def test_the_compressed_registration() -> None:
    """B126."""
    body = spec.COMPRESSED_REGISTRATION.parse(REGISTRATION, mappings=True)
    assert (body.data_version.data, body.filter_servers.data) == (b"{}", b"[]")
    assert (body.topics.blocks, body.mappings.blocks) == ([b"T 1 1 6 MULTI_TAG "], [b'{"topic":0}'])
    assert spec.COMPRESSED_REGISTRATION.build(body, mappings=True) == REGISTRATION


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x00\x00", b"\x00\x00\x00\x01", b"\xff\xff\xff\xff"])
def test_blocks_end_with_the_bytes(data: bytes) -> None:
    """Also where an empty one is allowed, whatever the count says."""
    layout = Struct("count" / Int32sb, "blocks" / spec.Blocks(bytes_min=0))
    assert layout.parse(struct.pack(">i", 2) + b"\x00" * 8).blocks == [b"", b""]
    with pytest.raises(StreamError):
        layout.parse(struct.pack(">i", 2**31 - 1) + b"\x00" * 8 + data)


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
        "signature": SIGNATURE,
        "version_command": {"version": version, "command": command},
        "family_transport": {"family": family, "transport": kind},
        "length": size,
    }
    addresses = b"\x0a\x00\x00\x01\x7f\x00\x00\x01\x04\xd2\x00\x50"
    data = spec.PROXY_V2_HEAD.build(fields) + addresses.ljust(size, b"\0")[:size]
    read: Any = "refused"
    with suppress(ValueError):
        read = parse(data)
    assert read == _expected_proxy(version, command, family, kind, size)


def _expected_proxy(version: int, command: int, family: int, kind: int, size: int) -> Any:
    if version != 2 or command > 1:
        return "refused"
    if command == 0 or family == kind == 0:
        return (16 + size, None)
    if family == 1 and kind in (1, 2) and size >= 12:
        return (16 + size, "10.0.0.1:1234")
    return "refused"


# PROXY headers from bytes: whole, cut, followed by something, mutated, and none at all.

IPV4, IPV6 = addresses4("192.0.2.7", 56324), addresses6("2001:db8::7", 0)

HEADERS = {
    v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 443): "192.0.2.7:56324",
    v1("TCP4", "10.1.0.0", "255.255.255.255", 1, "007"): "10.1.0.0:1",
    v1("TCP6", "2001:DB8::0:7", "::", 65535, 1): "2001:db8::7:65535",
    v1("TCP6", "fe80::7", "::ffff:1.2.3.4", 1, 1): "fe80::7:1",
    b"PROXY UNKNOWN\r\n": None,
    b"PROXY UNKNOWN \xff\r\n": None,
    v2(TCP4, IPV4): "192.0.2.7:56324",
    v2(UDP6, IPV6): "2001:db8::7:0",
    v2(TCP6, IPV6 + tlv(0x20, b"\x07\0\0\0\0" + tlv(0x21, b"TLSv1.3")) + tlv(0x04, b"")): "2001:db8::7:0",
    v2(TCP4, IPV4 + tlv(0x04, b"") + b"\x04\xff\xff"): "192.0.2.7:56324",  # too short for an extension
    v2(UNIX_STREAM, UNIX_ADDRESSES): None,
    v2(UNSPEC, b"anything"): None,
    v2(0xFF, b"\x20\xff\xff", command=LOCAL): None,
}

headers = st.sampled_from(list(HEADERS))
tlvs = st.lists(st.builds(tlv, st.sampled_from([1, 2, 4, 0x20, 0x30, 0xEA]), st.binary(max_size=20)), max_size=4)
v2_headers = st.builds(
    lambda family, block, extensions, command, length: v2(
        family, block + b"".join(extensions), command=command, length=length
    ),
    st.one_of(st.sampled_from([TCP4, TCP6, UNIX_STREAM, UNSPEC]), st.integers(0, 255)),
    st.sampled_from([b"", IPV4, IPV6, UNIX_ADDRESSES, IPV4[:-1]]),
    tlvs,
    st.integers(0, 2),
    st.one_of(st.none(), st.integers(0, 80)),
)


@pytest.mark.parametrize(("header", "source"), HEADERS.items())
def test_whole_cut_and_followed_by_something(header: bytes, source: str | None) -> None:
    """B054, B055, B057, B058: no byte after the header is consumed, and a partial header is recognised as partial."""
    assert is_header(header[:DETECTION_BYTES])
    for rest in (b"", b"\0", b"\r\n", header):
        assert parse(header + rest) == (len(header), source)
    for end in range(DETECTION_BYTES, len(header)):
        assert parse(header[:end]) is None


@pytest.mark.parametrize(
    "start", [b"PROX", b"proxy TCP4 1", SIGNATURE[:-1] + b"\0", b"\x16\x03\x01" + bytes(9), bytes(12)]
)
def test_other_beginnings(start: bytes) -> None:
    """B054: other beginnings are not a PROXY header."""
    assert not is_header(start)


@pytest.mark.parametrize("size", [110, 200])
def test_a_line_without_end(size: int) -> None:
    """B056: it is refused as soon as it is too long."""
    line = b"PROXY UNKNOWN ".ljust(size, b"x")
    assert parse(line[:109]) is None
    with pytest.raises(ValueError):
        parse(line)


@pytest.mark.parametrize(
    "header",
    [
        v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 0), v1("TCP4", "192.0.2.7", "192.0.2.1", 65536, 1),
        v1("TCP4", "192.0.2.7", "192.0.2.1", "-1", 1), v1("TCP4", "192.0.2.7", "192.0.2.1", 100_001, 1),
        v1("TCP4", "192.0.2.7", "192.0.2.1", 1), v1("TCP4", "192.0.2.7", "192.0.2.1", 1, 2, 3),
        v1("TCP4", "192.0.2.7", "192.0.2.256", 1, 2), v1("TCP6", "2001:db8::7", "192.0.2.1", 1, 2),
        v1("TCP6", "fe80::7%eth0", "::", 1, 2), v1("TCP6", "1:" * 40, "::", 1, 2), v1("TCP5", "::", "::", 1, 2),
        v1("TCP4", "192.0.2.7", " 192.0.2.1", 1, 2), v1("TCP4", "192.0.2.7\0", "192.0.2.1", 1, 2),
        v2(TCP4, IPV4[:-1]), v2(TCP4, IPV4 + tlv(0x04, b"ab", length=3)), v2(UNIX_STREAM, UNIX_ADDRESSES[:-1]),
        v2(TCP4, IPV4 + tlv(0x20, b"ab") + tlv(0x04, b"ab", length=0xFFFF)),
        b"PROXYTCP4 192.0.2.7 192.0.2.1 1 2\r\n", b"PROXY\tTCP4 192.0.2.7 192.0.2.1 1 2\r\n",
        b"PROXY TCP4 192.0.2.7 192.0.2.1 1 2 \r\n", b"PROXY TCP4 192.0.2.7 192.0.2.1 1 2\n", b"PROXY\r\n     ",
    ],
)  # fmt: skip
def test_other_headers_are_refused(header: bytes) -> None:
    """B056, B057."""
    with pytest.raises(ValueError, match="a wrong PROXY header"):
        parse(header)


def outcome(data: bytes) -> object:
    try:
        return parse(data)
    except ValueError:
        return ValueError


@given(st.one_of(mutated(headers), mutated(v2_headers), v2_headers, st.binary(max_size=120)), st.binary(max_size=20))
def test_any_bytes(data: bytes, rest: bytes) -> None:
    """B056, B058: only ValueError is raised, no more is consumed than was given, and later bytes change nothing."""
    found = outcome(data)
    if isinstance(found, tuple):
        size, source = found
        assert 0 < size <= len(data)
        assert outcome(data[:size]) == found
        assert source is None or source.isprintable()
    if found is not None:
        assert outcome(data + rest) == found


@given(st.text(st.sampled_from("PROXYTC46UNKW0123456789.:abf%[] \n\t\x1b"), max_size=100))
def test_any_line(text: str) -> None:
    """B056: an announced address is safe in a log line."""
    found = outcome(f"PROXY TCP6 {text}\r\n".encode())
    assert not isinstance(found, tuple) or (found[1] or "").isprintable()
