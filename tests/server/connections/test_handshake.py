"""The bytes before the first frame, in pieces of every size: PROXY header, TLS hello, or none."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.config.tls import TlsMode
from rocketns.errors import MalformedFrame
from rocketns.server.connections.handshake import Handshake
from tests.protocol.strategies import mutated
from tests.support.proxyheaders import LOCAL, TCP4, UNSPEC, addresses4, tlv, v1, v2

V1 = v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 443)
V2 = v2(TCP4, addresses4("192.0.2.8", 56325) + tlv(0x01, b"h2"))
LOCAL_V2 = v2(UNSPEC, command=LOCAL)
SOURCES = {b"": None, V1: "192.0.2.7:56324", V2: "192.0.2.8:56325", b"PROXY UNKNOWN\r\n": None, LOCAL_V2: None}
HELLO = b"\x16\x03\x01" + bytes(range(60))
FRAME = b"\0\0\0\x20" + bytes(40)


@dataclass
class Outcome:
    """The detected kind of a connection, and the bytes left for the next stage."""

    kind: str
    source: str | None
    left: bytes


def run(pieces: list[bytes], mode: TlsMode = TlsMode.PERMISSIVE) -> Outcome:
    """Feed pieces as a channel does, until the kind is known."""
    handshake, buffer = Handshake(mode), bytearray()
    for piece in pieces:
        buffer += piece
        if handshake.is_plain or handshake.is_tls:
            continue
        try:
            taken = handshake.take(buffer)
        except MalformedFrame:
            return Outcome("closed", handshake.source, b"")
        assert 0 <= taken <= len(buffer)
        del buffer[:taken]
    kind = "plain" if handshake.is_plain else "tls" if handshake.is_tls else "waiting"
    return Outcome(kind, handshake.source, bytes(buffer))


def in_pieces(data: bytes, sizes: list[int]) -> list[bytes]:
    """Cut by sizes, the rest in one piece."""
    pieces = []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    return [*pieces, data]


@pytest.mark.parametrize("header", SOURCES, ids=["none", "v1", "v2", "v1 unknown", "v2 local"])
@pytest.mark.parametrize(("first", "kind"), [(HELLO, "tls"), (FRAME, "plain")], ids=["tls", "plain"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 11, 12, 13, 16, 50, 1000])
def test_pieces_of_every_size(header: bytes, first: bytes, kind: str, size: int) -> None:
    """B058, B059, B064, B065: the header is taken off, what follows is left whole."""
    data = header + first
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert run(pieces) == Outcome(kind, SOURCES[header], first)


@pytest.mark.parametrize(
    ("mode", "first", "kind"),
    [
        (TlsMode.DISABLED, HELLO, "closed"),
        (TlsMode.DISABLED, FRAME, "plain"),
        (TlsMode.ENFORCING, HELLO, "tls"),
        (TlsMode.ENFORCING, FRAME, "closed"),
    ],
)
@pytest.mark.parametrize("header", [b"", V1, V2], ids=["alone", "v1", "v2"])
def test_modes(mode: TlsMode, first: bytes, kind: str, header: bytes) -> None:
    """B063, B066, B067: the TLS mode applies after the PROXY header."""
    assert run([header + first], mode).kind == kind


@pytest.mark.parametrize("data", [b"", b"\x16", bytes(11), V1[:-1], V1, V2[:-1], V2])
def test_nothing_is_decided_yet(data: bytes) -> None:
    """B064: eleven bytes do not decide, and a PROXY header does not decide about the bytes after it."""
    assert run([data], TlsMode.ENFORCING).kind == "waiting"


def test_only_one_proxy_header() -> None:
    """B054: a second PROXY header counts as frames."""
    assert run([V1 + V2 + FRAME]) == Outcome("plain", SOURCES[V1], V2 + FRAME)


@given(
    st.one_of(
        mutated(st.sampled_from([V1 + HELLO, V2 + FRAME, LOCAL_V2 + HELLO, HELLO, FRAME])), st.binary(max_size=99)
    ),
    st.lists(st.integers(0, 40), max_size=12),
    st.sampled_from(TlsMode),
)
def test_pieces_change_nothing(data: bytes, sizes: list[int], mode: TlsMode) -> None:
    """B056, B058: any bytes have the same result whole and in pieces, and only MalformedFrame is raised."""
    assert run(in_pieces(data, sizes), mode) == run([data], mode)
