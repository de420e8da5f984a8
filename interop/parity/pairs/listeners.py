"""Addresses that the servers connect to: keeps the frames that each server sends there."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Sequence

import psutil

from interop.harness.ports import free_port
from interop.harness.wire import eventually

ARRIVES_WITHIN_S = 60.0
HOSTS = ("127.0.0.1", "127.0.0.2")


class Listeners:
    """Listening sockets on the loopback, closed by ``close``. Frames are kept by the process that sent them.

    Each listens at two hosts: the one from which the connections of a play come, and another one.
    """

    def __init__(self, count: int, pids: Sequence[int]) -> None:
        self._pids = pids
        self.ports = tuple(free_port() for _ in range(count))
        self._frames: dict[int, list[tuple[int, bytes]]] = {}
        self._sockets: list[socket.socket] = []
        for place, port in enumerate(self.ports):
            for host in HOSTS:
                self._sockets.append(socket.create_server((host, port)))
                threading.Thread(target=self._accept, args=(place, self._sockets[-1]), daemon=True).start()

    def close(self) -> None:
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def take(self, pid: int, count: int, within_s: float) -> list[tuple[int, bytes]]:
        """Wait for ``count`` frames from a process: which listener got it and the frame, in the listeners' order.

        They are removed here. Fewer if no more arrive.
        """
        with contextlib.suppress(AssertionError):
            eventually(lambda: len(self._frames.get(pid, [])) >= count, within_s)
        return sorted(self._frames.pop(pid, []), key=lambda one: one[0])

    def _accept(self, place: int, listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, (_, port) = listening.accept()
                self._sockets.append(connection)
                threading.Thread(target=self._read, args=(place, connection, port), daemon=True).start()

    def _read(self, place: int, connection: socket.socket, port: int) -> None:
        pid = self._owner(port, self.ports[place])
        with contextlib.suppress(OSError), connection.makefile("rb") as stream:
            while len(size := stream.read(4)) == 4:
                frame = size + stream.read(struct.unpack(">i", size)[0])
                self._frames.setdefault(pid, []).append((place, frame))

    def _owner(self, port: int, listening: int) -> int:
        """The server whose end of a loopback connection has the port. At the same time that of another server may have
        it, on its way to another listener."""

        def find() -> int:
            for pid in self._pids:
                connections = psutil.Process(pid).net_connections("tcp")
                if any(c.raddr and (c.laddr.port, c.raddr.port) == (port, listening) for c in connections):
                    return pid
            return 0

        return int(eventually(find, ARRIVES_WITHIN_S))
