"""The compiled check of a PROXY header's extensions against its definition, and what the largest header costs."""

from __future__ import annotations

import time

from hypothesis import example, given
from hypothesis import strategies as st

from rocketns._fast.system.proxy_extensions import fault_of
from rocketns.protocol import proxy
from tests.support.proxyheaders import TCP4, addresses4, tlv, v2

SSL = 0x20
NESTING_MAX = 128
CUT = "a PROXY header with a cut extension"
SSL_CUT = "a PROXY header with a cut SSL extension"
TOO_DEEP = "a PROXY header with extensions within extensions"
PARSED_S_MAX = 0.001

extensions = st.recursive(
    st.builds(tlv, st.sampled_from([0, 4, SSL, 0xEE]), st.binary(max_size=9)),
    lambda inner: st.lists(inner, max_size=4).map(lambda some: tlv(SSL, bytes(5) + b"".join(some))),
)
blocks = st.lists(extensions, max_size=5).map(b"".join)


def defined(rest: bytes, nesting: int = 0) -> str | None:
    """HAProxyMessage.readTlvs."""
    if nesting > NESTING_MAX:
        return TOO_DEEP
    at = 0
    while len(rest) - at >= 4:
        value = at + 3
        end = value + int.from_bytes(rest[at + 1 : value], "big")
        if end > len(rest):
            return CUT
        if rest[at] == SSL:
            if end - value < 5:
                return SSL_CUT
            found = defined(rest[value + 5 : end], nesting + 1)
            if found is not None:
                return found
        at = end
    return None


def nested(levels: int, value: bytes = b"") -> bytes:
    for _ in range(levels):
        value = tlv(SSL, bytes(5) + value)
    return value


@given(st.one_of(blocks, st.binary(max_size=60)), st.integers(0, 12), st.binary(max_size=3))
@example(nested(128), 0, b"")
@example(nested(129), 0, b"")
@example(nested(3, b"\x04\0\x02a"), 0, b"")
def test_it_finds_what_the_definition_finds(block: bytes, cut: int, rest: bytes) -> None:
    """B057: whole ones, cut ones, ones within others."""
    data = block[: len(block) - cut] + rest
    assert fault_of(data) == defined(data)


def test_the_dearest_header_takes_no_time_from_others() -> None:
    """B057: it is read before the fair shares begin. 1,000 peers may send one at once."""
    room = 0xFFFF - 12
    flat = tlv(0, b"") * (room // 3)
    deep = nested(120, tlv(0, b"") * ((room - 120 * 8) // 3))
    for block in (flat, deep):
        header = v2(TCP4, addresses4("192.0.2.7", 56324) + block)
        took_s = []
        for _ in range(5):
            began_s = time.thread_time()
            assert proxy.parse(header) is not None
            took_s.append(time.thread_time() - began_s)
        assert min(took_s) < PARSED_S_MAX, took_s
