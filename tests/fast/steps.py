"""Steps of tests that look into a server's reactors."""

from __future__ import annotations

from interop.harness.wire import Client, eventually
from rocketns._fast.reactor.reactors import Reactors
from rocketns.server.reactors.transport import ReactorConnection, ReactorTransport
from tests.compiled import parts
from tests.compiled.parts import is_settled
from tests.fast.lookups import CLIENTS, look_up
from tests.support.inprocess import TimedServer
from tests.support.live import LiveServer


def reactors_of(server: LiveServer | TimedServer) -> Reactors:
    return server.controller.reactors


def transport_of(server: LiveServer | TimedServer) -> ReactorTransport:
    return server.controller.reactor_transport


def settle(server: LiveServer | TimedServer) -> None:
    """Wait until reactors and control have handled all messages."""
    eventually(lambda: server.call(lambda: is_settled(reactors_of(server))), every_s=0.001)
    server.call(lambda: None)


def carried(server: LiveServer | TimedServer) -> list[int]:
    return parts.carried(reactors_of(server))


def answer(client: Client, topic: str = "T", opaque: int = 7) -> bytes:
    client.send(look_up(CLIENTS[0], topic, opaque))
    return client.receive_frame()


def connection_of(server: LiveServer, client: Client) -> ReactorConnection:
    host, port = client.socket.getsockname()[:2]
    channels = server.call(lambda: list(transport_of(server)._connections.values()))
    return next(one for one in channels if one.address == f"{host}:{port}")
