"""Strangers with unfinished frames from several addresses, and honest brokers that come with a large registration."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually, frame, json_header
from tests.behaviour.conftest import Names
from tests.support.ended import is_ended
from tests.support.live import LiveServer

UNFINISHED = struct.pack(">iI", (16 << 20) - 4, 100)  # a frame that never ends
HELD = 250_000  # bytes of each stranger
PARTS = 3  # of a registration
SMALL_BUFFER = 16 * 1024  # of a socket, so that answers wait in the server and not in the kernel


def hosts(count: int) -> list[str]:
    """So many addresses of this machine, other than 127.0.0.1."""
    return [f"127.0.{number // 200}.{number % 200 + 2}" for number in range(count)]


def narrow(port: int, stack: ExitStack, source: str = "127.0.0.1") -> Client:
    """A connection with a small receive buffer, from this address."""
    client = stack.enter_context(Client(port))
    client.socket.close()
    client.socket = socket.socket()
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
    client.socket.bind((source, 0))
    client.socket.settimeout(client.timeout_s)
    client.socket.connect(("127.0.0.1", port))
    return client


@cache
def registration(cluster: str, broker: str) -> bytes:
    """A registration of 1.6 MB."""
    body = register_body([topic_config(f"{broker}-{number:05}") for number in range(8_500)])
    return frame(json_header(codes.REGISTER_BROKER, register_ext(cluster, broker, body=body)), body)


def strangers(
    server: NameServer | LiveServer, stack: ExitStack, count: int, addresses: list[str], kind: type[Client] = Client
) -> list[Client]:
    """So many connections, by turns from these addresses, each with HELD bytes of a frame that never ends."""
    clients = []
    for number in range(count):
        client = stack.enter_context(kind(server.port, source=addresses[number % len(addresses)]))
        try_to_send(client, UNFINISHED + bytes(HELD - len(UNFINISHED)))
        clients.append(client)
    return clients


def parts_of(names: Names) -> list[bytes]:
    """A registration in PARTS."""
    data = registration(names.cluster, names.broker)
    size = len(data) // PARTS + 1
    return [data[part * size : (part + 1) * size] for part in range(PARTS)]


def register_in_parts(clients: list[Client], until: Callable[[], object]) -> list[int]:
    """Register a broker on each connection. The last parts come when ``until`` is true. The answers' codes."""
    registrations = [parts_of(Names()) for _ in clients]
    for part in range(PARTS):
        if part == PARTS - 1:
            eventually(until)
        for client, parts in zip(clients, registrations, strict=True):
            client.send(parts[part])
    return [client.receive().code for client in clients]


def try_to_send(client: Client, data: bytes) -> None:
    with contextlib.suppress(ConnectionError):  # when the server closed before all was sent
        client.send(data)


def requests(code: int, count: int, body: bytes = b"", **ext: str) -> bytes:
    """A pipeline of requests with the opaques 0 to count - 1."""
    return b"".join(frame(json_header(code, ext or None, opaque=n), body) for n in range(count))


def is_cut_off(reader: Client) -> bool:
    """Whether the server reset the connection; what was sent before stays unread."""
    return bool(reader.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)) or cannot_send(reader)


def cannot_send(reader: Client) -> bool:
    try:
        reader.socket.send(b"\x00", socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except ConnectionError:
        return True
    return False


def ended(clients: list[Client]) -> int:
    """How many of them the server has closed."""
    return sum(map(is_ended, clients))
