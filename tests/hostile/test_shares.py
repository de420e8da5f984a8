"""Control's time is shared by cost: a peer that sends expensive or many requests delays only itself.

All requests wait while the server is stopped (SIGSTOP). Once the broker has its answer, less than half of the others'
work is done: their answers are counted.
"""

from __future__ import annotations

import array
import fcntl
import signal
import socket
import termios
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import ROCKETMQ, Client, binary_header, eventually, frame, json_header
from tests.behaviour.conftest import Names
from tests.fast.lookups import looked_up
from tests.hostile.conftest import StartLive
from tests.hostile.crowd import HELD, hosts, registration, requests
from tests.support.proxyheaders import v1

HOST = "127.0.0.2"
PEERS, EACH = 40, 30
LIST = codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER
# A millisecond each: 1,020 fields in a header of 7 KB, and JSON that only the lenient parser reads.
MANY_FIELDS = frame(binary_header(LIST, {f"k{n}": "" for n in range(1_020)}), b"", ROCKETMQ)
LENIENT = frame(json_header(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": "t"}), b"{'a':[" + b"1," * 1_000 + b"1]}")


@contextmanager
def suspended(server: NameServer) -> Iterator[None]:
    """What is sent meanwhile waits for the server all at once, however busy the machine is."""
    server.process.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.signal(signal.SIGCONT)


def unread_bytes(one: socket.socket) -> int:
    """Bytes that came and were not read."""
    found = array.array("i", [0])
    fcntl.ioctl(one, termios.FIONREAD, found)
    return found[0]


def connected(server: NameServer, stack: ExitStack, count: int, host: str = HOST) -> list[Client]:
    """Connections that have been answered once, so the server has accepted them."""
    peers = [stack.enter_context(Client(server.port, source=host)) for _ in range(count)]
    for peer in peers:
        assert peer.request(LIST).code == codes.SUCCESS
    return peers


def send_what_fits(peer: Client, data: bytes) -> None:
    """Send as much as the sockets accept at once."""
    peer.socket.setblocking(False)
    with suppress(BlockingIOError):
        while data:
            data = data[peer.socket.send(data) :]


@pytest.mark.parametrize("request_", [MANY_FIELDS, LENIENT], ids=["many fields", "lenient JSON"])
def test_a_broker_registers_while_others_flood(server: NameServer, request_: bytes) -> None:
    with ExitStack() as stack:
        peers = connected(server, stack, PEERS)
        one = len(ask_once(peers[0], request_))
        (broker,) = connected(server, stack, 1, "127.0.0.1")
        with suspended(server):
            for peer in peers:
                send_what_fits(peer, request_ * EACH)
            post_registration(broker, Names())
        assert broker.receive().code == codes.SUCCESS
        done = sum(unread_bytes(peer.socket) for peer in peers) / one
        for peer in peers:
            peer.close()
    assert done < PEERS * EACH / 2


def ask_once(peer: Client, request: bytes) -> bytes:
    peer.send(request)
    return peer.receive_frame()


def post_registration(broker: Client, names: Names) -> None:
    body = register_body([topic_config(names.topic("T")), topic_config(names.topic("U"))])
    broker.post(codes.REGISTER_BROKER, register_ext(names.cluster, names.broker, body=body), body)


@pytest.mark.parametrize("request_", [b"", requests(LIST, 1)], ids=["carried by control", "carried by a reactor"])
def test_a_host_that_announces_others_has_one_share(live: StartLive, request_: bytes) -> None:
    """A share is that of the socket's address, whatever PROXY headers say."""
    server = live({"rocketns.reactors": 1})
    with ExitStack() as stack:
        for number in range(3):
            peer = stack.enter_context(Client(server.port, source=HOST))
            peer.send(v1("TCP4", f"10.0.0.{number + 1}", "10.9.9.9", 40_000, 9876) + requests(LIST, 1))
            assert peer.receive().code == codes.SUCCESS
            peer.send(request_)
            if request_:
                assert peer.receive().code == codes.SUCCESS

        def shares() -> set[str]:
            """Of each connection that control knows: whose share it has."""
            return {one.host for one in server.transport.connections}

        assert server.call(shares) == {HOST}


def test_a_new_broker_has_room_beside_a_crowd(live: StartLive) -> None:
    """Its 1.6 MB get to control though the frames of three hosts fill the room for first frames."""
    server, names = live({"rocketns.reactors": 1, "rocketns.incomingBytesMax": 32 << 20}), Names()
    reactors = server.controller.reactors
    filling = frame(json_header(9999), bytes(HELD))
    with ExitStack() as stack:
        others = hosts(3)
        crowd = [stack.enter_context(Client(server.port, source=others[number % 3])) for number in range(90)]
        broker, client = (stack.enter_context(server.connect()) for _ in range(2))
        with server.held_still():
            for peer in crowd:
                send_what_fits(peer, filling * 2)
            for _ in range(50):  # each in a later round of the reactor
                looked_up(client, "none")
            before = reactors.queued_bytes
            data = registration(names.cluster, names.broker)
            broker.send(data)
            eventually(lambda: reactors.queued_bytes >= before + len(data))
        assert broker.receive().code == codes.SUCCESS
