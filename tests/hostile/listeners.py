"""Listening sockets at brokers' addresses that the server connects to, and what they do with it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Answer, Client

Serve = Callable[[socket.socket], None]
ON = {"notifyMinBrokerIdChanged": "true"}


class Listener:
    """Listens at a loopback host. ``serve`` has each accepted connection, in a thread; without one nothing is sent.

    ``accepted`` counts. Usable as a context manager.
    """

    def __init__(self, host: str, serve: Serve | None = None) -> None:
        self._listening = socket.create_server((host, 0), backlog=128)
        self._serve = serve or read_to_the_end
        self._connections: list[socket.socket] = []
        self.addr = "{}:{}".format(*self._listening.getsockname())
        self.accepted = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        for one in (self._listening, *self._connections):
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:  # closed
                return
            self._connections.append(connection)
            self.accepted += 1
            threading.Thread(target=self._run, args=[connection], daemon=True).start()

    def _run(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            self._serve(connection)


def read_to_the_end(connection: socket.socket) -> None:
    while connection.recv(65_536):
        pass


def connect_from(port: int, host: str) -> Client:
    """A connection to the server whose own end is at a loopback host."""
    return Client(port, source=host)


def announce(client: Client, group: str, addr: str, broker_id: int = 0, **ext: object) -> Answer:
    """Register an address as a broker of a group of its own name."""
    body = register_body([topic_config(f"{group}-T"), topic_config(f"{group}-U")])
    fields = register_ext(f"C-{group}", group, addr, broker_id, body, **ext)
    answer = client.request(codes.REGISTER_BROKER, fields, body)
    assert answer.code == codes.SUCCESS
    return answer
