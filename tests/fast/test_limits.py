"""Limits shared fairly: who is closed or waits over the limits for bytes, and what a host may ask for in a second."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interop.harness.codes import REQUEST_CODE_NOT_SUPPORTED
from interop.harness.wire import Client, eventually, frame, json_header
from rocketns.addresses import host_of
from rocketns.config.limits import HOST_PARTS
from rocketns.server.control.inbox import WAITING_BYTES_MAX
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.compiled.parts import set_clock
from tests.compiled.turns import LimitedHosts
from tests.fast import host_rates as reference
from tests.fast.host_rates import HostRates, Rates
from tests.hostile.conftest import NO_TIME_LIMIT
from tests.hostile.crowd import hosts
from tests.hostile.witness import MB
from tests.support.ended import is_ended
from tests.support.live import LiveServer

PROGRESS_BYTES = 16 * 1024  # as in _fast/connections
LIMIT = 32 << 20
# A frame that stays unfinished: its length, and a plain header word.
UNFINISHED = struct.pack(">iI", 15 << 20, 100)
SIZE = 320_000


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    """A server with two reactors, which get connections in turn."""
    with LiveServer(tmp_path, **{"rocketns.incomingBytesMax": LIMIT}, **NO_TIME_LIMIT) as started:
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
        set_clock(self.server.reactors, self.now_ms)

    def send(self, part: Part, data: bytes, size: int) -> None:
        """After ``data`` the server holds so many bytes of this client."""
        self.move_clock()
        part.client.send(data)
        part.size = size
        eventually(lambda: self.server.reactors.incoming_bytes == self.total, every_s=0.001)

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
            eventually(lambda: server.reactors.incoming_bytes == crowd.total, every_s=0.001)
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
        attackers = crowd.fill(hosts(1))
        for part in attackers[:10]:
            crowd.push_out(part, host)
        assert not any(part.is_ended for part in others)


def test_small_hosts_lose_by_progress_alone(server: LiveServer) -> None:
    """A broker with much more than each of the others is closed after them."""
    with ExitStack() as stack:
        crowd = Crowd(server, stack)
        large = crowd.begin(crowd.connect(), LIMIT // HOST_PARTS - PROGRESS_BYTES)
        others = hosts(200)
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


# Control's queue is full: which connections may still hand over a frame, and when the others continue.

FIRST_FRAME_BYTES_MAX = 256 * 1024  # turns.pyx: of a connection that has no other frame at control
SMALL = frame(json_header(9999), bytes(200_000))
LARGE = frame(json_header(9999), bytes(FIRST_FRAME_BYTES_MAX))
CROWD = WAITING_BYTES_MAX // len(SMALL) + 8  # connections with a small frame each: more bytes than may wait


@pytest.fixture
def control_server(tmp_path: Path) -> Iterator[LiveServer]:
    with LiveServer(tmp_path, reactors=1) as started:
        yield started


@contextmanager
def control_is_busy(control_server: LiveServer) -> Iterator[list[Client]]:
    """Control is blocked inside the block, and the first frame of each of these connections waits for it."""
    reactors = control_server.reactors
    with ExitStack() as stack:
        crowd = [stack.enter_context(control_server.connect()) for _ in range(CROWD)]
        with control_server.held_still():
            for client in crowd:
                client.send(SMALL)
            eventually(lambda: reactors.queued_bytes >= CROWD * len(SMALL))
            yield crowd


def test_the_first_frame_of_every_connection_gets_to_control(control_server: LiveServer) -> None:
    """Also above the limit for waiting bytes: a quarter of incomingBytesMax is reserved for first frames."""
    with ExitStack() as stack:
        with control_is_busy(control_server):
            newcomer = stack.enter_context(control_server.connect())
            before = control_server.reactors.queued_bytes
            newcomer.send(SMALL)
            eventually(lambda: control_server.reactors.queued_bytes >= before + len(SMALL))
        assert newcomer.receive().code == REQUEST_CODE_NOT_SUPPORTED


def test_a_registered_broker_has_room_of_its_own(control_server: LiveServer) -> None:
    """For a frame of any size, while none of its frames is at control: half of incomingBytesMax."""
    reactors = control_server.reactors
    with control_server.connect() as broker:
        registered(broker, Names())
        with control_is_busy(control_server):
            before = reactors.queued_bytes
            broker.send(LARGE * 2)
            eventually(lambda: reactors.queued_bytes >= before + len(LARGE))
            eventually(lambda: reactors.incoming_bytes >= len(LARGE))
            assert reactors.queued_bytes < before + 2 * len(LARGE)
        assert [broker.receive().code for _ in range(2)] == [REQUEST_CODE_NOT_SUPPORTED] * 2


def test_registered_brokers_take_half_of_the_total(tmp_path: Path) -> None:
    """Beyond it their frames wait like those of others."""
    limit = 32 * MB
    with LiveServer(tmp_path, 1, **{"rocketns.incomingBytesMax": limit}) as control_server, ExitStack() as stack:
        reactors = control_server.reactors
        brokers = [stack.enter_context(control_server.connect()) for _ in range(5)]
        for broker in brokers:
            registered(broker, Names())
        with control_server.held_still():
            for number, broker in enumerate(brokers):
                broker.send(frame(json_header(9999), bytes(limit // 8)))
                sent = (number + 1) * limit // 8
                eventually(lambda sent=sent: reactors.queued_bytes + reactors.incoming_bytes > sent)
            eventually(lambda: reactors.incoming_bytes > limit // 8)
            eventually(lambda: reactors.queued_bytes > limit // 2)
            assert reactors.queued_bytes <= limit // 2 + MB
        assert [broker.receive().code for broker in brokers] == [REQUEST_CODE_NOT_SUPPORTED] * len(brokers)


def test_all_who_wait_for_room_go_on_when_control_caught_up(control_server: LiveServer) -> None:
    """Frames too large for the reserve, of connections that have no other frame at control."""
    reactors = control_server.reactors
    with ExitStack() as stack:
        with control_is_busy(control_server):
            waiting = [stack.enter_context(control_server.connect()) for _ in range(3)]
            for client in waiting:
                client.send(LARGE)
            eventually(lambda: reactors.incoming_bytes >= len(waiting) * len(LARGE))
            assert reactors.queued_bytes < CROWD * len(SMALL) + len(LARGE)
        assert [client.receive().code for client in waiting] == [REQUEST_CODE_NOT_SUPPORTED] * len(waiting)


# The buckets of hosts: what each may do in a second, in both versions, and that the two decide the same.

BOTH = pytest.mark.parametrize("kind", [HostRates, LimitedHosts])
NOW_MS = 1_000_000_000
FLOODER, QUIET = "10.0.0.1", "10.0.0.2"


def limited(kind: type[Rates], requests: int = 0, connections: int = 0) -> Rates:
    rates = kind()
    rates.limit(requests, connections)
    return rates


def asked(rates: Rates, host: str, count: int, now_ms: int = NOW_MS, *, is_broker: bool = False) -> int:
    """How many of so many requests are let through."""
    return sum(rates.may_ask(host, is_broker, now_ms) for _ in range(count))


@BOTH
def test_a_host_has_one_second_s_worth_at_once_and_so_much_again_in_each_second(kind: type[Rates]) -> None:
    """Evenly. Neither another host nor a registered broker beside it loses any."""
    rates = limited(kind, 10)
    assert asked(rates, FLOODER, 20) == 10
    assert [asked(rates, FLOODER, 9, NOW_MS + ms) for ms in (99, 100, 400)] == [0, 1, 3]
    assert asked(rates, FLOODER, 20, NOW_MS + 9_000) == 10  # a pause saves no more
    assert asked(rates, QUIET, 10) == 10
    assert asked(rates, FLOODER, 20, NOW_MS + 9_000, is_broker=True) == 10
    assert asked(limited(kind), FLOODER, 1_000) == 1_000


@BOTH
def test_more_hosts_than_there_are_places_do_not_free_the_one_that_floods(kind: type[Rates]) -> None:
    """They forget hosts whose tokens are back before: whoever asked once, not who asked for all."""
    rates = limited(kind, 100)
    assert asked(rates, FLOODER, 100) == 100
    for number in range(5 * reference.SETS * reference.PLACES):
        rates.may_ask(str(IPv4Address(number)), False, NOW_MS)
    assert asked(rates, FLOODER, 100) == 0


steps = st.lists(
    st.tuples(st.sampled_from([FLOODER, QUIET, "10.0.0.3"]), st.sampled_from([False, True, None]), st.integers(0, 700)),
    max_size=80,
)


@given(st.integers(0, 9), st.integers(0, 9), steps)
def test_both_versions_decide_the_same(
    requests: int, connections: int, steps: list[tuple[str, bool | None, int]]
) -> None:
    both: list[Rates] = [limited(kind, requests, connections) for kind in (HostRates, LimitedHosts)]
    now_ms = NOW_MS
    for host, is_broker, passed_ms in steps:
        now_ms += passed_ms
        decided = {
            one.may_connect(host, now_ms) if is_broker is None else one.may_ask(host, is_broker, now_ms) for one in both
        }
        assert len(decided) == 1
    assert sorted(both[0].drain_refused()) == sorted(both[1].drain_refused())
    assert both[0].refused == both[1].refused


# The compiled host of an address is that of the Python reference: connections of one host have one number.

IPV4 = st.builds(IPv4Address, st.integers(0, 2**32 - 1)).map(str)
IPV6 = st.builds(IPv6Address, st.integers(0, 2**128 - 1)).map(str)
SUBSCRIBER = st.builds(lambda rest: str(IPv6Address((0x2001_0DB8 << 96) + rest)), st.integers(0, 2**66))
MAPPED = IPV4.map(lambda address: f"::ffff:{address}")


@given(st.lists(st.one_of(IPV4, IPV6, SUBSCRIBER, MAPPED), min_size=2, max_size=8))
@example(["fe80::1%eth0", "fe80::2%eth1"])
@example(["10.0.0.1", "::ffff:10.0.0.1"])
@example(["::10.0.0.1", "10.0.0.1", "::1"])
def test_the_host_of_an_address(hosts: list[str]) -> None:
    table = LimitedHosts()
    numbers = {host_of(f"{host}:0"): table.claim(host) for host in hosts}
    assert [numbers[host_of(f"{host}:0")] for host in hosts] == [table.claim(host) for host in hosts]
    assert len(set(numbers.values())) == len(numbers)
