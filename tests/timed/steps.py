"""Steps that the timed tests share. Times are milliseconds of the server's own clock."""

from __future__ import annotations

import contextlib
import socket

from interop.harness import codes
from interop.harness.wire import Client, eventually
from tests.support.inprocess import TimedServer

SECOND = 1_000
LARGE = 16 * 1024 * 1024 - 1024  # more than the buffers of two sockets hold


def pass_time(server: TimedServer, ms: int, *, step_ms: int = SECOND) -> None:
    """Move the clock in steps. No periodic job has a shorter interval, so each job runs when it is due."""
    for _ in range(ms // step_ms):
        server.advance(step_ms)
    if ms % step_ms:
        server.advance(ms % step_ms)


def wait_for_connections(server: TimedServer, count: int) -> None:
    """Wait until the server has this many connections: it notices connects and closes after a while."""
    eventually(lambda: server.call(lambda: server.connections) == count)


def wait_for_bytes(server: TimedServer, count: int) -> None:
    """Wait until the server has received this many bytes of incomplete frames."""
    eventually(lambda: server.call(lambda: server.incoming_bytes) == count)


def is_open(client: Client) -> bool:
    """Whether the connection is open and answers."""
    return client.request(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "none"}).code == codes.QUERY_NOT_FOUND


def wait_until_sent(server: TimedServer) -> None:
    """Wait until the server has sent all answers."""
    eventually(lambda: server.call(lambda: server.outgoing_bytes) == 0)


def wait_until_unsent(server: TimedServer) -> None:
    """Wait until the server has unsent answers because a peer does not read."""
    eventually(lambda: server.call(lambda: server.outgoing_bytes) > 0)


def fill(to: socket.socket, data: bytes) -> None:
    """Send it again and again, until the system takes no more."""
    timeout_s, at = to.gettimeout(), 0
    to.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            at = (at + to.send(data[at:])) % len(data)
    to.settimeout(timeout_s)
