"""progressSeconds: who sends too little of its frame, or takes too little of its answers, is closed at any fill."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import HAPPENS_WITHIN_S, Client, eventually, frame, json_header
from rocketns._fast.tls.openssl import ServerContext
from rocketns.config.tls import TlsConfig
from rocketns.server.tls import contexts
from rocketns.server.tls.contexts import CertificatePair
from tests.behaviour.calls import put_kv
from tests.behaviour.conftest import Names
from tests.hostile.crowd import SMALL_BUFFER
from tests.support.certificates import Files, authority
from tests.support.inprocess import TimedServer
from tests.support.slowdisk import SlowDisk
from tests.support.tlsclient import TlsClient, TlsPeer
from tests.support.tlsfiles import tls_properties
from tests.timed.conftest import TimedServerFactory
from tests.timed.steps import (
    LARGE,
    SECOND,
    is_open,
    pass_time,
    wait_for_bytes,
    wait_for_connections,
    wait_until_sent,
    wait_until_unsent,
)

PROGRESS_BYTES = 16 * 1024  # as in _fast/connections
LIMIT = 30 * SECOND
STALL = 300 * SECOND
HELLO = TlsPeer().shake_hands()

Start = Callable[..., TimedServer]
Connect = Callable[[TimedServer], Client]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The properties of a certificate from files, which is faster than making one."""
    return tls_properties(Files.write(tmp_path_factory.mktemp("tls"), authority("tests").issue("server")))


@pytest.fixture
def start(timed_server: TimedServerFactory, certificate: dict[str, str]) -> Start:
    """Start a server with this certificate."""
    return lambda **properties: timed_server(**certificate, **properties)


