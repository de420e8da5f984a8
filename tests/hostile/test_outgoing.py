"""Connections that the server opens: how many, where to, and what their other ends may not achieve."""

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
from rocketns.client.connection import ChargedConnection
from rocketns.server.publishing.delivery import RECEIVERS_MAX
from tests.behaviour.views import group
from tests.hostile.conftest import StartServer
from tests.hostile.listeners import ON, announce, connect_from
from tests.hostile.witness import MB, Witness
from tests.support.inprocess import TimedServer
from tests.support.proxyheaders import v1
from tests.support.receiver import Accepted, Listener, read_to_the_end
from tests.support.starting import stopped_after
from tests.timed.steps import SECOND, pass_time

HERE, THERE = "127.0.0.2", "127.0.0.3"


def listeners_of(stack: ExitStack, count: int, host: str = HERE) -> list[Listener]:
    return [stack.enter_context(Listener(host)) for _ in range(count)]


def notify(client: Client, group: str, listeners: list[Listener]) -> None:
    """Make them brokers of a group, then let a lower id join: all of them are to be told."""
    for broker_id, one in enumerate(listeners, 1):
        announce(client, group, one.addr, broker_id)
    announce(client, group, "127.0.0.9:1")


def accepted(listeners: list[Listener]) -> int:
    return sum(one.accepted for one in listeners)


def test_connections_to_one_host_and_of_one_notification(start_server: StartServer) -> None:
    """rocketns.outgoingConnectionsPerHostMax: what would need more is dropped. Another host has its own.

    One request opens no more connections than RECEIVERS_MAX, however many brokers its group has.
    """
    for most, announced, expected in ((4, 20, 4), (1_000, RECEIVERS_MAX + 6, RECEIVERS_MAX)):
        server = start_server(ON | {"rocketns.outgoingConnectionsPerHostMax": most})
        with ExitStack() as stack, connect_from(server.port, HERE) as client, connect_from(server.port, THERE) as other:
            many, one = listeners_of(stack, announced), listeners_of(stack, 1, THERE)
            notify(client, "many", many)
            notify(other, "one", one)
            eventually(lambda one=one, many=many, expected=expected: (accepted(one), accepted(many)) == (1, expected))
            with Witness(server):
                pass
            assert accepted(many) == expected


TIMEOUT_MS = 20 * SECOND
KEPT_S = 60

SILENT = {
    "rocketns.massExpiryPercent": 50, "rocketns.massExpirySeconds": KEPT_S, "serverChannelMaxIdleTimeSeconds": 0,
}  # fmt: skip

Serve = Callable[..., TimedServer]


@pytest.fixture
def serve(tmp_path: Path, request: pytest.FixtureRequest) -> Serve:
    """Start a server: ``serve(**{"rocketns.askNetworks": "127.0.0.0/8"})``; stopped after the test."""
    own = {"rocketns.reactors": 2} | SILENT | ON
    return stopped_after(request, lambda **given: TimedServer(tmp_path, own | given))


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def refusing_port(stack: ExitStack, host: str) -> int:
    """A port that refuses connections as long as the test runs."""
    bound = stack.enter_context(socket.socket())
    bound.bind((host, 0))
    return int(bound.getsockname()[1])


class Scan:
    """A stranger announces an open port and a closed one of a host, each over a connection, and falls silent."""

    def __init__(self, server: TimedServer, stack: ExitStack, host: str, first: bytes = b"") -> None:
        self.server = server
        self.listener = stack.enter_context(Listener(host))
        self.viewer = stack.enter_context(server.connect())
        addrs = {"open": self.listener.addr, "closed": f"{host}:{refusing_port(stack, host)}"}
        for name, addr in addrs.items():
            client = stack.enter_context(connect_from(server.port, HERE))
            client.send(first)
            announce(client, name, addr, heartbeatTimeoutMillis=TIMEOUT_MS)

    @property
    def known(self) -> list[str]:
        return [name for name in ("open", "closed") if group(self.viewer, name) is not None]

    def fall_silent(self) -> None:
        pass_time(self.server, TIMEOUT_MS + 10 * SECOND)


@pytest.mark.parametrize("first", [b"", v1("TCP4", THERE, "127.0.0.1", 5_000, 9_876)], ids=["plain", "PROXY"])
def test_nobody_is_asked_outside_of_the_announcers_host(serve: Serve, stack: ExitStack, first: bytes) -> None:
    """The open port and the closed one leave at the same time, which is the end of the time for all.

    Any peer may send a PROXY header, so the address in it proves nothing.
    """
    scan = Scan(serve(), stack, THERE, first)
    scan.fall_silent()
    pass_time(scan.server, KEPT_S * SECOND - 15 * SECOND)
    assert scan.known == ["open", "closed"]
    pass_time(scan.server, 20 * SECOND)
    eventually(lambda: scan.known == [])
    assert scan.listener.accepted == 0


