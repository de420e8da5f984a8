"""Asking unconfirmed brokers whether they are gone: whom the server reaches, what is proof, whose turn it is."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from ipaddress import ip_network
from types import SimpleNamespace
from typing import Any

import pytest

from rocketns.addresses import is_host_of
from rocketns.client import reach as reach_module
from rocketns.client.reach import ADDRESSES_MAX, ReachRules, Resolve, resolve
from rocketns.config import RestoreConfig
from rocketns.routeinfo import liveness
from rocketns.routeinfo.doubt import Doubt, DoubtReason
from rocketns.server.control.expiry import ASK_INTERVAL_MS, ASKS_AT_ONCE_MAX, OF_HOST_IN_TICK_MAX, Expiry
from tests.routeinfo.manager import MASTER, Manager, table_of
from tests.support.inprocess import FakeClock


@pytest.fixture
def free_port() -> Iterator[int]:
    """A port that refuses connections: it is bound, and nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


async def refuses(addr: str, resolver: Resolve = resolve) -> bool:
    reach = ReachRules([ip_network("127.0.0.0/8")], resolver)
    try:
        return await reach_module.refuses(reach, addr, None)
    finally:
        reach.close()


async def test_a_host_name_refuses_if_all_its_addresses_do(free_port: int) -> None:
    one = (socket.AF_INET, ("127.0.0.1", free_port))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        other = (socket.AF_INET, listening.getsockname())
        assert await refuses("broker-a:1", lambda _host, _port: [one, one])
        assert not await refuses("broker-a:1", lambda _host, _port: [one, other])
        assert not await refuses("broker-a:1", lambda _host, _port: [])
        assert not await refuses("broker-a:1", lambda _host, _port: [one] * 9)


class _World:
    """`Expiry` over tables with unconfirmed brokers ``a0:1``, ``a1:1`` …; each ask waits for `answer`."""

    def __init__(self, brokers: int) -> None:
        self.manager, self.clock = Manager(), FakeClock()
        self.expired: list[str] = []
        self.asked: list[str] = []
        self.answers: dict[str, asyncio.Future[bool]] = {}
        tables = self.manager.tables
        for number in range(brokers):
            broker = MASTER.but(name=f"b{number}", addr=f"a{number}:1")
            self.manager.register(broker, table_of("T1", "T2"))
            now_ms = self.clock.now().ms
            liveness.doubt_broker(
                tables, self.manager.key(broker), Doubt(DoubtReason.RESTORED, now_ms, now_ms + 10**9), now_ms
            )
        context = SimpleNamespace(tables=tables, configuration=SimpleNamespace(restore=RestoreConfig()))
        control = SimpleNamespace(unregister=lambda request: self.expired.append(request.addr))
        delivery = SimpleNamespace(deliver=lambda events, _now: self.manager.note(events))
        stalls, unused = SimpleNamespace(is_settled=True), None
        parts: Any = (context, self.clock, unused, stalls, delivery, control, unused, self._refuses)
        self.expiry = Expiry(*parts)

    async def _refuses(self, addr: str, _announced_by: str | None) -> bool:
        self.asked.append(addr)
        self.answers[addr] = asyncio.get_running_loop().create_future()
        return await self.answers[addr]

    async def tick(self, ms: int = 0) -> None:
        self.clock.advance(ms)
        self.expiry.confirm()
        await self.settle()

    async def answer(self, addr: str, *, refused: bool) -> None:
        self.answers.pop(addr).set_result(refused)
        await self.settle()

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


async def test_it_asks_each_address_once_and_again_after_a_while() -> None:
    world = _World(2)
    await world.tick()
    assert world.asked == ["a0:1", "a1:1"]
    await world.tick(100 * ASK_INTERVAL_MS)
    assert len(world.asked) == 2, "asked again before the answer came"
    await world.answer("a0:1", refused=False)
    await world.answer("a1:1", refused=False)
    await world.tick(ASK_INTERVAL_MS - 1)
    assert len(world.asked) == 2
    await world.tick(1)
    assert sorted(world.asked[2:]) == ["a0:1", "a1:1"]
    assert world.expired == []


