"""A listening socket at a broker's address: keeps the frames that a name server sends to it on its own initiative."""

from __future__ import annotations

import contextlib
import queue
import socket
import ssl
import threading
from collections.abc import Iterator

from interop.harness.wire import Answer, Client

NOTIFIED_WITHIN_S = 60.0


class Accepted(Client):
    """An accepted connection that reads frames like a client."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._buffer = bytearray()


class Receiver:
    """Listens on a free loopback port, over TLS if it is given a context. Usable as a context manager."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._frames: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self.connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def addr(self) -> str:
        return "{}:{}".format(*self._listening.getsockname())

    def next(self) -> Answer:
        """The next frame in the order of arrival; queue.Empty if none arrives."""
        return self._frames.get(timeout=NOTIFIED_WITHIN_S)

    def has_no_more(self) -> bool:
        return self._frames.empty()

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._listening, *self.connections):
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._read, args=[connection], daemon=True).start()

    def _read(self, connection: socket.socket) -> None:
        self.connections.append(connection)
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
                self.connections.append(connection)
            accepted = Accepted(connection)
            while True:
                self._frames.put(accepted.receive())
        except OSError:
            connection.close()


@contextlib.contextmanager
def full_port() -> Iterator[str]:
    """The address of a port whose queue of connections is full: the kernel answers no further one, as a host that is
    switched off."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening, contextlib.ExitStack() as stack:
        for _ in range(2):
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listening.getsockname())
        yield "{}:{}".format(*listening.getsockname())
