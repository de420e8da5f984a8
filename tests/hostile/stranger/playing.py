"""Plays steps: the process of the strangers, their connections, and hostile listeners that the server connects to."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
import random
import resource
import selectors
import socket
import ssl
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TextIO

from interop.harness.wire import eventually
from tests.hostile.stranger import grammar, steps
from tests.hostile.stranger.grammar import Act, act_of, size
from tests.hostile.stranger.steps import OPENING, Step, step_of_run, wide_topics
from tests.support.tlsclient import any_server

# Not the address of honest peers: a peer with the same host would wait for a turn of each hostile connection.
HOSTS = tuple(f"127.0.0.{number}" for number in (2, 3, 4))
WAIT_S = 2.0
SILENCE_S = 0.02  # an answer that takes longer is not read
STEP_S_MAX = 10.0
HELD_MAX = 1_500


@dataclass(frozen=True)
class Ports:
    """All on 127.0.0.1."""

    server: int
    management: int
    address: int

    def of(self, door: str) -> int:
        return {steps.MANAGEMENT: self.management, steps.ADDRESS: self.address}.get(door, self.server)


class Held:
    """Connections that stay for a while; the one that would end next makes room."""

    def __init__(self) -> None:
        self._held: list[tuple[float, int, socket.socket, str]] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    @property
    def has_any(self) -> bool:
        return bool(self._held)

    def keep(self, connection: socket.socket, seconds: float, end: str) -> None:
        with self._lock:
            heapq.heappush(self._held, (time.monotonic() + seconds, next(self._numbers), connection, end))
            while self._held and (self._held[0][0] <= time.monotonic() or len(self._held) > HELD_MAX):
                _, _, over, how = heapq.heappop(self._held)
                end_connection(over, how)

    def end(self, all_of_them: bool = False) -> bool:
        """End those whose time is over. Whether none is left."""
        with self._lock:
            while self._held and (all_of_them or self._held[0][0] <= time.monotonic()):
                _, _, over, how = heapq.heappop(self._held)
                end_connection(over, how)
            return not self._held


def end_connection(connection: socket.socket, how: str) -> None:
    with contextlib.suppress(OSError):
        if how == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if how == "half-close":
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(SILENCE_S)
            connection.recv(1 << 16)
    connection.close()


@dataclass
class Player:
    """``sent`` is bytes by kind of step, ``frames`` are those of whole steps. Many threads may play at once."""

    ports: Ports
    held: Held = field(default_factory=Held)
    sent: Counter[str] = field(default_factory=Counter)
    frames: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    _tls: ssl.SSLContext = field(default_factory=any_server)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def play(self, step: Step) -> None:
        """Never raises for what the server does. Ends after about STEP_S_MAX."""
        ends_s = time.monotonic() + STEP_S_MAX
        if step.attack is not None:
            with contextlib.suppress(OSError):
                step.attack(self.ports.server)
            return
        data = step.data
        for number in range(step.connections):
            if time.monotonic() > ends_s:
                break
            try:
                self._on_a_connection(step, data, HOSTS[number % len(HOSTS)], ends_s)
            except (OSError, ValueError):  # ValueError: TLS that the server ended
                self._count(step, 0, refused=1)

    def _on_a_connection(self, step: Step, data: bytes, host: str, ends_s: float) -> None:
        connection = socket.create_connection(("127.0.0.1", self.ports.of(step.door)), WAIT_S, (host, 0))
        try:
            if step.door == steps.TLS:
                connection = self._tls.wrap_socket(connection)
            connection.sendall(step.before)
            for _ in range(step.repeats):
                self._send(step, connection, data)
                if time.monotonic() > ends_s:
                    break
        except BaseException:
            connection.close()
            raise
        self.held.keep(connection, step.hold_s, step.end)

    def _send(self, step: Step, connection: socket.socket, data: bytes) -> None:
        cut = memoryview(data)[: int(len(data) * step.share)]
        part = max(1, -(-len(cut) // step.parts))
        for at in range(0, len(cut), part):
            connection.sendall(cut[at : at + part])
        self._count(step, len(cut))
        if step.reads:
            drain(connection)
            connection.settimeout(WAIT_S)

    def _count(self, step: Step, size: int, refused: int = 0) -> None:
        with self._lock:
            self.sent[step.kinds] += size
            self.frames[step.door] += len(step.frames) if size else 0
            self.refused[step.door] += refused


def drain(connection: socket.socket) -> None:
    """Read until nothing comes for a moment."""
    connection.settimeout(SILENCE_S)
    with contextlib.suppress(TimeoutError):
        while connection.recv(1 << 16):
            pass


LISTENING_HOSTS = tuple(f"127.0.0.{number}" for number in range(16, 48))
ACCEPTED_MAX = 1_000
GIVEN_MAX = 24 << 20  # sent on one connection
CHUNK = 1 << 18
SELECT_S = 0.02


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
        if self.sent + len(self.left) < GIVEN_MAX:
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
    one.add(grammar.request(one.act, one.chance).data)


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
            one.add(grammar.answer(one.act, one.chance, code, opaque))


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
        self.addresses = tuple(f"{host}:{ports['brokers']}" for host in LISTENING_HOSTS)
        self._selector = selectors.DefaultSelector()
        self._open: dict[socket.socket, Accepted] = {}
        self._numbers = random.Random(act.seed)
        for kind, port in ports.items():
            for host in LISTENING_HOSTS if kind == "brokers" else LISTENING_HOSTS[:2]:
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
            time.sleep(SELECT_S / 10)

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
        if len(self._open) >= ACCEPTED_MAX:
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


STEPS_MAX = 100_000
WORKERS = 6
PAUSE_S = 0.02
FILES = 8_192


@dataclass(frozen=True)
class Plan:
    """``last`` is not played. ``opened`` are the ports at which strangers listen: brokers, peers, seeds."""

    seed: int
    first: int
    last: int
    seconds: float
    ports: Ports
    opened: dict[str, int]
    lines: str

    @classmethod
    def read(cls, text: str) -> Plan:
        values = json.loads(text)
        return cls(**values | {"ports": Ports(**values["ports"])})

    def write(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Played:
    """``began_s`` and ``ended_s`` are of the monotonic clock, which all processes share."""

    number: int
    step: str
    began_s: float
    ended_s: float


def play(plan: Plan, out: TextIO) -> None:
    with Listeners(plan.opened, act_of(plan.seed, plan.first)) as listeners:
        print("listening", flush=True)
        sys.stdin.readline()
        player = Player(plan.ports)
        for number in range(plan.first, min(plan.last, len(OPENING))):
            played = _play_one(number, plan, player, listeners)
            eventually(player.held.end, STEP_S_MAX)
            out.write(json.dumps(asdict(replace(played, ended_s=time.monotonic()))) + "\n")
        with wide_topics(plan.ports.server):
            _play_all(plan, player, listeners, out)
        player.held.end(all_of_them=True)
    totals = {"sent": player.sent, "frames": player.frames, "refused": player.refused, "accepted": listeners.accepted,
              "gave": listeners.sent}  # fmt: skip
    out.write(json.dumps(totals) + "\n")


def _play_all(plan: Plan, player: Player, listeners: Listeners, out: TextIO) -> None:
    """Also the held connections stay no longer than the plan's time."""
    numbers = iter(range(max(plan.first, len(OPENING)), min(plan.last, STEPS_MAX)))
    lock, ends_s = threading.Lock(), time.monotonic() + plan.seconds

    def next_number() -> int | None:
        with lock:
            return next(numbers, None) if time.monotonic() < ends_s else None

    work = partial(_work, plan, player, listeners, iter(next_number, None), out, lock)
    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads) or (player.held.has_any and time.monotonic() < ends_s):
        player.held.end()
        time.sleep(PAUSE_S)


def _work(
    plan: Plan, player: Player, listeners: Listeners, numbers: Iterator[int], out: TextIO, lock: threading.Lock
) -> None:
    for number in numbers:
        played = _play_one(number, plan, player, listeners)
        with lock:
            out.write(json.dumps(asdict(played)) + "\n")
            out.flush()
        time.sleep(PAUSE_S)


def _play_one(number: int, plan: Plan, player: Player, listeners: Listeners) -> Played:
    listeners.act = act_of(plan.seed, number)
    step, began_s = step_of_run(plan.seed, number, listeners.addresses), time.monotonic()
    player.play(step)
    return Played(number, str(step), began_s, time.monotonic())


def main(text: str) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, hard), hard))
    plan = Plan.read(text)
    with Path(plan.lines).open("w", encoding="utf-8") as out:
        play(plan, out)


if __name__ == "__main__":
    main(sys.argv[1])