async def test_a_host_with_many_brokers_delays_no_other() -> None:
    """Hosts take turns, and one that announced many has some asked in each tick."""

    world = _World(OF_HOST_IN_TICK_MAX + 9)
    keys = [*world.manager.tables.unconfirmed]
    for key in keys[:-1]:
        world.manager.tables.unconfirmed[key].announced_by = "10.0.0.1"
    await world.tick()
    assert world.asked[:3] == [keys[0].addr, keys[-1].addr, keys[1].addr]
    assert len(world.asked) == ASKS_AT_ONCE_MAX
    while world.answers:
        await world.answer(next(iter(world.answers)), refused=False)
    assert len(world.asked) == OF_HOST_IN_TICK_MAX + 1


@pytest.mark.parametrize(
    ("addr", "host"),
    [
        ("10.0.0.1:1", "10.0.0.1"), ("[2001:db8::1]:1", "2001:db8::1"), ("2001:db8::1:1", "2001:db8::1"),
        ("[::ffff:10.0.0.1]:1", "10.0.0.1"), ("[fe80::1%eth0]:1", "fe80::1%eth0"),
        ("169.254.1.1:1", "169.254.1.1"),
    ],
)  # fmt: skip
def test_the_host_that_announced_it(addr: str, host: str) -> None:
    assert is_host_of(addr, host)
    assert not ReachRules().is_out(addr, host)


@pytest.mark.parametrize(
    ("addr", "host"),
    [
        ("10.0.0.2:1", "10.0.0.1"), ("10.0.0.1:1", None), ("[2001:db8::2]:1", "2001:db8::1"), ("[::]:1", "::1"),
        ("[fe80::1%eth1]:1", "fe80::1%eth0"), ("[64:ff9b::a9fe:a9fe]:1", "64:ff9b::1"), ("0.0.0.0:1", "127.0.0.1"),
        ("169.254.169.254:80", "10.0.0.1"),
    ],
)  # fmt: skip
def test_any_other_host(addr: str, host: str | None) -> None:
    """Not its neighbours either."""
    assert not is_host_of(addr, host)
    assert ReachRules().is_out(addr, host)


@pytest.mark.parametrize(
    ("addr", "network", "is_in"),
    [
        ("10.1.2.3:1", "10.0.0.0/8", True), ("11.1.2.3:1", "10.0.0.0/8", False), ("10.1.2.3:1", "0.0.0.0/0", True),
        ("[2001:db8::1]:1", "2001:db8::/32", True), ("[::ffff:10.1.2.3]:1", "10.0.0.0/8", True),
        ("127.0.0.1:1", "0.0.0.0/0", False), ("127.0.0.1:1", "127.0.0.1/32", True), ("[::1]:1", "::/0", False),
        ("169.254.169.254:80", "0.0.0.0/0", False), ("169.254.169.254:80", "169.254.0.0/16", True),
        ("[fe80::1]:1", "::/0", False), ("[fe80::1]:1", "fe80::/10", True), ("0.0.0.0:1", "0.0.0.0/0", False),
        ("[::]:1", "::/0", False), ("224.0.0.1:1", "0.0.0.0/0", False), ("[::ffff:127.0.0.1]:1", "::/0", False),
    ],
)  # fmt: skip
def test_networks_of_the_operator(addr: str, network: str, is_in: bool) -> None:
    assert ReachRules([ip_network(network)]).is_out(addr, "192.0.2.1") is not is_in


@pytest.mark.parametrize(
    ("found", "is_reached"),
    [(["10.0.0.1"], True), (["10.0.0.1", "10.0.0.2"], False), ([], False), (["10.0.0.1"] * ADDRESSES_MAX, True),
     (["10.0.0.1"] * (ADDRESSES_MAX + 1), False)],
)  # fmt: skip
async def test_a_name_is_judged_by_all_its_addresses(found: list[str], is_reached: bool) -> None:
    reach = ReachRules(resolver=lambda _host, port: [(socket.AF_INET, (one, port)) for one in found])
    assert bool(await reach.addresses("broker-a:1", "10.0.0.1")) is is_reached
    reach.close()
