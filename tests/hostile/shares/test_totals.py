"""Bytes of all connections together: beyond their total connections are closed, and honest peers are served."""

from __future__ import annotations

import socket
from contextlib import ExitStack

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually
from tests.behaviour.calls import put_kv
from tests.hostile.conftest import NO_TIME_LIMIT, StartServer
from tests.hostile.shares.test_limits import UNFINISHED, is_ended, requests, try_to_send
from tests.hostile.watch import MB, Watch, costs_at_most
from tests.hostile.witness import Witness

SMALL_BUFFER = 16 * 1024  # of a socket, so that answers wait in the server and not in the kernel
KEPT_MIN, KEPT_MAX = 27, 37  # of peers with 1 MB each in 32 MB; the kernel may hold some of it


def connect_narrow(server: NameServer) -> Client:
    """A connection whose peer has a small receive buffer and does not read."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
    raw.connect(("127.0.0.1", server.port))
    client = Client(server.port)
    client.socket.close()
    client.socket = raw
    raw.settimeout(client.timeout_s)
    return client


def test_many_readers_that_never_read(start_server: StartServer) -> None:
    """For any number of them, their answers take at most outgoingBytesTotalMax."""
    total, peers = 32 * MB, 100
    properties = {"rocketns.outgoingBytesTotalMax": total, "serverSocketSndBufSize": SMALL_BUFFER}
    server = start_server(properties | NO_TIME_LIMIT)
    with server.connect() as client:
        put_kv(client, "ns", "k", "v" * MB)
    # Answers of a megabyte leave holes in the heap where the asyncio loop copies them.
    growth_max = (4 if server.mode == "asyncio" else 2) * total
    with costs_at_most(server, growth_max) as watch, ExitStack() as stack:
        readers = [stack.enter_context(connect_narrow(server)) for _ in range(peers)]
        eventually(lambda: watch.fds() >= watch.fds_before + peers - 1)  # the connection that put may be counted
        for reader in readers:
            reader.send(requests(codes.GET_KVLIST_BY_NAMESPACE, 1, namespace="ns"))
        with Witness(server, rounds_min=50):
            eventually(lambda: watch.fds() <= watch.fds_before + KEPT_MAX + 1)
        assert watch.fds() >= watch.fds_before + KEPT_MIN


def test_tiny_requests_of_who_does_not_read(start_server: StartServer) -> None:
    """Requests of a peer that reads no answers wait: it holds one answer, not one for each request."""
    peers, size = 8, MB
    server = start_server({"serverSocketSndBufSize": SMALL_BUFFER} | NO_TIME_LIMIT)
    with server.connect() as client:
        put_kv(client, "ns", "k", "v" * size)
    with costs_at_most(server, peers * 2 * size + 16 * MB), ExitStack() as stack:
        readers = [stack.enter_context(connect_narrow(server)) for _ in range(peers)]
        with Witness(server, rounds_min=200):
            for reader in readers:
                reader.send(requests(codes.GET_KVLIST_BY_NAMESPACE, 20, namespace="ns"))
        for reader in readers:
            assert sorted(reader.receive().opaque for _ in range(20)) == list(range(20))


def test_the_largest_of_all_goes(start_server: StartServer) -> None:
    """The connection with the most unfinished bytes is closed, not one that shares a reactor with the last sender."""
    limit, large, small, pairs = 32 * MB, 4 * MB, MB, 7
    server = start_server({"rocketns.incomingBytesMax": limit} | NO_TIME_LIMIT)
    with costs_at_most(server, 2 * limit), ExitStack() as stack:
        attackers, honest = [], []
        for _ in range(pairs):
            attackers.append(stack.enter_context(server.connect()))
            honest.append(stack.enter_context(server.connect()))
        watch = Watch(server)
        for client in attackers:
            try_to_send(client, UNFINISHED + bytes(large))
        eventually(lambda: watch.peak_growth() > (pairs * large - MB))
        for client in honest:
            try_to_send(client, UNFINISHED + bytes(small))
        eventually(lambda: any(is_ended(client) for client in attackers + honest))
        with Witness(server):
            pass
        assert sum(is_ended(client) for client in honest) == 0
        assert sum(is_ended(client) for client in attackers) == 1


def test_the_rest_of_a_frame_keeps_no_large_buffer(start_server: StartServer) -> None:
    """After a burst of requests that ends in the middle of a frame, only the unfinished frame is kept."""
    server = start_server(NO_TIME_LIMIT)
    count, peers = 50, 300
    burst = requests(9999, count, bytes(1_000))
    with costs_at_most(server, 16 * MB), ExitStack() as stack:
        clients = [stack.enter_context(server.connect()) for _ in range(peers)]
        for client in clients:
            client.send(burst[:2])
        with Witness(server):
            pass
        for client in clients:
            client.send(burst[2:] + burst[:2])
            for _ in range(count):
                client.receive()
