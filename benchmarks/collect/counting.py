"""A relay that counts what a name server is asked and answers: the figures do not depend on what the asker says."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections import Counter

from interop.harness import codes
from interop.harness.wire import ROCKETMQ, decode_binary_header

CHUNK = 1 << 18
LENGTH = 4


class Counting:
    """Listens on ``port`` of 127.0.0.1 and passes everything to ``to_port``. Requests are read, answers only counted.

    ``rounds_s`` are the times, in seconds of the monotonic clock, at which each of ``topics`` topics was looked up once
    more.
    """

    def __init__(self, to_port: int, topics: int) -> None:
        self._to_port, self._topics = to_port, topics
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.asked: Counter[int] = Counter()
        self.connections = self.sent_bytes = self.answered_bytes = 0
        self.rounds_s: list[float] = []
        self._seen: set[str] = set()
        self._sockets: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._to_port))
                self.connections += 1
                self._sockets += near, far
                threading.Thread(target=self._requests, args=(near, far), daemon=True).start()
                threading.Thread(target=self._answers, args=(far, near), daemon=True).start()

    def _requests(self, near: socket.socket, far: socket.socket) -> None:
        waiting = bytearray()
        with contextlib.suppress(OSError):
            while data := near.recv(CHUNK):
                far.sendall(data)
                self.sent_bytes += len(data)
                waiting += data
                self._count(waiting)
            far.shutdown(socket.SHUT_WR)

    def _answers(self, far: socket.socket, near: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(CHUNK):
                self.answered_bytes += len(data)
                near.sendall(data)
            near.shutdown(socket.SHUT_WR)

    def _count(self, waiting: bytearray) -> None:
        """Count the whole requests, and leave the rest."""
        while len(waiting) >= 2 * LENGTH:
            size, word = struct.unpack_from(">iI", waiting)
            if len(waiting) < LENGTH + size:
                return
            header = bytes(waiting[2 * LENGTH : 2 * LENGTH + (word & 0xFFFFFF)])
            del waiting[: LENGTH + size]
            read = decode_binary_header(header) if word >> 24 == ROCKETMQ else json.loads(header)
            self.asked[read["code"]] += 1
            if read["code"] == codes.GET_ROUTEINFO_BY_TOPIC:
                self._looked_up(read["extFields"]["topic"])

    def _looked_up(self, topic: str) -> None:
        self._seen.add(topic)
        if len(self._seen) == self._topics:
            self.rounds_s.append(time.monotonic())
            self._seen.clear()
