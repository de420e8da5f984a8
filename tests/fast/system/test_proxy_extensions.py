"""The compiled check of a PROXY header's extensions against its definition."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from rocketns._fast.system.proxy_extensions import fault_of
from tests.support.proxyheaders import tlv

SSL = 0x20
NESTING_MAX = 128
CUT = "a PROXY header with a cut extension"
SSL_CUT = "a PROXY header with a cut SSL extension"
TOO_DEEP = "a PROXY header with extensions within extensions"

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
