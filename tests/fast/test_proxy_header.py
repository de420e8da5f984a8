"""The compiled reader of PROXY headers takes and refuses what rocketns.protocol.proxy does."""

from __future__ import annotations

import ipaddress

from hypothesis import example, given
from hypothesis import strategies as st

from rocketns._fast.codec.proxy_header import parse
from rocketns.errors import MalformedFrame
from rocketns.protocol import proxy
from tests.protocol.strategies import mutated
from tests.support.proxyheaders import (
    LOCAL,
    TCP4,
    TCP6,
    UNIX_ADDRESSES,
    UNIX_STREAM,
    addresses4,
    addresses6,
    tlv,
    v1,
    v2,
)

HEADERS = [
    v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 443),
    v1("TCP4", "010.0.0.1", "1.2.3.4", "+1", "0065535"),
    v1("TCP6", "2001:db8::7", "::1", 1, 2),
    v1("TCP6", "fe80::1%eth0", "fe80::2", 1, 2),
    v1("UNKNOWN", "a", "b", 0, 99_999),
    b"PROXY UNKNOWN\r\n",
    b"PROXY UNKNOWN   \r\n",
    b"PROXY " + b" " * 102 + b"\r\n",
    v2(TCP4, addresses4("192.0.2.7", 56324)),
    v2(TCP6, addresses6("2001:db8::7", 1)),
    v2(TCP4, addresses4("192.0.2.7", 0) + tlv(3, b"1234") + tlv(0x20, bytes(5) + tlv(1, b"x"))),
    v2(UNIX_STREAM, UNIX_ADDRESSES),
    v2(0),
    v2(TCP4, command=LOCAL),
]
AFTER = b"\0\0\0\x10 and what follows it"


def known(data: bytes) -> tuple[int, str | None] | str | None:
    """What the reference says."""
    try:
        header = proxy.parse(data)
    except MalformedFrame:
        return "refused"
    return None if header is None else (header.size, header.source)


def compiled(data: bytes) -> tuple[int, str | None] | str | None:
    try:
        return parse(data)
    except ValueError:
        return "refused"


def same_address(one: str | None, other: str | None) -> bool:
    """An IPv6 address that contains an IPv4 address has two texts."""
    if one is None or other is None:
        return one is other
    hosts = [text.rpartition(":")[::2] for text in (one, other)]
    if hosts[0] == hosts[1]:
        return True
    return hosts[0][1] == hosts[1][1] and len({ipaddress.ip_address(host) for host, _ in hosts}) == 1


@given(mutated(st.sampled_from(HEADERS)), st.integers(0, 400))
@example(HEADERS[0], 0)
@example(b"PROXY TCP4 1.2.3.4\0 1.2.3.4 1 2\r\n", 0)
@example(b"PROXY TCP6 ::1\0 ::1 1 2\r\n", 0)
@example(b"PROXY TCP6 " + b"1" * 70 + b" ::1 1 2\r\n", 0)
def test_headers_that_are_cut_or_changed(data: bytes, cut: int) -> None:
    """B057: in all forms, with more bytes behind them or too few."""
    for received in (data + AFTER, data[: len(data) - cut]):
        if len(received) < proxy.DETECTION_BYTES or not proxy.is_proxied(received[: proxy.DETECTION_BYTES]):
            continue
        expected, found = known(received), compiled(received)
        if isinstance(expected, tuple) and isinstance(found, tuple):
            assert found[0] == expected[0]
            assert same_address(found[1], expected[1])
        else:
            assert found == expected


def test_every_header_is_read() -> None:
    """B057: byte by byte nothing is known before the last one."""
    for header in HEADERS:
        expected = known(header + AFTER)
        assert expected == known(header)
        for size in range(proxy.DETECTION_BYTES, len(header)):
            assert compiled(header[:size]) == known(header[:size]), (header, size)
