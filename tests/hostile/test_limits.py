"""Peers that send or request too much, or read too little: only they are affected by the limit."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from contextlib import ExitStack

from interop.harness import codes
from interop.harness.wire import eventually
from tests.behaviour.calls import put_kv
from tests.hostile.conftest import NO_TIME_LIMIT, StartLive, StartServer
from tests.hostile.crowd import SMALL_BUFFER, is_cut_off, narrow, requests
from tests.hostile.witness import MB, Witness, leaves_nothing

LIST = codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER


def test_pipelining_more_than_may_be_in_flight(start_server: StartServer) -> None:
    """Beyond inFlightMax reading pauses: every request is answered once, and none is refused for a full queue."""
    server = start_server({"rocketns.inFlightMax": 16, "defaultThreadPoolQueueCapacity": 20})
    with leaves_nothing(server), Witness(server), server.connect() as client:
        client.request(LIST)
        thread = threading.Thread(target=client.send, args=[requests(LIST, 2_000)])
        thread.start()
        answers = [client.receive() for _ in range(2_000)]
        thread.join()
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


def test_readers_that_never_read(start_server: StartServer) -> None:
    """A connection is closed if a single answer is larger than outgoingBytesMax."""
    limit, peers = 4 * MB, 4
    server = start_server({"rocketns.outgoingBytesMax": limit, "serverSocketSndBufSize": 65_536} | NO_TIME_LIMIT)
    with server.connect() as client:
        for n in range(12):
            put_kv(client, "ns", f"k{n}", "v" * MB)
    with leaves_nothing(server), Witness(server), ExitStack() as stack:
        readers = [stack.enter_context(server.connect()) for _ in range(peers)]
        for reader in readers:
            reader.send(requests(codes.GET_KVLIST_BY_NAMESPACE, 1_000, namespace="ns"))
        eventually(lambda: all(is_cut_off(reader) for reader in readers))


def test_tiny_requests_of_who_does_not_read(live: StartLive) -> None:
    """Requests of a peer that reads no answers wait: it holds one answer, not one for each request."""
    peers, size = 8, MB
    server = live({"serverSocketSndBufSize": SMALL_BUFFER} | NO_TIME_LIMIT)
    with server.connect() as client:
        put_kv(client, "ns", "k", "v" * size)
    with ExitStack() as stack:
        readers = [narrow(server.port, stack) for _ in range(peers)]
        for reader in readers:
            reader.send(requests(codes.GET_KVLIST_BY_NAMESPACE, 20, namespace="ns"))
        for reader in readers:
            assert reader.socket.recv(1, socket.MSG_PEEK)
        with server.connect() as client:
            for _ in range(200):  # each in a later turn of control
                assert client.request(LIST).code == codes.SUCCESS
        assert server.call(lambda: server.controller.facts.reactors.outgoing_bytes) <= 2 * peers * size
        for reader in readers:
            assert sorted(reader.receive().opaque for _ in range(20)) == list(range(20))