@pytest.mark.parametrize(("host", "networks"), [(HERE, ""), (THERE, "10.0.0.0/8;127.0.0.0/8")])
def test_the_announcers_own_host_and_allowed_networks_are_asked_when_their_time_is_over(
    serve: Serve, stack: ExitStack, host: str, networks: str
) -> None:
    """Nobody learns more of them than an expiry shows: a broker stays for its own time-out."""
    scan = Scan(serve(**{"rocketns.askNetworks": networks}), stack, host)
    pass_time(scan.server, TIMEOUT_MS - SECOND)
    assert scan.known == ["open", "closed"]
    assert scan.listener.accepted == 0
    scan.fall_silent()
    eventually(lambda: scan.known == ["open"])
    eventually(lambda: scan.listener.accepted > 0)


def test_notifications_go_to_the_announcers_host_only(serve: Serve, stack: ExitStack) -> None:
    """905. Of two members of a group, one was announced by somebody else."""
    server = serve()
    own, other = stack.enter_context(Listener(HERE)), stack.enter_context(Listener(THERE))
    client = stack.enter_context(connect_from(server.port, HERE))
    announce(client, "g", other.addr, 9)
    announce(client, "g", own.addr, 8)
    announce(client, "g", f"{HERE}:1", 7)
    eventually(lambda: own.accepted == 1)
    assert other.accepted == 0


def test_a_broker_that_announced_itself_stays_its_own(serve: Serve, stack: ExitStack) -> None:
    """A stranger who registers its address again does not keep notifications from it."""
    server = serve()
    own = stack.enter_context(Listener(HERE))
    broker = stack.enter_context(connect_from(server.port, HERE))
    stranger = stack.enter_context(connect_from(server.port, THERE))
    announce(broker, "g", own.addr, 8)
    announce(stranger, "g", own.addr, 8)
    announce(stranger, "g", f"{THERE}:1", 7)
    eventually(lambda: own.accepted == 1)


PEERS = 4


def make_connection(server: TimedServer) -> ChargedConnection:
    controller = server.controller
    reactors, control, forget = controller.reactors, controller.core.control, controller.client._forget
    return ChargedConnection(reactors.count_here, control.submit, forget, "127.0.0.2:1", "127.0.0.2", 1.0)


def hand_over(connection: socket.socket) -> None:
    """Answer the first request with a megabyte of an answer that never ends."""
    header = json_header(0, opaque=Accepted(connection).receive().opaque, flag=1)
    head = struct.pack(">iI", MB + 1_000, len(header)) + header
    connection.sendall(head.ljust(MB, b" "))
    read_to_the_end(connection)


def watched(stack: ExitStack, serve: Callable[[socket.socket], None]) -> list[Listener]:
    return [stack.enter_context(Listener(f"127.0.0.{number + 2}", serve)) for number in range(PEERS)]


def peers_of(listeners: list[Listener]) -> dict[str, object]:
    return {"rocketns.peers": ";".join(one.addr for one in listeners)}


@pytest.fixture
def without_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Peers may answer for as long as the test lasts: on a busy machine not all of them do so within two seconds."""
    monkeypatch.setattr("rocketns.server.fleet.ANSWER_WITHIN_S", 3_600.0)


def errors(server: TimedServer) -> list[str]:
    """Why each of the peers cannot be read."""
    return [member.error for member in server.controller.fleet.state.members[1:]]


@pytest.mark.usefixtures("without_deadline")
def test_an_unfinished_answer_counts_in_the_total(serve: Serve) -> None:
    """incoming bytes, as the metrics and the shedding see them; and they go with the connection."""
    with ExitStack() as stack:
        listeners = watched(stack, hand_over)
        server = serve(**peers_of(listeners))
        eventually(lambda: server.call(lambda: server.incoming_bytes) == PEERS * MB)
        server.call(server.controller.fleet.stop)
        eventually(lambda: server.call(lambda: server.incoming_bytes) == 0)


@pytest.mark.usefixtures("without_deadline")
def test_the_connection_that_holds_the_most_is_ended(serve: Serve) -> None:
    """incomingBytesMax holds for both kinds of connections together."""
    with ExitStack() as stack:
        listeners = watched(stack, hand_over)
        server = serve(**peers_of(listeners) | {"rocketns.incomingBytesMax": 2 * MB + MB // 2})
        eventually(lambda: any("incomingBytesMax" in error for error in errors(server)))
        assert server.call(lambda: server.incoming_bytes) <= 2 * MB + MB // 2


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


def test_answers_get_through_while_the_start_pauses_requests(serve: Serve) -> None:
    """A start that reads routes from another name server waits for its answers."""
    server = serve()
    control = server.controller.core.control
    taken: list[object] = []
    server.call(control.pause)
    connection = server.call(partial(make_connection, server))
    server.call(lambda: control.submit(connection, b"frame", on_answer=taken.append))
    eventually(lambda: taken == [b"frame"])
    server.call(control.unpause)


def test_a_peer_that_floods_is_disconnected_and_not_tried_again_at_once(serve: Serve) -> None:
    """Though the operator named it. Others are served."""
    small = frame(json_header(0, opaque=7, flag=1)) * 1_000

    def flood(connection: socket.socket) -> None:
        while True:
            connection.send(small)

    with ExitStack() as stack:
        listeners = watched(stack, flood)
        server = serve(**peers_of(listeners))
        rests = server.controller.fleet._client._quota._rests
        eventually(lambda: server.call(lambda: {*rests}) == {one.addr for one in listeners})
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
