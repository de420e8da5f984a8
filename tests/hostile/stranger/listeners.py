"""Hostile listeners: what the server meets at the end of each connection that it opens itself.

Brokers whose addresses strangers registered, unconfirmed brokers, name servers of ``rocketns.peers``, seeds.
"""

from __future__ import annotations

import contextlib
import random
import selectors
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.hostile.stranger.grammar import frames
from tests.hostile.stranger.grammar.acts import Act, size

HOSTS = tuple(f"127.0.0.{number}" for number in range(16, 48))
CONNECTIONS_MAX = 1_000
BYTES_MAX = 24 << 20  # sent on one connection
CHUNK = 1 << 18
WAIT_S = 0.02


@dataclass
class Accepted:
    """A connection that the server opened. ``left`` is what it still gets."""

    connection: socket.socket
    behave: Callable[[Accepted, bytes], None]
    chance: random.Random
    act: Act
    left: bytearray = field(default_factory=bytearray)
    sent: int = 0
    received: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        if self.sent + len(self.left) < BYTES_MAX:
            self.left += data


def silent(_: Accepted, __: bytes) -> None:
    """Takes what comes."""


def leaving(_: Accepted, __: bytes) -> None:
    """Ends at once."""
    raise ConnectionError("ends at once")


def unfinished(one: Accepted, _: bytes) -> None:
    """A frame whose end does not come."""
    if not one.sent and not one.left:
        one.add(struct.pack(">i", 16_000_000) + bytes(size(one.chance, 15_900_000)))


def flooding(one: Accepted, _: bytes) -> None:
    """Small frames that nobody asked for."""
    header = b'{"code":0,"flag":1}'
    one.add((struct.pack(">ii", 4 + len(header), len(header)) + header) * 2_000)


def requesting(one: Accepted, _: bytes) -> None:
    """Requests, as if the server were the server here, too."""
    one.add(frames.request(one.act, one.chance).data)


def noisy(one: Accepted, _: bytes) -> None:
    one.add(one.chance.randbytes(size(one.chance, 100_000)))


def answering(one: Accepted, data: bytes) -> None:
    """An answer to each request, and some that come twice."""
    one.received += data
    while len(one.received) >= 8:
        length, word = struct.unpack_from(">iI", one.received)
        if len(one.received) < 4 + length:
            return
        header = bytes(one.received[8 : 8 + (word & 0xFFFFFF)])
        del one.received[: 4 + length]
        code, opaque = _of(header, b'"code":'), _of(header, b'"opaque":')
        for _ in range(one.chance.choice((1, 1, 1, 3))):
            one.add(frames.answer(one.act, one.chance, code, opaque))


def _of(header: bytes, member: bytes) -> int:
    digits = header.partition(member)[2].lstrip()
    number = digits[: next((n for n, byte in enumerate(digits) if byte not in b"-0123456789"), len(digits))]
    return int(number or b"0")


BEHAVIOURS = (silent, leaving, unfinished, unfinished, flooding, flooding, requesting, noisy, answering)
OF_NAME_SERVERS = (*BEHAVIOURS, answering, answering, answering)


class Listeners:
    """All listening sockets, and what they accepted, on one thread. ``act`` may change while it runs."""

    def __init__(self, ports: dict[str, int], act: Act) -> None:
        """``ports`` are those of brokers, peers and seeds."""
        self.act = act
        self.accepted: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.addresses = tuple(f"{host}:{ports['brokers']}" for host in HOSTS)
        self._selector = selectors.DefaultSelector()
        self._open: dict[socket.socket, Accepted] = {}
        self._numbers = random.Random(act.seed)
        for kind, port in ports.items():
            for host in HOSTS if kind == "brokers" else HOSTS[:2]:
                listening = socket.create_server((host, port), backlog=256)
                listening.setblocking(False)
                self._selector.register(listening, selectors.EVENT_READ, kind)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Listeners:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()

    def _run(self) -> None:
        while not self._over.is_set():
            for key, mask in self._selector.select(0.2):
                with contextlib.suppress(OSError):
                    self._serve(key, mask)
            time.sleep(WAIT_S / 10)

    def _serve(self, key: selectors.SelectorKey, mask: int) -> None:
        if isinstance(key.data, str):
            self._accept(key.fileobj, key.data)  # type: ignore[arg-type]
            return
        kind, one = key.data
        try:
            if mask & selectors.EVENT_READ:
                data = one.connection.recv(1 << 16)
                if not data:
                    raise ConnectionError("closed by the server")
                one.behave(one, data)
            self._write(kind, one)
        except (OSError, ValueError):
            self._forget(one)

    def _accept(self, listening: socket.socket, kind: str) -> None:
        connection, _ = listening.accept()
        if len(self._open) >= CONNECTIONS_MAX:
            connection.close()
            return
        connection.setblocking(False)
        self.accepted[kind] += 1
        chance = random.Random(f"{self.act.seed} {self.act.number} {self.accepted[kind]}")
        known = BEHAVIOURS if kind == "brokers" else OF_NAME_SERVERS
        one = Accepted(connection, chance.choice(self.act.some(f"behaviours of {kind}", known)), chance, self.act)
        self._open[connection] = one
        self._selector.register(connection, selectors.EVENT_READ | selectors.EVENT_WRITE, (kind, one))
        try:
            if one.behave is not answering:
                one.behave(one, b"")
        except ConnectionError:
            self._forget(one)

    def _write(self, kind: str, one: Accepted) -> None:
        if one.behave in (flooding, requesting, noisy) and not one.left:
            one.behave(one, b"")
        if one.left:
            sent = one.connection.send(one.left[:CHUNK])
            del one.left[:sent]
            one.sent += sent
            self.sent[f"{kind}, {one.behave.__name__}"] += sent
        wants = selectors.EVENT_READ | (selectors.EVENT_WRITE if one.left else 0)
        self._selector.modify(one.connection, wants, (kind, one))

    def _forget(self, one: Accepted) -> None:
        self._open.pop(one.connection, None)
        self._selector.unregister(one.connection)
        one.connection.close()
