"""Over the limit for unfinished frames a connection is closed: which one, on whichever reactor it is."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from interop.harness.wire import Client, eventually, frame, json_header
from rocketns.config.limits import HOST_PARTS
from rocketns.server.requests.holders import PROGRESS_BYTES
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.compiled.parts import set_clock
from tests.fast.reactor.test_moving import balancer_of, reactors_of
from tests.hostile.conftest import NO_TIME_LIMIT
from tests.hostile.crowd import apart, hosts
from tests.support.live import LiveServer
from tests.support.ended import is_ended

LIMIT = 32 << 20
# A frame that stays unfinished: its length, and a plain header word.
UNFINISHED = struct.pack(">iI", 15 << 20, 100)
SIZE = 320_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    """A server with two reactors, which get connections in turn."""
    with LiveServer(tmp_path, **{"rocketns.incomingBytesMax": LIMIT}, **NO_TIME_LIMIT) as started:
        reactors, balancer = reactors_of(started), balancer_of(started)

        def deal() -> None:
            balancer.read_usage = lambda: None
            reactors.deal_to(2)

        started.call(deal)
        yield started


@dataclass(eq=False)
class Part:
    """A client whose frame is not finished, and how much of it the server holds."""

    client: Client
    size: int = 0

    @property
    def is_ended(self) -> bool:
        return is_ended(self.client)


class Crowd:
    """Unfinished frames. What they hold together is compared with the server's count, also of who was closed.

    The reactors' clock moves with each step, and only then.
    """

    def __init__(self, server: LiveServer, stack: ExitStack) -> None:
        self.server, self.stack, self.now_ms = server, stack, 0
        self.parts: list[Part] = []

    @property
    def total(self) -> int:
        return sum(part.size for part in self.parts)

    def connect(self, host: str = "127.0.0.1") -> Part:
        self.move_clock()  # a reactor may read the first bytes in the round in which it accepts, which has one time
        return Part(self.stack.enter_context(Client(self.server.port, source=host)))

    def move_clock(self) -> None:
        self.now_ms = max(self.now_ms + 1, int(time.monotonic() * 1000))
        set_clock(reactors_of(self.server), self.now_ms)

    def send(self, part: Part, data: bytes, size: int) -> None:
        """After ``data`` the server holds so many bytes of this client."""
        self.move_clock()
        part.client.send(data)
        part.size = size
        eventually(lambda: reactors_of(self.server).incoming_bytes == self.total, every_s=0.001)

    def more(self, part: Part, size: int) -> None:
        self.send(part, bytes(size), part.size + size)

    def begin(self, part: Part, size: int = SIZE) -> Part:
        self.parts.append(part)
        self.send(part, UNFINISHED + bytes(size - len(UNFINISHED)), size)
        return part

    def fill(self, addresses: list[str]) -> list[Part]:
        """Connections of these hosts by turns, until there is no room for one more."""
        filled: list[Part] = []
        while self.total + SIZE <= LIMIT:
            filled.append(self.begin(self.connect(addresses[len(filled) % len(addresses)])))
        return filled

    def push_out(self, part: Part, host: str = "127.0.0.1") -> None:
        """One connection more than there is room for: this one is closed, and no other."""
        self.parts.remove(part)
        self.begin(self.connect(host))
        eventually(lambda: part.is_ended)
        assert not any(one.is_ended for one in self.parts)


def test_the_one_without_progress_goes_each_time(server: LiveServer) -> None:
    """Some grew by enough, some by less than enough, some finished their frame and began another, some left."""
    chance = random.Random(1)
    whole = frame(json_header(9999), bytes(960_000))
    with ExitStack() as stack:
        crowd = Crowd(server, stack)
        order = [crowd.begin(crowd.connect(), SIZE + number) for number in range(40)]
        finishing = crowd.connect()
        crowd.parts.append(finishing)
        crowd.send(finishing, whole[:SIZE], SIZE)
        for part in chance.sample(order, 20):
            crowd.more(part, PROGRESS_BYTES)
            order.append(order.pop(order.index(part)))
        crowd.send(finishing, whole[SIZE:] + UNFINISHED + bytes(SIZE), SIZE + len(UNFINISHED))
        assert finishing.client.receive().code
        for part in chance.sample(order, 10):
            crowd.more(part, 100)
        for part in chance.sample(order, 4):
            order.remove(part)
            crowd.parts.remove(part)
            part.client.close()
            eventually(lambda: reactors_of(server).incoming_bytes == crowd.total, every_s=0.001)
        crowd.fill(["127.0.0.1"])
        for part in [*order, finishing]:
            crowd.push_out(part)
            while crowd.total + SIZE <= LIMIT:
                crowd.begin(crowd.connect())


def test_the_host_with_the_most_loses_first(server: LiveServer) -> None:
    """Its connections are spread over both reactors. Those of others are without progress for longer."""
    with ExitStack() as stack:
        crowd, host = Crowd(server, stack), "127.0.0.1"
        others = [crowd.begin(crowd.connect(host)) for _ in range(20)]
        attackers = crowd.fill(apart(hosts(9), host, server)[:1])
        for part in attackers[:10]:
            crowd.push_out(part, host)
        assert not any(part.is_ended for part in others)


def test_small_hosts_lose_by_progress_alone(server: LiveServer) -> None:
    """A broker with much more than each of the others is closed after them."""
    with ExitStack() as stack:
        crowd = Crowd(server, stack)
        large = crowd.begin(crowd.connect(), LIMIT // HOST_PARTS - PROGRESS_BYTES)
        others = apart(hosts(200), "127.0.0.1", server)
        small = [crowd.begin(crowd.connect(host)) for host in others[:50]]
        crowd.more(large, PROGRESS_BYTES)
        crowd.fill(others[50:100])
        for part, host in zip(small, others[100:150], strict=True):
            crowd.push_out(part, host)
        assert not large.is_ended


def test_a_registered_broker_goes_last(server: LiveServer) -> None:
    """Also if it registered while a part of its next frame was here, and is without progress for longest."""
    with ExitStack() as stack:
        crowd, names = Crowd(server, stack), Names()
        broker = crowd.connect()
        registered(broker.client, names)
        crowd.begin(broker)
        for part in crowd.fill(["127.0.0.1"])[:20]:
            crowd.push_out(part)
        assert not broker.is_ended


def test_registered_brokers_with_more_than_half_go_first(server: LiveServer) -> None:
    """A stranger may register as well. Newcomers keep half of the total."""
    with ExitStack() as stack:
        crowd = Crowd(server, stack)
        brokers = [crowd.connect() for _ in range(LIMIT // SIZE // 2 + 10)]
        for part in brokers:
            registered(part.client, Names())
            crowd.begin(part)
        crowd.fill(["127.0.0.1"])
        for part in brokers[:5]:
            crowd.push_out(part)


def test_a_connection_that_holds_little_stays(server: LiveServer) -> None:
    """To close it would free nothing to speak of."""
    with ExitStack() as stack:
        crowd = Crowd(server, stack)
        crowd.begin(crowd.connect(), len(UNFINISHED))
        for part in crowd.fill(["127.0.0.1"])[:5]:
            crowd.push_out(part)
