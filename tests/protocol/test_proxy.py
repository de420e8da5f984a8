"""PROXY headers from bytes: whole, cut, followed by something, mutated, and none at all."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.errors import MalformedFrame
from rocketns.protocol import proxy
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

IPV4, IPV6 = addresses4("192.0.2.7", 56324), addresses6("2001:db8::7", 0)

HEADERS = {
    v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 443): "192.0.2.7:56324",
    v1("TCP4", "010.001.0.0", "255.255.255.255", "+1", "007"): "010.001.0.0:1",
    v1("TCP6", "2001:DB8::0:7", "::", 65535, 1): "2001:db8::7:65535",
    v1("TCP6", "fe80::7%eth0", "::ffff:1.2.3.4", 1, 1): "fe80::7:1",
    b"PROXY TCP4 192.0.2.7 192.0.2.1 1 2   \r\n": "192.0.2.7:1",
    b"PROXY UNKNOWN\r\n": None,
    b"PROXY UNKNOWN \xff\r\n": None,
    v2(TCP4, IPV4): "192.0.2.7:56324",
    v2(UDP6, IPV6): "2001:db8::7:0",
    v2(TCP6, IPV6 + tlv(0x20, b"\x07\0\0\0\0" + tlv(0x21, b"TLSv1.3")) + tlv(0x04, b"")): "2001:db8::7:0",
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
    assert proxy.is_proxied(header[: proxy.DETECTION_BYTES])
    for rest in (b"", b"\0", b"\r\n", header):
        assert proxy.parse(header + rest) == proxy.ProxyHeader(len(header), source)
    for end in range(proxy.DETECTION_BYTES, len(header)):
        assert proxy.parse(header[:end]) is None


@pytest.mark.parametrize(
    "start", [b"PROX", b"proxy TCP4 1", SIGNATURE[:-1] + b"\0", b"\x16\x03\x01" + bytes(9), bytes(12)]
)
def test_other_beginnings(start: bytes) -> None:
    """B054: other beginnings are not a PROXY header."""
    assert not proxy.is_proxied(start)


@pytest.mark.parametrize("size", [110, 200])
def test_a_line_without_end(size: int) -> None:
    """B056: it is refused as soon as it is too long."""
    line = b"PROXY UNKNOWN ".ljust(size, b"x")
    assert proxy.parse(line[:109]) is None
    with pytest.raises(MalformedFrame):
        proxy.parse(line)


def test_extensions_within_extensions() -> None:
    """B057: a few are accepted, very many are refused."""

    def nested(levels: int) -> bytes:
        value = b""
        for _ in range(levels):
            value = tlv(0x20, bytes(5) + value)
        return v2(TCP4, IPV4 + value)

    assert proxy.parse(nested(100)) is not None
    for levels in (200, 5_000):
        with pytest.raises(MalformedFrame):
            proxy.parse(nested(levels))


def test_as_many_extensions_as_fit() -> None:
    """B057: the largest header there is, of the smallest extensions."""
    block = IPV4 + tlv(0x04, b"\0") * ((0xFFFF - len(IPV4)) // 4)
    header = v2(TCP4, block)
    assert proxy.parse(header) == proxy.ProxyHeader(len(header), "192.0.2.7:56324")
    assert len(header) <= proxy.V2_BYTES_MAX


def test_the_dearest_header_takes_no_time_from_others() -> None:
    """B057: it is read before the fair shares begin. 1,000 peers may send one at once."""
    room = 0xFFFF - len(IPV4)
    flat = tlv(0, b"") * (room // 3)
    deep = tlv(0, b"") * ((room - 120 * 8) // 3)
    for _ in range(120):
        deep = tlv(0x20, bytes(5) + deep)
    for block in (flat, deep):
        header = v2(TCP4, IPV4 + block)
        took_s = []
        for _ in range(5):
            began_s = time.thread_time()
            assert proxy.parse(header) is not None
            took_s.append(time.thread_time() - began_s)
        assert min(took_s) < 0.001, took_s


def outcome(data: bytes) -> object:
    try:
        return proxy.parse(data)
    except MalformedFrame:
        return MalformedFrame


@given(st.one_of(mutated(headers), mutated(v2_headers), v2_headers, st.binary(max_size=120)), st.binary(max_size=20))
def test_any_bytes(data: bytes, rest: bytes) -> None:
    """B056, B058: only MalformedFrame is raised, no more is consumed than was given, and later bytes change nothing."""
    found = outcome(data)
    if isinstance(found, proxy.ProxyHeader):
        assert 0 < found.size <= len(data)
        assert outcome(data[: found.size]) == found
        assert found.source is None or found.source.isprintable()
    if found is not None:
        assert outcome(data + rest) == found


@given(st.text(st.sampled_from("PROXYTC46UNKW0123456789.:abf%[] \n\t\x1b"), max_size=100))
def test_any_line(text: str) -> None:
    """B056: an announced address is safe in a log line."""
    found = outcome(f"PROXY TCP6 {text}\r\n".encode())
    assert not isinstance(found, proxy.ProxyHeader) or (found.source or "").isprintable()
