"""What the timed tests do to a server, and what they see of it. Times are milliseconds of the server's own clock."""

from __future__ import annotations

import socket

from interop.harness import codes
from interop.harness.wire import Client, eventually
from rocketns.server.connections.asyncio_connection import AsyncioConnection
from tests.support.inprocess import TimedServer

SECOND = 1_000


def pass_time(server: TimedServer, ms: int, *, step_ms: int = SECOND) -> None:
    """Let time pass in steps that no periodic job is shorter than, so that each runs when it is due."""
    for _ in range(ms // step_ms):
        server.advance(step_ms)
    if ms % step_ms:
        server.advance(ms % step_ms)


def connection_of(server: TimedServer, client: Client) -> AsyncioConnection:
    """The server's end of a connection that the server has accepted."""
    host, port = client.socket.getsockname()[:2]

    def find() -> AsyncioConnection | None:
        connections = server.call(lambda: list(server.controller.asyncio_transport.connections))
        return next((one for one in connections if one.address == f"{host}:{port}"), None)

    found: AsyncioConnection = eventually(find)
    return found


def wait_for_connections(server: TimedServer, count: int) -> None:
    """Until the server holds so many connections: it sees neither a connect nor a close at once."""
    eventually(lambda: server.call(lambda: server.connections) == count)


def wait_for_bytes(server: TimedServer, count: int) -> None:
    """Until the server has received so many bytes of frames that are not complete."""
    eventually(lambda: server.call(lambda: server.incoming_bytes) == count)


def is_open(client: Client) -> bool:
    """Whether the connection is open and answers."""
    return client.request(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "none"}).code == codes.QUERY_NOT_FOUND


def is_open_untouched(client: Client) -> bool:
    """Whether the server has not closed the connection; asks nothing of the server. Call it after an `advance`."""
    client.socket.setblocking(False)
    try:
        return bool(client.socket.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    finally:
        client.socket.settimeout(client.timeout_s)


def wait_until_sent(server: TimedServer) -> None:
    """Until no answer waits in the server."""
    eventually(lambda: server.call(lambda: server.outgoing_bytes) == 0)


def wait_until_unsent(server: TimedServer) -> None:
    """Until answers wait in the server because a peer does not read."""
    eventually(lambda: server.call(lambda: server.outgoing_bytes) > 0)
