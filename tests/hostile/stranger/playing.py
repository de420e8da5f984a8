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
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tests.hostile.stranger.steps import (
    ADDRESS,
    MANAGEMENT,
    MB,
    OPENING,
    TLS,
    Act,
    Step,
    act_of,
    answer,
    request,
    step_of,
)
from tests.support.histories import size
from tests.support.tlsclient import any_server

# Not the address of honest peers: a peer with the same host would wait for a turn of each hostile connection.
HOSTS = tuple(f"127.0.0.{number}" for number in (2, 3, 4))
WAIT_S = 2.0
SILENCE_S = 0.02  # an answer that takes longer is not read
STEP_S_MAX = 10.0
HELD_MAX = 1_500
LISTENING_HOSTS = tuple(f"127.0.0.{number}" for number in range(16, 48))
ACCEPTED_MAX = 300
GIVEN_MAX = 24 * MB  # sent on one connection
FILES = 8_192
WORKERS = 6
STEPS_MAX = 100_000


@dataclass
class Player:
    """``ports`` by door; others lead to the name server. Many threads may play at once; ``frames`` were sent."""

    ports: dict[str, int]
    frames: int = 0
    sent: Counter[str] = field(default_factory=Counter)
    _held: list[tuple[float, int, socket.socket, str]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def play(self, step: Step) -> None:
        """Never raises for what the server does. Ends after about STEP_S_MAX."""
        data, ends_s = b"".join(step.frames), time.monotonic() + STEP_S_MAX
        for number in range(step.connections):
            if time.monotonic() > ends_s:
                break
            with contextlib.suppress(OSError, ValueError):  # ValueError: TLS that the server ended
                self._on_a_connection(step, data, HOSTS[number % len(HOSTS)], ends_s)
            self.end_held()

    def _on_a_connection(self, step: Step, data: bytes, host: str, ends_s: float) -> None:
        port = self.ports.get(step.door, self.ports["server"])
        connection = socket.create_connection(("127.0.0.1", port), WAIT_S, (host, 0))
        try:
            if step.door == TLS:
                connection = any_server().wrap_socket(connection)
            connection.sendall(step.before)
            for _ in range(step.repeats):
                self._send(step, connection, data)
                if time.monotonic() > ends_s:
                    break
        except BaseException:
            connection.close()
            raise
        with self._lock:
            heapq.heappush(self._held, (time.monotonic() + step.hold_s, next(self._numbers), connection, step.end))

    def _send(self, step: Step, connection: socket.socket, data: bytes) -> None:
        cut = memoryview(data)[: int(len(data) * step.share)]
        part = max(1, -(-len(cut) // step.parts))
        for at in range(0, len(cut), part):
            connection.sendall(cut[at : at + part])
        with self._lock:
            self.sent[step.door] += len(cut)
            self.frames += len(step.frames)
        if step.reads:
            connection.settimeout(SILENCE_S)
            with contextlib.suppress(TimeoutError):
                while connection.recv(1 << 16):
                    pass
            connection.settimeout(WAIT_S)

    def end_held(self, *, all_of_them: bool = False) -> None:
        """End the connections whose time is over, and those beyond HELD_MAX."""
        with self._lock:
            while self._held and (
                all_of_them or len(self._held) > HELD_MAX or self._held[0][0] <= time.monotonic()
            ):  # fmt: skip
                _, _, connection, how = heapq.heappop(self._held)
                with contextlib.suppress(OSError):
                    if how == "reset":
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    elif how == "half-close":
                        connection.shutdown(socket.SHUT_WR)
                connection.close()


Behaviour = Callable[[socket.socket, Act, random.Random], None]


def silent(connection: socket.socket, _act: Act, _chance: random.Random) -> None:
    """Takes what comes."""
    while connection.recv(1 << 16):
        pass


def leaving(_connection: socket.socket, _act: Act, _chance: random.Random) -> None:
    """Ends at once."""


def unfinished(connection: socket.socket, act: Act, chance: random.Random) -> None:
    """A frame whose end does not come."""
    connection.sendall(struct.pack(">i", 16_000_000) + bytes(size(chance, 15_900_000)))
    silent(connection, act, chance)


def flooding(connection: socket.socket, act: Act, chance: random.Random) -> None:
    """Frames that nobody asked for: small ones, requests as if the server were the server here, too, or noise."""
    header = b'{"code":0,"flag":1}'
    small = (struct.pack(">ii", 4 + len(header), len(header)) + header) * 2_000
    data = chance.choice((small, request(act, chance), chance.randbytes(size(chance, 100_000)))) or b"\0"
    for _ in range(GIVEN_MAX // len(data)):
        connection.sendall(data)


def answering(connection: socket.socket, act: Act, chance: random.Random) -> None:
    """An answer to each request, and some that come twice."""
    with connection.makefile("rb") as stream:
        while len(head := stream.read(8)) == 8:
            length, word = struct.unpack(">iI", head)
            rest = stream.read(length - 4)
            header = json.loads(rest[: word & 0xFFFFFF])
            for _ in range(chance.choice((1, 1, 1, 3))):
                connection.sendall(answer(act, chance, header["code"], header["opaque"]))


BEHAVIOURS: tuple[Behaviour, ...] = (silent, leaving, unfinished, flooding, flooding, answering, answering)


class Listeners:
    """Listening sockets by kind, each accepted connection on a thread of its own. ``act`` may change while it runs."""

    def __init__(self, ports: dict[str, int], act: Act) -> None:
        self.act = act
        self.accepted: Counter[str] = Counter()
        self.addresses = tuple(f"{host}:{ports['brokers']}" for host in LISTENING_HOSTS)
        self._open = threading.Semaphore(ACCEPTED_MAX)
        self._selector = selectors.DefaultSelector()
        for kind, port in ports.items():
            for host in LISTENING_HOSTS if kind == "brokers" else LISTENING_HOSTS[:2]:
                self._selector.register(socket.create_server((host, port), backlog=256), selectors.EVENT_READ, kind)
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                connection, _ = key.fileobj.accept()  # type: ignore[union-attr]
                self.accepted[key.data] += 1
                chance = random.Random(f"{key.data} {self.accepted[key.data]}")
                threading.Thread(target=self._behave, args=(connection, chance), daemon=True).start()

    def _behave(self, connection: socket.socket, chance: random.Random) -> None:
        with connection, contextlib.suppress(OSError, ValueError, KeyError):
            connection.settimeout(60)
            if self._open.acquire(blocking=False):
                try:
                    chance.choice(BEHAVIOURS)(connection, self.act, chance)
                finally:
                    self._open.release()


@dataclass(frozen=True)
class Plan:
    """``last`` is not played. ``ports`` by door, ``opened`` those at which strangers listen: brokers, peers, seeds."""

    seed: int
    first: int
    last: int
    seconds: float
    ports: dict[str, int]
    opened: dict[str, int]
    lines: str


def play(plan: Plan, out: TextIO) -> None:
    """Each step leaves a line: its number, text, begin and end by the monotonic clock. The last line has totals."""
    listeners, player = Listeners(plan.opened, act_of(plan.seed, plan.first)), Player(plan.ports)
    print("listening", flush=True)
    sys.stdin.readline()
    lock, numbers = threading.Lock(), iter(range(max(plan.first, len(OPENING)), min(plan.last, STEPS_MAX)))

    def play_one(number: int) -> None:
        listeners.act = act_of(plan.seed, number, listeners.addresses)
        step, began_s = step_of(plan.seed, number, listeners.addresses), time.monotonic()
        player.play(step)
        with lock:
            out.write(json.dumps([str(step), began_s, time.monotonic()]) + "\n")

    for number in range(plan.first, min(plan.last, len(OPENING))):
        play_one(number)
    ends_s = time.monotonic() + plan.seconds

    def work() -> None:
        while time.monotonic() < ends_s:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            play_one(number)

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    player.end_held(all_of_them=True)
    sent = {door: f"{size / MB:.1f} MB" for door, size in player.sent.most_common()}
    out.write(json.dumps({"frames": player.frames, "sent": sent, "accepted": listeners.accepted}) + "\n")


def main(text: str) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, hard), hard))
    plan = Plan(**json.loads(text))
    assert {MANAGEMENT, ADDRESS, "server"} <= plan.ports.keys()
    with Path(plan.lines).open("w", encoding="utf-8") as out:
        play(plan, out)


if __name__ == "__main__":
    main(sys.argv[1])
