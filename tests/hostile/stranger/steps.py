"""One step: what a stranger does, as values; known attacks; and the first steps of every seed."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_body, register_ext, topic_config
from interop.harness.wire import frame, json_header
from tests.hostile.stranger import grammar
from tests.hostile.stranger.grammar import (
    CONNECTIONS,
    HELD,
    REPEATS,
    UNFINISHED,
    UNREAD,
    Act,
    Choice,
    Frame,
    act_of,
    size,
)
from tests.support.proxyheaders import LOCAL, PROXY, TCP4, addresses4, tlv, v1, v2
from tests.support.tlsclient import TlsPeer

MB = 1 << 20
# Not the address of the honest peers: a peer with the same host would wait for a turn of each hostile connection.
STRANGERS_HOST = "127.0.0.2"
ROUTE = codes.GET_ROUTEINFO_BY_TOPIC
Attack = Callable[[int], None]


def block(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def registration(body: bytes, name: str, **more: str) -> bytes:
    ext = register_ext(cluster="Hostile", broker=name, addr="10.9.9.9:1", body=body, **more)
    return frame(json_header(codes.REGISTER_BROKER, ext), body)


def connection(port: int) -> socket.socket:
    """A socket, which is its own context manager. OSError where it is refused or too late."""
    return socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(STRANGERS_HOST, 0))


def send_and_drain(port: int, data: bytes, times: int = 1, *, wait_s: float = 0.05) -> None:
    """Send, and read until nothing comes for ``wait_s``."""
    with connection(port) as stranger:
        for _ in range(times):
            stranger.sendall(data)
        stranger.settimeout(wait_s)
        while stranger.recv(MB):
            pass


def proxied(port: int) -> None:
    """PROXY headers of 64 KiB, each from another host: many extensions, and extensions within extensions."""
    source = addresses4(f"10.9.{time.monotonic_ns() % 250}.{time.monotonic_ns() // 250 % 250}", 1)
    for extensions in EXTENSIONS:
        header = v2(TCP4, source + extensions)
        for _ in range(10):
            send_and_drain(port, header + frame(json_header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)), wait_s=0.005)


def shaking_hands(port: int) -> None:
    """The beginnings of TLS handshakes, each of which costs a signature."""
    hello = TlsPeer().shake_hands()
    with contextlib.ExitStack() as stack:
        for _ in range(30):
            stack.enter_context(connection(port)).sendall(hello)


def deflated_zeros(port: int) -> None:
    """135 KB that inflate to 31 MB."""
    send_and_drain(port, registration(ZEROS, "zeros", compressed="true"), 4)


def lenient_mappings(port: int) -> None:
    """A compressed registration of mappings that are not quite JSON."""
    send_and_drain(port, registration(LENIENT, "lenient", compressed="true"))


def registering(port: int) -> None:
    """Registers the topics that others look up, with other queues each time. At the end their broker is removed."""
    with connection(port) as stranger:
        for body in CHANGING * 10:
            stamped = body.replace(b'"timestamp":0', b'"timestamp":%d' % time.time_ns())
            stranger.sendall(registration(stamped, "changing"))
            stranger.recv(MB)


ZEROS = zlib.compress(block(dumps(data_version())) + bytes(31 * MB), 1)
_MAPPINGS = [block(b"{'topic':'t%d','currIdMap':{%s}}" % (n, b"0:0," * 8_000 + b"1:1")) for n in range(100)]

LENIENT = zlib.compress(
    block(dumps(data_version())) + struct.pack(">i", 0) + block(b"[]") + struct.pack(">i", 100) + b"".join(_MAPPINGS), 1
)

CHANGING = [register_body([topic_config(f"T{n}", read) for n in range(500)], data_version(0, 0)) for read in (4, 8)]
PADDED = register_body([topic_config(f"T{n}") | {"attributes": {"+a": "x" * 2_000}} for n in range(500)])
_NESTED = reduce(lambda inner, _: tlv(0x20, bytes(5) + inner), range(120), tlv(0xEE, b"") * 21_000)
EXTENSIONS = (tlv(0xEE, b"x") * 16_000, _NESTED)
TABLE = [registration(register_body([topic_config(f"T{n}") for n in range(500)]), f"hostile-{b}") for b in range(20)]

# Those that the grammar does not draw.
ATTACKS: tuple[Attack, ...] = (proxied, shaking_hands, deflated_zeros, lenient_mappings, registering)


@contextlib.contextmanager
def wide_topics(port: int) -> Iterator[None]:
    """Meanwhile 20 brokers have 500 topics each, which some attacks look up."""
    with contextlib.ExitStack() as stack:
        for request in TABLE:
            stack.enter_context(connection(port)).sendall(request)
        yield


PLAIN, TLS, HELLO, PROXIED, BROKERS = "plain", "tls", "hello", "proxied", "brokers"
MANAGEMENT, ADDRESS, KNOWN = "management", "address server", "known"
DOORS = (PLAIN, PLAIN, BROKERS, TLS, HELLO, PROXIED, MANAGEMENT, ADDRESS, KNOWN)
ADDRESS_PORT, MANAGEMENT_PORT, SERVER_PORT = "the address server", "the management port", "the name server"
HOLD_S_MAX = 20.0
OF_NOBODY = ("127.0.0.15:1", "127.0.0.15:2")
STEP_CONNECTIONS_MAX = 400
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
    attack: Attack | None = None

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
        return Step(number, door, attack=chance.choice(act.some("attacks", ATTACKS)))
    if door == BROKERS:
        return Step(number, door, grammar.group(act, chance, addresses or OF_NOBODY), hold_s=_held(act, chance))
    drawn = tuple(_frame(door, act, chance, addresses) for _ in range(chance.randrange(1, FRAMES_MAX + 1)))
    sent = max(1, sum(len(frame.data) for frame in drawn))
    connections = min(_count(act, chance, CONNECTIONS, (1, 8, 64, STEP_CONNECTIONS_MAX)), max(1, BYTES_MAX // sent))
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
        return grammar.management(act, chance)
    if door == ADDRESS:
        return grammar.address(act, chance)
    return grammar.request(act, chance, addresses)


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


HOLD_S = 3.0
NEVER_ENDING = Frame("unfinished", struct.pack(">i", 15 * MB) + bytes(2 * MB))
# 4 MB in each answer to 206.
WIDE = registration(register_body([topic_config(f"{n}" + "w" * 3_900) for n in range(1_000)]), "opening")
LISTING = frame(json_header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER))
UNREAD_CONNECTIONS = 96


def unread_lists(port: int) -> None:
    """Lists of 4 MB that nobody takes. What fits into the kernel differs, so the end of each list is somewhere else."""
    with contextlib.ExitStack() as stack:
        broker = stack.enter_context(connection(port))
        broker.sendall(WIDE)
        broker.recv(MB)
        for number in range(1, UNREAD_CONNECTIONS + 1):
            reader = stack.enter_context(socket.socket())
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, number << 14)
            reader.settimeout(HOLD_S)
            reader.bind((STRANGERS_HOST, 0))
            reader.connect(("127.0.0.1", port))
            reader.sendall(LISTING * 8)
        time.sleep(HOLD_S)


def _kv(number: int) -> Frame:
    fields = {"namespace": "opening", "key": str(number), "value": "v" * MB}
    return Frame("100", frame(json_header(codes.PUT_KV_CONFIG, fields)))


def _long_names(number: int) -> Frame:
    return Frame("103", registration(b"{}", f"{number}" + "l" * 3 * MB))


OPENING: tuple[Step, ...] = (
    Step(0, KNOWN, attack=unread_lists),
    Step(1, PLAIN, (NEVER_ENDING,), connections=64, reads=False, hold_s=HOLD_S),
    Step(2, TLS, (NEVER_ENDING,), connections=48, reads=False, hold_s=HOLD_S),
    Step(3, PLAIN, tuple(_long_names(number) for number in range(8)), hold_s=HOLD_S),
    Step(4, PLAIN, (Frame("103", registration(PADDED, "padded")),), connections=96, repeats=2, reads=False,
         hold_s=HOLD_S),
    Step(5, PLAIN, tuple(_kv(number) for number in range(8))),
)  # fmt: skip


def step_of_run(seed: int, number: int, addresses: tuple[str, ...] = ()) -> Step:
    """As `step_of`, from the last step of the opening on."""
    return OPENING[number] if number < len(OPENING) else step_of(seed, number, addresses)