@pytest.fixture(params=["a reactor", "control"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Open a connection that a reactor carries, or control, as it does with TLS. Both keep the limits on their own."""
    with ExitStack() as stack:
        yield lambda server: stack.enter_context(
            server.connect() if request.param == "a reactor" else TlsClient(server.port)
        )


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> SlowDisk:
    return SlowDisk(monkeypatch)


def registration(names: Names) -> bytes:
    body = register_body([topic_config(names.topic(f"{number:05}")) for number in range(1_000)])
    return frame(json_header(codes.REGISTER_BROKER, register_ext(names.cluster, names.broker, body=body)), body)


def send(server: TimedServer, client: Client, data: bytes, held: int) -> None:
    """After it the server holds so many bytes of all frames."""
    client.send(data)
    wait_for_bytes(server, held)


def connections(server: TimedServer) -> int:
    """How many are left. A peer with unread answers does not see the end."""
    return server.call(lambda: server.connections)


@pytest.mark.parametrize("size", [3, 100_000])
def test_a_frame_that_does_not_go_on(start: Start, connect: Connect, names: Names, size: int) -> None:
    """Its connection closes after 30 s, though the total is far away. Its bytes no longer count."""
    server = start()
    client, other = connect(server), connect(server)
    assert is_open(client)
    send(server, client, registration(names)[:size], size)
    pass_time(server, LIMIT - SECOND)
    assert connections(server) == 2
    server.advance(SECOND)
    assert client.is_closed_by_server()
    wait_for_bytes(server, 0)
    assert is_open(other)


def test_a_slow_broker_registers(timed_server: TimedServerFactory, names: Names) -> None:
    """16 KiB in 29 s are enough, however long the whole takes; so is the rest of a frame."""
    server, data = timed_server(), registration(names)
    with server.connect() as broker:
        for first in range(0, len(data), PROGRESS_BYTES):
            is_last = first + PROGRESS_BYTES >= len(data)
            send(server, broker, data[first : first + PROGRESS_BYTES], 0 if is_last else first + PROGRESS_BYTES)
            if not is_last:
                pass_time(server, LIMIT - SECOND)
        assert broker.receive().code == codes.SUCCESS


def test_each_frame_has_its_own_time(start: Start, connect: Connect) -> None:
    """The end of a frame and the start of another one: the time begins again."""
    server, whole = start(), frame(json_header(9999), bytes(100))
    client = connect(server)
    send(server, client, whole[:20], 20)
    for _ in range(3):
        pass_time(server, LIMIT - SECOND)
        send(server, client, whole[20:] + whole[:20], 20)
        assert client.receive().code
    server.advance(SECOND)
    assert connections(server) == 1
    pass_time(server, LIMIT - SECOND)
    assert client.is_closed_by_server()


def test_a_stall_of_the_server_does_not_count(start: Start, connect: Connect, names: Names) -> None:
    """The remaining time is left after it."""
    server = start()
    client = connect(server)
    send(server, client, registration(names)[:500], 500)
    pass_time(server, 20 * SECOND)
    server.advance(STALL)
    pass_time(server, 8 * SECOND)
    assert connections(server) == 1
    pass_time(server, 4 * SECOND)
    assert client.is_closed_by_server()


def test_a_peer_that_is_not_read_is_not_to_blame(start: Start, connect: Connect, disk: SlowDisk) -> None:
    """The server reads no further while it owes an answer. Then the peer has its whole time again."""
    server = start(**{"rocketns.inFlightMax": 1})
    put = frame(json_header(codes.PUT_KV_CONFIG, {"namespace": "ns", "key": "k", "value": "v"}))
    client = connect(server)
    send(server, client, put + put[:20], 20)
    disk.wait_for_write()
    pass_time(server, 2 * LIMIT + SECOND // 2)
    assert connections(server) == 1
    disk.go_on()
    assert client.receive().code == codes.SUCCESS
    pass_time(server, LIMIT - SECOND)
    assert connections(server) == 1
    pass_time(server, 2 * SECOND)
    assert client.is_closed_by_server()


def test_answers_that_are_not_taken(start: Start, connect: Connect) -> None:
    """The connection closes after 30 s. The requests that waited for its peer are gone as well."""
    server = start(serverSocketSndBufSize=SMALL_BUFFER)
    client, reader = connect(server), connect(server)
    put_kv(client, "ns", "k", "v" * 1_000_000)
    reader.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
    for _ in range(50):
        reader.post(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "ns"})
    wait_until_unsent(server)
    pass_time(server, LIMIT - SECOND)
    assert connections(server) == 2
    for _ in range(2 * LIMIT // SECOND):  # what the kernel took after the first moment counts as taken
        if connections(server) == 2:
            server.advance(SECOND)
    wait_for_connections(server, 1)
    wait_until_sent(server)
    assert server.call(lambda: server.controller.core.control.waiting_bytes) == 0


def has_taken(server: TimedServer, reader: Client, left: int) -> bool:
    """Take what is there. The last bytes may be taken before the server has counted that they are sent."""
    with suppress(BlockingIOError):
        assert reader.socket.recv(1 << 20, socket.MSG_DONTWAIT)
    return server.call(lambda: server.outgoing_bytes) <= left


def test_answers_that_are_taken_slowly(timed_server: TimedServerFactory) -> None:
    """A megabyte every 29 s: the peer gets everything."""
    server = timed_server(
        **{"serverChannelMaxIdleTimeSeconds": 0, "rocketns.kvBytesMax": 2 * LARGE, "rocketns.kvValueBytesMax": LARGE}
    )
    with server.connect() as client, server.connect() as reader:
        put_kv(client, "ns", "k", "v" * LARGE)
        reader.post(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "ns"})
        wait_until_unsent(server)
        while before := server.call(lambda: server.outgoing_bytes):
            pass_time(server, LIMIT - 2 * SECOND)
            assert connections(server) == 2
            left = max(0, before - 1_000_000)
            eventually(lambda left=left: has_taken(server, reader, left), every_s=0.001)
            server.advance(SECOND)


def test_a_handshake_that_does_not_end(start: Start) -> None:
    """However its bytes come: 10 s after the first one its connection closes, as in Java."""
    server = start()
    with server.connect() as client:
        for second in range(9):
            client.send(HELLO[second : second + 1])
            wait_for_bytes(server, second + 1)
            server.advance(SECOND)
        assert connections(server) == 1
        pass_time(server, 2 * SECOND)
        assert client.is_closed_by_server()


def test_a_peer_has_all_its_time_for_the_handshake_though_the_server_makes_its_certificate_first(
    timed_server: TimedServerFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine that takes longer than 10 s, which begin when the server can go on."""
    begun, may_end, build = threading.Event(), threading.Event(), contexts.build_server_context

    def build_slowly(config: TlsConfig, pair: CertificatePair) -> ServerContext:
        begun.set()
        assert may_end.wait(HAPPENS_WITHIN_S)
        return build(config, pair)

    monkeypatch.setattr(contexts, "build_server_context", build_slowly)
    server = timed_server()
    with server.connect() as client:
        client.send(HELLO)
        assert begun.wait(HAPPENS_WITHIN_S)
        pass_time(server, 20 * SECOND)
        may_end.set()
        assert client.socket.recv(1 << 16)
        pass_time(server, 9 * SECOND)
        assert connections(server) == 1
        pass_time(server, 2 * SECOND)
        assert client.is_closed_by_server()
