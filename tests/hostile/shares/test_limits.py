"""Peers that send or request too much, or read too little: only they are affected by the limit."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually, frame, json_header
from tests.behaviour.calls import put_kv
from tests.behaviour.conftest import Names
from tests.behaviour.steps import configs
from tests.hostile.conftest import NO_TIME_LIMIT, StartServer
from tests.hostile.watch import MB, Watch, costs_at_most
from tests.hostile.witness import Witness
from tests.support.ended import is_ended

LIST = codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
UNFINISHED = struct.pack(">iI", 16 * MB - 4, 100)
SMALL_GROWTH = 24 * MB


def requests(code: int, count: int, body: bytes = b"", **ext: str) -> bytes:
    """A pipeline of requests with the opaques 0 to count - 1."""
    return b"".join(frame(json_header(code, ext or None, opaque=n), body) for n in range(count))


@contextmanager
def sending(client: Client, data: bytes) -> Iterator[None]:
    """Send in a thread, so that the test can read meanwhile."""
    thread = threading.Thread(target=client.send, args=[data])
    thread.start()
    yield
    thread.join()


def test_pipelining_more_than_may_be_in_flight(start_server: StartServer) -> None:
    """Beyond inFlightMax reading pauses: every request is answered once, and none is refused for a full queue."""
    server = start_server({"rocketns.inFlightMax": 16, "defaultThreadPoolQueueCapacity": 20})
    with costs_at_most(server, SMALL_GROWTH), Witness(server), server.connect() as client:
        client.request(LIST)
        with sending(client, requests(LIST, 2_000)):
            answers = [client.receive() for _ in range(2_000)]
    assert sorted(answer.opaque for answer in answers) == list(range(2_000))
    assert {answer.code for answer in answers} == {codes.SUCCESS}


def test_a_full_queue_is_full_for_who_filled_it(start_server: StartServer) -> None:
    """B077: a flood gets SYSTEM_BUSY; a connection with one request at a time never does."""
    server = start_server({"defaultThreadPoolQueueCapacity": 10, "clientRequestThreadPoolQueueCapacity": 10})
    with Witness(server) as witness, server.connect() as client:
        client.request(LIST)
        answered: Counter[int] = Counter()
        while witness.rounds < 20:
            client.send(requests(LIST, 1_000))
            answered += Counter(client.receive().code for _ in range(1_000))
    assert set(answered) == {codes.SUCCESS, codes.SYSTEM_BUSY}


def test_a_full_inbox_of_large_requests(start_server: StartServer) -> None:
    """Requests beyond incomingBytesMax in total do not wait: they get SYSTEM_BUSY, or their connection closes."""
    limit = 32 * MB
    server = start_server({"rocketns.incomingBytesMax": limit, "rocketns.turnRequestsMax": 1})
    data = requests(LIST, 200, bytes(100_000))
    with costs_at_most(server, 3 * limit), Witness(server), ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(8)]
        threads = [threading.Thread(target=send_and_read, args=[client, data, 200]) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def send_and_read(client: Client, data: bytes, count: int) -> None:
    """Read answers while sending, until all have come or the server closed."""
    try:
        with sending(client, data):
            for _ in range(count):
                assert client.receive().code in (codes.SUCCESS, codes.SYSTEM_BUSY)
    except ConnectionError:
        return


def test_one_connection_does_not_keep_the_others_waiting(server: NameServer) -> None:
    """B078: connections take turns: others wait for one request of a slow pipeline at a time."""
    slow = b"{'a':[" + b"1," * 30_000 + b"1]}"  # only the lenient parser takes it
    count = 200  # seconds of work
    with Witness(server, slowest_cpu_s=1.0), server.connect() as client:
        client.request(LIST)
        client.send(requests(codes.REGISTER_TOPIC_IN_NAMESRV, count, slow, topic="t"))
        for _ in range(count):
            assert client.receive().code == codes.SUCCESS


def test_unfinished_frames_of_too_many_bytes(start_server: StartServer) -> None:
    """Beyond incomingBytesMax in total the connection that holds the most is closed, and memory stays bounded."""
    limit, each = 32 * MB, 4 * MB
    server = start_server({"rocketns.incomingBytesMax": limit} | NO_TIME_LIMIT)
    with costs_at_most(server, 2 * limit), Witness(server), ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(20)]
        for client in clients:
            try_to_send(client, UNFINISHED + bytes(each))
        eventually(lambda: sum(is_ended(client) for client in clients) >= len(clients) - limit // each)
        assert sum(is_ended(client) for client in clients) <= len(clients) - limit // each + 1


def test_a_broker_gets_through_while_others_hold_all_there_is(start_server: StartServer) -> None:
    """A registration in many pieces is not closed, because hostile peers hold more bytes."""
    limit, each = 32 * MB, 4 * MB
    server = start_server({"rocketns.incomingBytesMax": limit} | NO_TIME_LIMIT)
    names = Names()
    body = register_body([topic_config(f"{names.topic()}-{n}") for n in range(4_000)])
    data = frame(json_header(codes.REGISTER_BROKER, register_ext(names.cluster, names.broker, body=body)), body)
    watch = Watch(server)
    with ExitStack() as stack:
        for _ in range(limit // each):
            try_to_send(stack.enter_context(server.connect()), UNFINISHED + bytes(each - 100))
        eventually(lambda: watch.peak_growth() > limit - MB)
        with server.connect() as broker:
            for start in range(0, len(data), 50_000):
                broker.send(data[start : start + 50_000])
            assert broker.receive().code == codes.SUCCESS


def try_to_send(client: Client, data: bytes) -> None:
    with contextlib.suppress(ConnectionError):  # when the server closed before all was sent
        client.send(data)


def test_readers_that_never_read(start_server: StartServer) -> None:
    """A connection is closed if a single answer is larger than outgoingBytesMax."""
    limit, peers = 4 * MB, 4
    server = start_server({"rocketns.outgoingBytesMax": limit, "serverSocketSndBufSize": 65_536} | NO_TIME_LIMIT)
    with server.connect() as client:
        for n in range(12):
            put_kv(client, "ns", f"k{n}", "v" * MB)
    with costs_at_most(server, peers * 2 * 12 * MB + 16 * MB), Witness(server), ExitStack() as stack:
        readers = [stack.enter_context(server.connect()) for _ in range(peers)]
        for reader in readers:
            reader.send(requests(codes.GET_KVLIST_BY_NAMESPACE, 1_000, namespace="ns"))
        eventually(lambda: all(is_cut_off(reader) for reader in readers))


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


def test_a_reader_within_the_limit_gets_everything(start_server: StartServer) -> None:
    """B062: below outgoingBytesMax answers wait until the peer reads them, and none is lost."""
    server = start_server(NO_TIME_LIMIT)
    with server.connect() as client:
        put_kv(client, "ns", "k", "v" * MB)
        client.send(requests(codes.GET_KVLIST_BY_NAMESPACE, 40, namespace="ns"))
        with Witness(server, rounds_min=100):
            pass
        assert sorted(client.receive().opaque for _ in range(40)) == list(range(40))


def test_slow_writers(start_server: StartServer) -> None:
    """B048: frames that come byte by byte over many connections at once are all answered."""
    server, names = start_server(NO_TIME_LIMIT), Names()
    with costs_at_most(server, SMALL_GROWTH), Witness(server), ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(30)]
        data = frame(json_header(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": "T"}), register_body(configs(names, ["T"])))
        for n in range(len(data)):
            for client in clients:
                client.send(data[n : n + 1])
        assert [client.receive().code for client in clients] == [codes.SUCCESS] * len(clients)
