"""One server in a play: its connections by name, and the outcomes of requests over them."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import ssl
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from interop.harness import codes
from interop.harness.payloads import register_ext
from interop.harness.servers import NameServer
from interop.harness.wire import ROCKETMQ, Client, decode_binary_header, eventually, frame, json_header
from interop.parity.pairs import certificates
from rocketns.shadow.comparing.frames import split

ANSWER_WITHIN_S = 60.0
ASK_AGAIN_EVERY_S = 0.02
# An unregistration takes effect within a few milliseconds.
LOOK_AGAIN_EVERY_S = 0.003

_barriers = itertools.count(1)


class Outcome(NamedTuple):
    """What a request led to: "answer" with its whole frame, "closed", or "silent"; "unread" where bytes are left."""

    kind: str
    frame: bytes = b""


CLOSED, SILENT, UNREAD = Outcome("closed"), Outcome("silent"), Outcome("unread")


class Side:
    """A running server, and the connections of a play to it by their names."""

    def __init__(self, server: NameServer) -> None:
        self.server, self.home, self.mode = server, server.home, server.mode
        self.connections: dict[str, Client] = {}

    def connection(self, on: str) -> Client:
        if on not in self.connections:
            self.connections[on] = self.fresh()
        return self.connections[on]

    def fresh(self) -> Client:
        """An unnamed connection, for requests outside the play."""
        return Client(self.server.port, timeout_s=ANSWER_WITHIN_S)

    def send(self, on: str, data: bytes) -> None:
        """A server that has closed shows when the answer is taken."""
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            self.connection(on).send(data)

    def receive(self, on: str, within_s: float = ANSWER_WITHIN_S) -> Outcome:
        client = self.connection(on)
        client.socket.settimeout(within_s)
        try:
            return Outcome("answer", client.receive_frame())
        except TimeoutError:
            return SILENT
        except (ConnectionError, ssl.SSLError):
            return CLOSED

    def ask(self, on: str, data: bytes) -> Outcome:
        self.send(on, data)
        return self.receive(on)

    def ask_until(self, on: str, data: bytes, enough: Callable[[Outcome], bool], within_s: float) -> Outcome:
        """Ask again and again; the last outcome when time is up."""
        deadline = time.monotonic() + within_s
        while not enough(outcome := self.ask(on, data)) and time.monotonic() < deadline:
            time.sleep(ASK_AGAIN_EVERY_S)
        return outcome

    def receive_many(self, on: str, count: int) -> list[Outcome]:
        """So many answers in the order of their opaques, or fewer and then what came instead."""
        found = []
        for _ in range(count):
            found.append(self.receive(on))
            if found[-1].kind != "answer":
                break
        return sorted(found, key=lambda one: header_of(one.frame)["opaque"] if one.frame else 0)

    def next_move(self, on: str, within_s: float) -> Outcome:
        """What the server does without being asked again: it closes, has sent more, or neither within the time."""
        client = self.connection(on)
        if client.has_buffered:
            return UNREAD
        client.socket.settimeout(within_s)
        try:
            return UNREAD if _peek(client) else CLOSED
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
            return SILENT
        except OSError:
            return CLOSED

    def state_of(self, on: str) -> str:
        """Whether a connection is open, closed by the server, has bytes that nobody took, or is gone; does not wait."""
        if on not in self.connections:
            return "hung up"
        found = self.next_move(on, 0)
        return "open" if found is SILENT else found.kind

    def handshake(self, on: str, context: ssl.SSLContext) -> str:
        """Open TLS on a connection: the certificate that the server shows, or that it refuses."""
        client = self.connection(on)
        client.socket.settimeout(ANSWER_WITHIN_S)
        try:
            client.socket = context.wrap_socket(client.socket, server_hostname="localhost")
        except OSError:  # of which TLS errors and closes are kinds; the socket is closed with it
            del self.connections[on]
            return "refused"
        return certificates.describe(client.socket.getpeercert(binary_form=True))

    def hang_up(self, on: str, half: bool = False) -> None:
        client = self.connection(on)
        if half:
            with contextlib.suppress(OSError):
                client.socket.shutdown(socket.SHUT_WR)
        else:
            client.close()
            del self.connections[on]

    def hang_up_all(self) -> None:
        for on in list(self.connections):
            self.hang_up(on)

    def settle(self) -> bytes:
        """Unregistrations and closes are worked off in their order: wait for that of a broker that comes last.

        What 106 shows then.
        """
        name = f"settle-{next(_barriers)}"
        ext = register_ext("settle", name, f"{name}:1")
        with self.fresh() as broker:
            assert broker.request(codes.REGISTER_BROKER, ext | {"bodyCrc32": "0"}).code == codes.SUCCESS
        with self.fresh() as client:
            shown = f'"{name}"'.encode()

            def info_without_it() -> bytes | None:
                info = client.request(codes.GET_BROKER_CLUSTER_INFO).body
                if info is not None and shown not in info:
                    return info
                client.request(codes.UNREGISTER_BROKER, ext)  # the queue may have been full when it closed
                return None

            return bytes(eventually(info_without_it, ANSWER_WITHIN_S, LOOK_AGAIN_EVERY_S))

    def wait_for_expiry(self, on: str, addr: str) -> None:
        """Until the server closes the connection or shows the address nowhere; nothing that is asked is a heartbeat."""
        shown, asked = f'"{addr}"'.encode(), request(codes.GET_BROKER_CLUSTER_INFO)
        with self.fresh() as client:

            def is_over() -> bool:
                client.send(asked)
                return self.state_of(on) == "closed" or shown not in (client.receive().body or b"")

            eventually(is_over, ANSWER_WITHIN_S)

    def terminate(self) -> None:
        """Send SIGTERM."""
        os.kill(self.server.pid, signal.SIGTERM)

    def restart(self, *, killed: bool) -> None:
        if killed:
            self.server.kill()
        else:
            self.server.stop()
        self.hang_up_all()  # not before: a broker that hangs up is gone
        self.server.start()


def header_of(data: bytes) -> dict[str, Any]:
    """The header of a whole frame; a JSON one as json reads it."""
    header, _, kind = split(data)
    return decode_binary_header(header) if kind == ROCKETMQ else dict(json.loads(header))


def request(code: int, ext: dict[str, str] | None = None, opaque: int = 0, version: int = 513) -> bytes:
    """A frame of the suite's own, beside the scenario's."""
    return frame(json_header(code, ext, opaque=opaque, version=version))


def _peek(client: Client) -> bytes:
    """A byte that stays, or of TLS one that is lost: then it does not matter which."""
    if isinstance(client.socket, ssl.SSLSocket):
        return client.socket.recv(1)
    return client.socket.recv(1, socket.MSG_PEEK)
