"""How many brokers are asked, and for how long: a hostile name server chooses their addresses."""

from __future__ import annotations

import asyncio
from typing import cast

from rocketns.client.connection import NotSentError, RefusedError
from rocketns.client.remoting_client import RemotingClient
from rocketns.collect.polling import brokers
from rocketns.collect.polling.brokers import Brokers
from rocketns.collect.polling.upstream import Phase
from rocketns.routeinfo.events import BrokerDown
from tests.collect.polling.virtual import Bench, VirtualTime, on
from tests.tools.scripted import Scripted


class Network:
    """A client; addresses beginning with r refuse, those with s say nothing."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, str]] = []

    async def invoke(self, addr: str, _opaque: int, _frame: bytes, within_s: float, _bytes_max: int) -> None:
        self.asked.append((asyncio.get_running_loop().time(), addr))
        if addr.startswith("r"):
            raise RefusedError("connection refused")
        if addr.startswith("s"):
            await asyncio.sleep(within_s)
            raise NotSentError("no answer")

    def disconnect(self, _addr: str) -> None: ...


def test_few_brokers_are_asked_and_soon_given_up() -> None:
    network = Network()

    async def asking() -> tuple[dict[str, str], float]:
        began_s = asyncio.get_running_loop().time()
        said = await Brokers(cast(RemotingClient, network)).ask([f"s{number}:1" for number in range(10_000)])
        return said, asyncio.get_running_loop().time() - began_s

    with asyncio.Runner(loop_factory=VirtualTime) as runner:
        said, took_s = runner.run(asking())
    assert len(network.asked) == len(said) == brokers.ASKED_AT_ONCE_MAX
    assert took_s <= brokers.WITHIN_S + 0.01


def test_many_name_servers_that_lose_many_brokers_share_the_rate() -> None:
    network = Network()

    async def asking() -> int:
        shared = Brokers(cast(RemotingClient, network))
        said = await asyncio.gather(*(shared.ask([f"a{at}-{n}:1" for n in range(64)]) for at in range(16)))
        return sum(map(len, said))

    with asyncio.Runner(loop_factory=VirtualTime) as runner:
        answered = runner.run(asking())
    times_s = [at_s for at_s, _ in network.asked]
    assert max(times_s) - min(times_s) <= brokers.WITHIN_S
    assert answered == len(times_s) <= brokers.ASKS_PER_SECOND * brokers.WITHIN_S + 1


def test_a_broker_that_two_name_servers_lose_is_asked_once() -> None:
    network = Network()

    async def asking() -> list[dict[str, str]]:
        shared = Brokers(cast(RemotingClient, network))
        first = await shared.ask(["r:1", "a:1"])
        await asyncio.sleep(5)
        return [first, await shared.ask(["r:1"])]

    with asyncio.Runner(loop_factory=VirtualTime) as runner:
        assert runner.run(asking()) == [{"r:1": "refused", "a:1": "answered"}, {"r:1": "refused"}]
    assert len(network.asked) == 2


def test_what_a_broker_said_is_in_the_record_of_its_end() -> None:
    network = Network()
    script = Scripted({"a": "refusing:1", "b": "silent:1", "c": "answering:1"}, {})

    async def test(bench: Bench) -> None:
        await asyncio.sleep(12)
        assert bench.upstream.phase is Phase.WATCHED
        bench.server.script.brokers = {}
        await asyncio.sleep(10)
        said = {event.addr: event.asked for event, _, _ in bench.told(BrokerDown)}
        assert said == {"refusing:1": "refused", "silent:1": "silent", "answering:1": "answered"}

    on(lambda: Bench(script, brokers=Brokers(cast(RemotingClient, network))), test)
