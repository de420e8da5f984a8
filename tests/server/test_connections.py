"""Connections before their first frame: PROXY header, TLS hello or none, any bytes, and the turns of handshakes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketns.config.tls import TlsMode
from rocketns.errors import MalformedFrame
from rocketns.server.connections.handshake import Handshake
from rocketns.server.tls.handshakes import TURN_NS, Handshakes
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
@pytest.mark.parametrize("size", [1, 11, 12, 16, 1000])
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


MS = 1_000_000


@dataclass
class Room:
    """A clock that only handshakes move, and a list of the served hosts."""

    now_ns: int = 0
    served: list[str] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)

    async def serve(self, *peers: Peer) -> None:
        """All of them; notes how long each round of the loop was."""
        handshakes = Handshakes(lambda: self.now_ns)
        for peer in peers:
            handshakes.want(peer)
        while len(self.served) < len(peers):
            began_ns = self.now_ns
            await asyncio.sleep(0)
            self.turns.append(self.now_ns - began_ns)


@dataclass(eq=False)
class Peer:
    """A connection whose handshake takes ``cost_ns``. If it ``fails``, it raises an unexpected error."""

    room: Room
    host: str
    cost_ns: int = MS
    fails: bool = False

    @property
    def place(self) -> tuple[str, str]:
        """Its host, which may be a socket's and an announced one: a/x."""
        socket_host, _, announced = self.host.partition("/")
        return socket_host, announced or socket_host

    def go_on_with_tls(self) -> None:
        self.room.now_ns += self.cost_ns
        self.room.served.append(self.host)
        if self.fails:
            raise RuntimeError("not foreseen")


def test_a_turn_ends_with_the_handshake_that_exceeds_it() -> None:
    room = Room()
    asyncio.run(room.serve(*(Peer(room, "a") for _ in range(50))))
    assert max(room.turns) < TURN_NS + MS


def test_another_host_goes_before_those_of_a_host_with_many() -> None:
    """Hosts are charged the cost of their handshakes: both hosts get the same number in the same time."""
    room = Room()
    many, few = [Peer(room, "a") for _ in range(50)], [Peer(room, "b") for _ in range(5)]
    asyncio.run(room.serve(*many, *few))
    assert room.served[:12].count("b") == len(few)


def test_a_host_with_dear_handshakes_has_fewer() -> None:
    room = Room()
    dear, cheap = [Peer(room, "a", 10 * MS) for _ in range(20)], [Peer(room, "b") for _ in range(20)]
    asyncio.run(room.serve(*dear, *cheap))
    assert room.served[:20].count("b") >= 16


def test_after_a_turn_a_port_rests_in_proportion_to_it() -> None:
    """So handshakes leave most of a core to others, however many there are."""
    room, rests_s = Room(), list[float]()

    async def run() -> None:
        loop = asyncio.get_running_loop()

        def at(when_s: float, turn: Callable[[], None]) -> None:
            rests_s.append(when_s - loop.time())
            loop.call_soon(turn)

        handshakes = Handshakes(lambda: room.now_ns, rest=3.0)
        with mock.patch.object(loop, "time", return_value=0.0), mock.patch.object(loop, "call_at", at):
            for _ in range(6):
                handshakes.want(Peer(room, "a"))
            while len(room.served) < 6:
                await asyncio.sleep(0)

    asyncio.run(run())
    assert len(rests_s) == 2
    assert all(0.004 < one <= 3 * TURN_NS / 1e9 for one in rests_s)
