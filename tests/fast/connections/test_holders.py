"""Over the limit for unfinished frames the connection that holds the most is closed, on whichever reactor it is."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from interop.harness.wire import Client, eventually, frame, json_header
from tests.fast.reactor.test_moving import balancer_of, reactors_of
from tests.soak.live import LiveServer
from tests.support.ended import is_ended

LIMIT = 1 << 20
# A frame that stays unfinished: its length, and a plain header word.
UNFINISHED = struct.pack(">iI", 4 << 20, 100)
SIZES = [number * 1_000 for number in range(3, 43)]
PUSHED, CLOSED = 2_500, 20


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    """A server with two reactors, which get connections in turn."""
    with LiveServer(tmp_path, **{"rocketns.incomingBytesMax": LIMIT}) as started:
        reactors, balancer = reactors_of(started), balancer_of(started)

        def deal() -> None:
            balancer.read_usage = lambda: None
            reactors.deal_to(2)

        started.call(deal)
        yield started


class Crowd:
    """Clients with parts of frames. ``total`` is what they hold together; it is compared with the server's count."""

    def __init__(self, server: LiveServer, stack: ExitStack) -> None:
        self.server, self.stack, self.total = server, stack, 0

    def connect(self) -> Client:
        return self.stack.enter_context(self.server.connect())

    def hold(self, client: Client, size: int, data: bytes = b"") -> None:
        """Send ``data``, or so many bytes, after which the server holds ``size`` more."""
        client.send(data or bytes(size))
        self.change(size)

    def begin(self, client: Client, size: int) -> None:
        self.hold(client, size, UNFINISHED + bytes(size - len(UNFINISHED)))

    def change(self, size: int) -> None:
        self.total += size
        eventually(lambda: reactors_of(self.server).incoming_bytes == self.total, every_s=0.001)

    def shrink(self, client: Client) -> None:
        """Most of a frame, then its end and the start of another frame."""
        whole = frame(json_header(9999), bytes(60_000))
        self.hold(client, 50_000, whole[:50_000])
        self.hold(client, 2_000 - 50_000, whole[50_000:] + UNFINISHED + bytes(2_000 - len(UNFINISHED)))
        assert client.receive().code


def test_the_largest_goes_each_time(server: LiveServer) -> None:
    """The connections hold different amounts. Some grew, shrank or left meanwhile."""
    chance = random.Random(1)
    with ExitStack() as stack:
        crowd = Crowd(server, stack)
        clients = {size: crowd.connect() for size in chance.sample(SIZES, len(SIZES))}
        for client in clients.values():
            crowd.begin(client, 2_000)
        small = [crowd.connect() for _ in range(6)]
        for client in small:
            crowd.shrink(client)
        for size in chance.sample(SIZES, len(SIZES)):
            crowd.hold(clients[size], size - 2_000)
        for size in chance.sample(SIZES[:-CLOSED], 6):
            clients.pop(size).close()
            crowd.change(-size)
        for size in sorted(clients, reverse=True)[:CLOSED]:
            while crowd.total + PUSHED <= LIMIT:
                small.append(crowd.connect())
                crowd.begin(small[-1], PUSHED)
            small.append(crowd.connect())
            small[-1].send(UNFINISHED + bytes(PUSHED - len(UNFINISHED)))
            largest = clients.pop(size)
            crowd.change(PUSHED - size)
            eventually(partial(is_ended, largest))  # its bytes stop counting a moment before it is closed
            assert not any(map(is_ended, [*clients.values(), *small]))


def test_who_shrank_is_no_longer_the_largest(server: LiveServer) -> None:
    """The largest connection of each reactor completes its frame. Of the others the largest is closed."""
    with ExitStack() as stack:
        crowd = Crowd(server, stack)
        small = [crowd.connect() for _ in range(4)]
        whole = frame(json_header(9999), bytes(4_000))
        for client in small:
            crowd.hold(client, 4_000, whole[:4_000])
        others = [crowd.connect() for _ in range(300)]
        for number, client in enumerate(others):
            crowd.begin(client, 3_000 + number)
        for client in small:
            crowd.hold(client, 100 - 4_000, whole[4_000:] + UNFINISHED + bytes(100 - len(UNFINISHED)))
        while crowd.total + PUSHED <= LIMIT:
            small.append(crowd.connect())
            crowd.begin(small[-1], PUSHED)
        small.append(crowd.connect())
        small[-1].send(UNFINISHED + bytes(PUSHED - len(UNFINISHED)))
        crowd.change(PUSHED - 3_299)
        eventually(lambda: is_ended(others[-1]))
