"""SIGTERM and SIGINT stop the server within 3 s with exit status 0, whatever its peers do."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import pytest

from interop.harness import codes
from interop.harness.ports import free_port
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually, frame, json_header
from tests.behaviour.calls import put_kv
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.hostile.conftest import StartServer, assert_nothing_unforeseen
from tests.hostile.watch import BUSY_MACHINE_STOP_S, MB, Watch, by_the_clock, cpu_seconds, seconds_to_stop

STOP_S = 3.0
LIST = codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
SLOW_JSON = b"{'a':[" + b"1," * 100_000 + b"1]}"


@contextmanager
def nothing(_server: NameServer) -> Iterator[None]:
    yield


@contextmanager
def open_connections(server: NameServer) -> Iterator[None]:
    """Idle connections and one in the middle of a frame, with a broker on each."""
    with ExitStack() as stack:
        for _ in range(50):
            client = stack.enter_context(server.connect())
            registered(client, Names())
            client.send(frame(json_header(LIST))[:-1])
        yield


@contextmanager
def flood(server: NameServer) -> Iterator[None]:
    """Two connections that send requests as fast as possible and read the answers."""
    requests = b"".join(frame(json_header(LIST, opaque=n)) for n in range(100))
    over = threading.Event()

    def ask() -> None:
        with contextlib.suppress(ConnectionError), server.connect() as client:
            while not over.is_set():
                client.send(requests)
                for _ in range(100):
                    client.receive()

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    started = cpu_seconds(server)
    eventually(lambda: cpu_seconds(server) > started + 0.2)
    yield
    over.set()
    for thread in threads:
        thread.join()


@contextmanager
def slow_requests(server: NameServer) -> Iterator[None]:
    """Seconds of work from many connections at once, of which little is done."""
    slow = frame(json_header(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": "t"}), SLOW_JSON)
    with ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(40)]
        for client in clients:
            client.send(slow)
        clients[0].receive()
        yield


@contextmanager
def peers_that_do_not_read(server: NameServer) -> Iterator[None]:
    """For each connection an answer of 12 MB waits, more than the sockets hold, and further requests behind it."""
    with server.connect() as client, ExitStack() as stack:
        for number in range(12):
            put_kv(client, "ns", str(number), "v" * MB)
        watch = Watch(server)
        for _ in range(6):
            peer = stack.enter_context(server.connect())
            peer.send(frame(json_header(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "ns"})) * 32)
        eventually(lambda: watch.peak_growth() > 16 * MB)
        yield


@contextmanager
def first_tls_hello(server: NameServer) -> Iterator[None]:
    """A thread is making a certificate."""
    with server.connect() as client:
        client.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200))
        yield


Situation = Callable[[NameServer], AbstractContextManager[None]]
SITUATIONS = (nothing, open_connections, flood, slow_requests, peers_that_do_not_read, first_tls_hello)


@by_the_clock
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.__name__)
def test_sigterm_stops_soon_and_cleanly(server: NameServer, situation: Situation) -> None:
    """Within 3 s, with exit status 0."""
    assert_stops(server, situation, signal.SIGTERM)


@by_the_clock
def test_sigint_stops_soon_and_cleanly(server: NameServer) -> None:
    """SIGINT ends the server like SIGTERM."""
    assert_stops(server, nothing, signal.SIGINT)


def assert_stops(server: NameServer, situation: Situation, number: signal.Signals) -> None:
    """It ends within STOP_S of wall time, without the time in which other programs had the cores."""
    with situation(server):
        assert seconds_to_stop(server.process.popen, number) < STOP_S
    assert_nothing_unforeseen(server)


def test_connections_end_with_the_server(start_server: StartServer) -> None:
    """Connected peers see the end at once, and no new connection is accepted."""
    server = start_server({"listenPort": free_port()})  # another server might get one of the system's at once
    with server.connect() as client:
        assert client.request(LIST).code == codes.SUCCESS
        server.process.signal(signal.SIGTERM)
        assert client.is_closed_by_server(BUSY_MACHINE_STOP_S)
    assert server.process.wait(BUSY_MACHINE_STOP_S) == 0
    with pytest.raises(ConnectionRefusedError):
        Client(server.port)
