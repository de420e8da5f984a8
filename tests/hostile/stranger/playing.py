"""Plays steps: opens connections, sends, and keeps connections for a while."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.hostile.stranger import steps
from tests.hostile.stranger.steps import Step
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
