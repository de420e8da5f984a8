"""Listening sockets at brokers' addresses that a name server connects to, and what they do with it."""

from __future__ import annotations

import contextlib
import queue
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Self

from interop.harness.wire import Answer, Client

NOTIFIED_WITHIN_S = 60.0
Serve = Callable[[socket.socket], None]


class Accepted(Client):
    """An accepted connection that reads frames like a client."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._buffer = bytearray()


class Listener:
    """Listens at a loopback host. ``serve`` has each accepted connection, in a thread; without one nothing is sent.

    ``accepted`` counts. Usable as a context manager, which closes all ``connections``.
    """

    def __init__(self, host: str, serve: Serve | None = None) -> None:
        self._listening = socket.create_server((host, 0), backlog=128)
        self._serve = serve or read_to_the_end
        self.connections: list[socket.socket] = []
        self.addr = "{}:{}".format(*self._listening.getsockname())
        self.accepted = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        for one in (self._listening, *self.connections):
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:  # closed
                return
            self.connections.append(connection)
            self.accepted += 1
            threading.Thread(target=self._run, args=[connection], daemon=True).start()

    def _run(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            self._serve(connection)


def read_to_the_end(connection: socket.socket) -> None:
    while connection.recv(65_536):
        pass


class Receiver(Listener):
    """Keeps the frames that a name server sends to it on its own initiative; over TLS if it is given a context."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._frames: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        super().__init__("127.0.0.1", self._read)

    def next(self) -> Answer:
        """The next frame in the order of arrival; queue.Empty if none arrives."""
        return self._frames.get(timeout=NOTIFIED_WITHIN_S)

    def has_no_more(self) -> bool:
        return self._frames.empty()

    def _read(self, connection: socket.socket) -> None:
        with connection if self._tls is None else self._tls.wrap_socket(connection, server_side=True) as plain:
            accepted = Accepted(plain)
            while True:
                self._frames.put(accepted.receive())


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
