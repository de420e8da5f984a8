"""A TCP relay to one server that can lose everything, like a network that is cut silently."""

from __future__ import annotations

import contextlib
import socket
import threading

CHUNK = 1 << 16
CONNECT_TIMEOUT_S = 60.0


class Relay:
    """Listens on ``port`` of 127.0.0.1 from construction on. ``source`` is the address that the server sees.

    ``sent`` has what passed to the server, and ``received`` what came back, for each connection in the same order.
    """

    def __init__(self, to_port: int, source: str = "127.0.0.1") -> None:
        self._to_port, self._source = to_port, source
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self.sent: list[bytearray] = []
        self.received: list[bytearray] = []
        self._is_cut = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """From now on no byte and no close passes, and no end notices it."""
        self._is_cut.set()

    def heal(self) -> None:
        """Let new connections pass. Older ones are broken, because both ends have lost bytes of them."""
        with self._lock:
            self._end(*self._sockets)
            self._is_cut.clear()

    def close(self) -> None:
        self._end(self._listener)
        with self._lock:
            self._end(*self._sockets)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                with self._lock, contextlib.suppress(OSError):
                    self._join(near)

    def _join(self, near: socket.socket) -> None:
        """Begin to relay a connection. During a cut, a new client's bytes get no further than this relay."""
        self._sockets.add(near)
        if self._is_cut.is_set():
            return
        try:
            far = socket.create_connection(("127.0.0.1", self._to_port), CONNECT_TIMEOUT_S, (self._source, 0))
        except OSError:
            self._end(near)
            raise
        far.settimeout(None)
        self._sockets.add(far)
        self.sent.append(bytearray())
        self.received.append(bytearray())
        number = len(self.sent) - 1
        for source, sink, passed in ((near, far, self.sent), (far, near, self.received)):
            threading.Thread(target=self._pass, args=(source, sink, passed, number), daemon=True).start()

    def note(self, passed: list[bytearray], number: int, data: bytes) -> None:
        """Bytes of a connection pass on: ``passed`` is ``sent`` or ``received``."""
        passed[number] += data

    def _pass(self, source: socket.socket, sink: socket.socket, passed: list[bytearray], number: int) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                if not self._is_cut.is_set():
                    self.note(passed, number, data)
                    sink.sendall(data)
        with self._lock:
            if not self._is_cut.is_set():
                self._end(source, sink)

    def _end(self, *sockets: socket.socket) -> None:
        for one in sockets:
            self._sockets.discard(one)
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
