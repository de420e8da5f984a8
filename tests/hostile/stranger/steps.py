"""One step: what a stranger does, as values. Nothing is sent here."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.hostile.stranger import attacks
from tests.hostile.stranger.grammar import frames, http
from tests.hostile.stranger.grammar.acts import (
    CONNECTIONS,
    HELD,
    REPEATS,
    UNFINISHED,
    UNREAD,
    Act,
    Choice,
    act_of,
    size,
)
from tests.hostile.stranger.grammar.frames import Frame
from tests.support.proxyheaders import LOCAL, PROXY, TCP4, addresses4, tlv, v1, v2
from tests.support.tlsclient import TlsPeer

PLAIN, TLS, HELLO, PROXIED, BROKERS = "plain", "tls", "hello", "proxied", "brokers"
MANAGEMENT, ADDRESS, KNOWN = "management", "address server", "known"
DOORS = (PLAIN, PLAIN, BROKERS, TLS, HELLO, PROXIED, MANAGEMENT, ADDRESS, KNOWN)
ADDRESS_PORT, MANAGEMENT_PORT, SERVER_PORT = "the address server", "the management port", "the name server"
HOLD_S_MAX = 20.0
OF_NOBODY = ("127.0.0.15:1", "127.0.0.15:2")
CONNECTIONS_MAX = 400
BYTES_MAX = 64 << 20  # sent by one step
FRAMES_MAX = 4
REPEATS_MAX = 3_000


@dataclass(frozen=True)
class Step:
    """``before`` precedes the frames of each connection. ``share`` is the part of the bytes that is sent, in ``parts``.

    All frames are sent ``repeats`` times on each of ``connections``, which stay for ``hold_s`` and end as ``end`` says.
    """

    number: int
    door: str
    frames: tuple[Frame, ...] = ()
    before: bytes = b""
    connections: int = 1
    repeats: int = 1
    share: float = 1.0
    parts: int = 1
    reads: bool = True
    end: str = "close"
    hold_s: float = 0.0
    attack: attacks.Attack | None = None

    @property
    def kinds(self) -> str:
        what = self.attack.__name__ if self.attack else " ".join(sorted({frame.kind for frame in self.frames}))
        return f"{self.door}: {what}"

    @property
    def data(self) -> bytes:
        return b"".join(frame.data for frame in self.frames)

    def __str__(self) -> str:
        sizes = "+".join(str(len(frame.data)) for frame in self.frames)
        return (f"step {self.number}: {self.kinds}; {sizes} bytes x {self.repeats} x {self.connections} connections, "
                f"{self.share:.0%} in {self.parts} parts, {'read' if self.reads else 'unread'}, {self.end} after "
                f"{self.hold_s:.1f} s")  # fmt: skip


def port_of(door: str) -> str:
    """The name of the port that the door leads to."""
    return {MANAGEMENT: MANAGEMENT_PORT, ADDRESS: ADDRESS_PORT}.get(door, SERVER_PORT)


def step_of(seed: int, number: int, addresses: tuple[str, ...] = ()) -> Step:
    """The step with this number. ``addresses`` are those at which strangers listen as brokers."""
    act, chance = act_of(seed, number), random.Random(f"{seed} step {number}")
    door = chance.choice(act.some("doors", DOORS))
    if door == KNOWN:
        return Step(number, door, attack=chance.choice(act.some("attacks", attacks.ATTACKS)))
    if door == BROKERS:
        return Step(number, door, frames.group(act, chance, addresses or OF_NOBODY), hold_s=_held(act, chance))
    drawn = tuple(_frame(door, act, chance, addresses) for _ in range(chance.randrange(1, FRAMES_MAX + 1)))
    sent = max(1, sum(len(frame.data) for frame in drawn))
    connections = min(_count(act, chance, CONNECTIONS, (1, 8, 64, CONNECTIONS_MAX)), max(1, BYTES_MAX // sent))
    repeats = min(_count(act, chance, REPEATS, (1, 1, 3, 100, REPEATS_MAX)), max(1, BYTES_MAX // sent // connections))
    return Step(
        number, door, drawn, _before(door, act, chance), connections, repeats,
        share=_one(act, chance, UNFINISHED, (1.0, 1.0, 1.0, chance.random(), 0.99)),
        parts=chance.choice(act.some("parts", (1, 1, 1, 3, 50))),
        reads=_one(act, chance, UNREAD, (True, True, False)),
        end=chance.choice(act.some("ends", ("close", "close", "half-close", "reset"))),
        hold_s=_held(act, chance),
    )  # fmt: skip


def _one(act: Act, chance: random.Random, dimension: str, choices: tuple[Choice, ...]) -> Choice:
    """The last of the choices is the most."""
    return choices[-1] if dimension in act.pushed else chance.choice(act.some(dimension, choices))


def _held(act: Act, chance: random.Random) -> float:
    return _one(act, chance, HELD, (0.0, 0.05, 1.0, 5.0, HOLD_S_MAX))


def _count(act: Act, chance: random.Random, dimension: str, choices: tuple[int, ...]) -> int:
    most = _one(act, chance, dimension, choices)
    return most if dimension in act.pushed else max(1, size(chance, most))


def _frame(door: str, act: Act, chance: random.Random, addresses: tuple[str, ...]) -> Frame:
    if door == MANAGEMENT:
        return http.management(act, chance)
    if door == ADDRESS:
        return http.address(act, chance)
    return frames.request(act, chance, addresses)


def _before(door: str, act: Act, chance: random.Random) -> bytes:
    if door == HELLO:  # a handshake begins, and what follows is no TLS
        return TlsPeer().shake_hands()
    if door != PROXIED:
        return b""
    source = f"10.{chance.randrange(4)}.{chance.randrange(4)}.{chance.randrange(250)}"
    more = b"".join([tlv(chance.randrange(256), b"x" * chance.randrange(9))] * size(chance, min(act.most, 5_000)))
    version1 = v1("TCP4", source, "127.0.0.1", chance.randrange(70_000), 9_876)
    version2 = v2(TCP4, (addresses4(source, 1) + more)[:65_535], command=chance.choice((PROXY, PROXY, LOCAL)))
    header = chance.choice((version1, version2, version2))
    return header if chance.random() < 0.9 else header[: chance.randrange(len(header))] + b"\0"
