"""Which name servers count as ready, and the addresses under which this server lists and asks itself."""

from __future__ import annotations

import asyncio

import pytest

from rocketns.addressserver import probing
from rocketns.addressserver.listing import LISTED_S, Listing
from rocketns.addressserver.own import asked_addresses
from rocketns.addressserver.probing import Probing
from rocketns.client.remoting_client import RemotingClient
from rocketns.config import DiscoveryConfig
from rocketns.protocol.codes import ResponseCode, SerializeType
from rocketns.protocol.command import RemotingCommand
from tests.client.peers import CLOSED, WAIT_S, Serve, answer, peer, run, serving


def answering(codes: list[int]) -> Serve:
    """A name server that answers lookups with these codes in order, then no longer answers."""

    def next_answer(request: RemotingCommand) -> bytes:
        assert request.code == 105
        return answer(request, codes.pop(0)) if codes else b""

    return serving(next_answer)


def listed_after(codes: list[int], monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether a name server with these answers is listed, after each of them."""
    monkeypatch.setattr(probing, "ANSWER_WITHIN_S", 30.0)
    found = []

    async def test(client: RemotingClient) -> None:
        listing = Listing(0.0)
        asking = Probing(client, listing, SerializeType.JSON)
        count = len(codes)
        async with peer(answering(codes)) as one:
            asking.set_addresses({"ns-1:9876": one.addr})
            for _ in range(count):
                await asking.ask_all()
                found.append(listing.listed(asyncio.get_running_loop().time()).addresses == ("ns-1:9876",))

    run(test)
    return found


@pytest.mark.parametrize("code", [ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST, ResponseCode.NO_PERMISSION])
def test_a_server_that_answers_lookups_is_ready(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without brokers: they must find it before they can register."""
    assert listed_after([code], monkeypatch) == [True]


@pytest.mark.parametrize("code", [ResponseCode.SYSTEM_ERROR, ResponseCode.GO_AWAY, 3])
def test_a_server_that_answers_no_lookup_is_no_longer_listed(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lookups get SYSTEM_ERROR during needWaitForService, and GO_AWAY during a graceful shutdown."""
    assert listed_after([0, code, 0], monkeypatch) == [True, False, True]


def test_a_busy_name_server_stays_listed_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    assert listed_after([ResponseCode.SYSTEM_BUSY, 0, ResponseCode.SYSTEM_BUSY], monkeypatch) == [False, True, True]


def test_one_that_is_silent_or_gone_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is listed while the silent one still has time to answer."""
    monkeypatch.setattr(probing, "ANSWER_WITHIN_S", 10 * WAIT_S)

    async def test(client: RemotingClient) -> None:
        listing = Listing(0.0)
        asking = Probing(client, listing, SerializeType.JSON)
        async with peer(answering([0])) as well, peer(answering([])) as silent:
            asking.set_addresses({"a:1": silent.addr, "b:1": well.addr, "c:1": CLOSED, "d:1": "no-such-host.invalid:1"})
            waiting = asyncio.ensure_future(asking.ask_all())
            while not (found := listing.listed(asyncio.get_running_loop().time()).addresses):
                await asyncio.sleep(0.001)
            assert (found, waiting.done()) == (("b:1",), False)
            waiting.cancel()

    run(test)


def test_the_time_that_an_answer_counts_is_some_probes() -> None:
    """One lost answer does not remove a server from the list."""
    assert LISTED_S > 2 * probing.EVERY_S + probing.ANSWER_WITHIN_S


PORT = 9876


@pytest.mark.parametrize(
    ("config", "bind_address", "asked"),
    [
        (DiscoveryConfig(), "127.0.0.1", {"127.0.0.1:9876": "127.0.0.1:9876"}),
        (DiscoveryConfig(), "fd00::1", {"[fd00::1]:9876": "[fd00::1]:9876"}),
        (DiscoveryConfig(), "[fd00::1]", {"[fd00::1]:9876": "[fd00::1]:9876"}),
        (DiscoveryConfig(), "0.0.0.0", {}),
        (DiscoveryConfig(announced_address="ns-1.example:30876"), "::", {"ns-1.example:30876": "127.0.0.1:9876"}),
        (DiscoveryConfig("192.0.2.1:9876"), "0.0.0.0", {"192.0.2.1:9876": "192.0.2.1:9876"}),
        (DiscoveryConfig("192.0.2.1:9876;localhost:9876"), "0.0.0.0",
         {"192.0.2.1:9876": "192.0.2.1:9876", "localhost:9876": "127.0.0.1:9876"}),
        (DiscoveryConfig("localhost:9876"), "127.0.0.1", {"localhost:9876": "127.0.0.1:9876"}),
        (DiscoveryConfig("localhost:9876", "ns-1.example:30876"), "", {"ns-1.example:30876": "127.0.0.1:9876"}),
        (DiscoveryConfig("localhost:9877"), "127.0.0.1",
         {"localhost:9877": "localhost:9877", "127.0.0.1:9876": "127.0.0.1:9876"}),
    ],
)  # fmt: skip
def test_the_server_itself_is_listed_by_one_address_and_asked_at_a_local_one(
    config: DiscoveryConfig, bind_address: str, asked: dict[str, str]
) -> None:
    """The server may not be able to reach its own announced address, for instance a mapped port."""
    assert asyncio.run(asked_addresses(config, bind_address, PORT)) == asked
