"""Bytes and time of connections that the server opened: they count where those of accepted connections count."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from interop.harness.wire import Client, eventually, frame, json_header
from rocketns.server.connections.charged import ChargedConnection
from tests.hostile.outgoing.listeners import Listener
from tests.support.inprocess import TimedServer
from tests.support.receiver import Accepted

MB = 1 << 20
PEERS = 4
Serve = Callable[..., TimedServer]


@pytest.fixture(params=[0, 2], ids=["loop", "reactors"])
def serve(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Serve]:
    started: list[TimedServer] = []

    def start(**properties: object) -> TimedServer:
        started.append(TimedServer(tmp_path, {"rocketns.reactors": request.param} | properties))
        return started[-1]

    yield start
    for server in started:
        server.stop()


def make_connection(server: TimedServer) -> ChargedConnection:
    controller = server.controller
    totals, control = controller.asyncio_transport.totals, controller.core.control
    return ChargedConnection(totals, control, controller.client._forget, "127.0.0.2:1", "127.0.0.2", 1.0)


class Unfinished:
    """Answers the first request with so many bytes of an answer that never ends."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, connection: socket.socket) -> None:
        opaque = Accepted(connection).receive().opaque
        header = json_header(0, opaque=opaque, flag=1)
        head = struct.pack(">iI", self.size + 1_000, len(header)) + header
        connection.sendall(head.ljust(self.size, b" "))
        while connection.recv(65_536):
            pass


def watched(stack: ExitStack, serve: Callable[[socket.socket], None]) -> list[Listener]:
    return [stack.enter_context(Listener(f"127.0.0.{number + 2}", serve)) for number in range(PEERS)]


def peers_of(listeners: list[Listener]) -> dict[str, object]:
    return {"rocketns.peers": ";".join(one.addr for one in listeners)}


def errors(server: TimedServer) -> list[str]:
    """Why each of the peers cannot be read."""
    return [member.error for member in server.controller.fleet.state.members[1:]]


def test_an_unfinished_answer_counts_in_the_total(serve: Serve) -> None:
    """incoming bytes, as the metrics and the shedding see them; and they go with the connection."""
    with ExitStack() as stack:
        listeners = watched(stack, Unfinished(MB))
        server = serve(**peers_of(listeners))
        eventually(lambda: server.call(lambda: server.incoming_bytes) == PEERS * MB)
    eventually(lambda: server.call(lambda: server.incoming_bytes) == 0)


def test_the_connection_that_holds_the_most_is_ended(serve: Serve) -> None:
    """incomingBytesMax holds for both kinds of connections together."""
    with ExitStack() as stack:
        listeners = watched(stack, Unfinished(MB))
        server = serve(**peers_of(listeners) | {"rocketns.incomingBytesMax": 2 * MB + MB // 2})
        eventually(lambda: any("incomingBytesMax" in error for error in errors(server)))
        assert server.call(lambda: server.incoming_bytes) <= 2 * MB + MB // 2


def test_an_answer_larger_than_its_purpose_needs_is_not_read(serve: Serve) -> None:
    """A peer's answers have 4 MiB at most; the header says that this one is larger."""
    with ExitStack() as stack:
        listener = stack.enter_context(Listener("127.0.0.2", Unfinished(8 * MB)))
        server = serve(**{"rocketns.peers": listener.addr})
        eventually(lambda: listener.ended)
        assert server.call(lambda: server.incoming_bytes) == 0
        eventually(lambda: "bytes, and at most" in errors(server)[0])


def test_an_answer_waits_for_its_turn(serve: Serve) -> None:
    """It is not decoded while bytes are read, and control charges it to its host."""
    server = serve()
    control = server.controller.core.control
    taken: list[bytes] = []

    def receive() -> tuple[int, int]:
        connection = make_connection(server)
        connection.connection_made(_Transport())
        connection.answers.expect(7, lambda answer: taken.append(answer.body), MB)
        connection.data_received(frame(json_header(0, opaque=7, flag=1), b"body"))
        return len(taken), control.waiting_requests

    assert server.call(receive) == (0, 1)
    eventually(lambda: taken == [b"body"])
    assert server.call(lambda: control.waiting_requests) == 0


def test_answers_get_through_while_the_start_holds_requests(serve: Serve) -> None:
    """A start that reads routes from another name server waits for its answers."""
    server = serve()
    control = server.controller.core.control
    taken: list[object] = []
    server.call(control.hold)
    connection = server.call(partial(make_connection, server))
    server.call(lambda: control.submit_answer(connection, b"frame", taken.append))
    eventually(lambda: taken == [b"frame"])
    server.call(control.release)


def test_a_server_with_peers_serves_others(serve: Serve) -> None:
    """Floods of a peer that the operator named end its connection as well."""
    small = frame(json_header(0, opaque=7, flag=1)) * 1_000

    def flood(connection: socket.socket) -> None:
        while True:
            connection.send(small)

    with ExitStack() as stack:
        listeners = watched(stack, flood)
        server = serve(**peers_of(listeners))
        eventually(lambda: all("that nobody asked for" in error for error in errors(server)))
        with Client(server.port) as client:
            assert client.request(206).code == 0


class _Transport(asyncio.Transport):
    """A transport that keeps nothing."""

    def write(self, _data: bytes) -> None: ...
    def abort(self) -> None: ...
    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0
