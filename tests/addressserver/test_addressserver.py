"""The address server: who is listed, how that is found out, what hostile peers can hold, and what all clients get."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from unittest import mock

import pytest

from interop.harness import codes
from interop.harness.ports import free_port
from interop.harness.servers import RocketnsServer
from interop.harness.wire import eventually
from rocketns.addressserver import listing as listing_module
from rocketns.addressserver import server as server_module
from rocketns.addressserver.listing import LISTED_S, STALE_S, ReadyNameServers, asked_addresses
from rocketns.addressserver.server import REQUESTS_PER_S_MAX, AddressServer
from rocketns.config import Configuration, DiscoveryConfig
from rocketns.protocol.codes import ResponseCode, SerializeType
from rocketns.protocol.command import RemotingCommand
from rocketns.server.http.connections import HttpGate
from tests.client.peers import CLOSED, WAIT_S, Serve, answer, peer, remoting, serving
from tests.support.certificates import Files, authority
from tests.support.starting import stopped_after
from tests.support.tlsclient import any_server
from tests.support.tlsfiles import tls_properties


def among(listing: ReadyNameServers, *addrs: str) -> None:
    """Each is asked at its own address."""
    listing.set_addresses(dict(zip(addrs, addrs, strict=True)))


@pytest.fixture
def listing() -> ReadyNameServers:
    made = ReadyNameServers(mock.Mock(), SerializeType.JSON)
    among(made, "ns-2:9876", "ns-1:9876")
    return made


def test_the_last_list_is_kept_for_a_stated_time_if_all_fall_silent(listing: ReadyNameServers) -> None:
    listing.answered("ns-1:9876", 100.0)
    listing.answered("ns-2:9876", 103.0)
    assert listing.listed(103.0 + LISTED_S) == ("ns-2:9876",)
    for silent_s in (LISTED_S + 1.0, STALE_S):
        assert listing.listed(103.0 + silent_s) == ("ns-1:9876", "ns-2:9876")
    assert listing.listed(104.0 + STALE_S) == ()
    listing.answered("ns-2:9876", 105.0 + STALE_S)
    assert listing.listed(105.0 + STALE_S) == ("ns-2:9876",)


def test_one_answer_ends_the_keeping(listing: ReadyNameServers) -> None:
    for addr in ("ns-1:9876", "ns-2:9876"):
        listing.answered(addr, 100.0)
    assert len(listing.listed(120.0)) == 2
    listing.answered("ns-2:9876", 121.0)
    assert listing.listed(121.0) == ("ns-2:9876",)


def test_a_server_that_was_silent_first_or_is_not_ready_is_not_kept(listing: ReadyNameServers) -> None:
    among(listing, "ns-1:9876", "ns-2:9876", "ns-3:9876", "ns-4:9876")
    listing.answered("ns-1:9876", 100.0)
    for addr in ("ns-2:9876", "ns-3:9876", "ns-4:9876"):
        listing.answered(addr, 101.0 + LISTED_S)
    listing.refused("ns-3:9876")
    among(listing, "ns-1:9876", "ns-2:9876", "ns-3:9876")
    assert listing.listed(102.0 + 2 * LISTED_S) == ("ns-2:9876",)


def test_a_new_list_of_peers_keeps_what_is_known(listing: ReadyNameServers) -> None:
    listing.answered("ns-1:9876", 100.0)
    listing.answered("ns-2:9876", 100.0)
    among(listing, "ns-3:9876", "ns-1:9876")
    assert listing.listed(100.0) == ("ns-1:9876",)
    for call in (lambda: listing.answered("ns-2:9876", 100.0), lambda: listing.refused("ns-2:9876")):
        call()  # an answer to an earlier question
        assert listing.listed(100.0) == ("ns-1:9876",)


def answering(codes: list[int]) -> Serve:
    """A name server that answers lookups with these codes in order, then no longer answers."""

    def next_answer(request: RemotingCommand) -> bytes:
        assert request.code == 105
        return answer(request, codes.pop(0)) if codes else b""

    return serving(next_answer)


async def listed_after(codes: list[int], monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether a name server with these answers is listed, after each of them."""
    monkeypatch.setattr(listing_module, "ANSWER_WITHIN_S", 30.0)
    found, count = [], len(codes)
    async with remoting() as client, peer(answering(codes)) as one:
        listing = ReadyNameServers(client, SerializeType.JSON)
        listing.set_addresses({"ns-1:9876": one.addr})
        for _ in range(count):
            await listing.ask_all()
            found.append(listing.listed(asyncio.get_running_loop().time()) == ("ns-1:9876",))
    return found


@pytest.mark.parametrize("code", [ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST, ResponseCode.NO_PERMISSION])
async def test_a_server_that_answers_lookups_is_ready(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also without brokers: they must find it before they can register."""
    assert await listed_after([code], monkeypatch) == [True]


@pytest.mark.parametrize("code", [ResponseCode.SYSTEM_ERROR, ResponseCode.GO_AWAY, 3])
async def test_a_server_that_answers_no_lookup_is_no_longer_listed(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lookups get SYSTEM_ERROR during needWaitForService, and GO_AWAY during a graceful shutdown."""
    assert await listed_after([0, code, 0], monkeypatch) == [True, False, True]


async def test_a_busy_name_server_stays_listed_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await listed_after([ResponseCode.SYSTEM_BUSY, 0, ResponseCode.SYSTEM_BUSY], monkeypatch) == [
        False,
        True,
        True,
    ]


async def test_one_that_is_silent_or_gone_delays_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is listed while the silent one still has time to answer."""
    monkeypatch.setattr(listing_module, "ANSWER_WITHIN_S", 10 * WAIT_S)

    async with remoting() as client, peer(answering([0])) as well, peer(answering([])) as silent:
        listing = ReadyNameServers(client, SerializeType.JSON)
        listing.set_addresses({"a:1": silent.addr, "b:1": well.addr, "c:1": CLOSED, "d:1": "no-such-host.invalid:1"})
        waiting = asyncio.ensure_future(listing.ask_all())
        while not (found := listing.listed(asyncio.get_running_loop().time())):
            await asyncio.sleep(0)
        assert (found, waiting.done()) == (("b:1",), False)
        waiting.cancel()


PORT = 9876


@pytest.mark.parametrize(
    ("config", "bind_address", "asked"),
    [
        (DiscoveryConfig(), "127.0.0.1", {"127.0.0.1:9876": "127.0.0.1:9876"}),
        (DiscoveryConfig(), "fd00::1", {"[fd00::1]:9876": "[fd00::1]:9876"}),
        (DiscoveryConfig(), "0.0.0.0", {}),
        (DiscoveryConfig(announced_address="ns-1.example:30876"), "::", {"ns-1.example:30876": "127.0.0.1:9876"}),
        (DiscoveryConfig("192.0.2.1:9876;localhost:9876"), "0.0.0.0",
         {"192.0.2.1:9876": "192.0.2.1:9876", "localhost:9876": "127.0.0.1:9876"}),
        (DiscoveryConfig("localhost:9876"), "127.0.0.1", {"localhost:9876": "127.0.0.1:9876"}),
        (DiscoveryConfig("localhost:9876", "ns-1.example:30876"), "", {"ns-1.example:30876": "127.0.0.1:9876"}),
        (DiscoveryConfig("localhost:9877"), "127.0.0.1",
         {"localhost:9877": "localhost:9877", "127.0.0.1:9876": "127.0.0.1:9876"}),
    ],
)  # fmt: skip
async def test_the_server_itself_is_listed_by_one_address_and_asked_at_a_local_one(
    config: DiscoveryConfig, bind_address: str, asked: dict[str, str]
) -> None:
    """The server may not be able to reach its own announced address, for instance a mapped port."""
    assert await asked_addresses(config, bind_address, PORT) == asked


async def test_no_more_requests_are_answered_in_a_second_than_stated() -> None:
    """By the times for which the loop is told to wait."""
    pauses_s: list[float] = []
    count = 10

    loop, gate, begun = asyncio.get_running_loop(), HttpGate(requests_per_s_max=REQUESTS_PER_S_MAX), list[object]()

    def soon(delay_s: float, step: Callable[[], None]) -> None:
        pauses_s.append(delay_s)
        loop.call_soon(step)

    with mock.patch.object(loop, "call_later", soon):
        for _ in range(count):
            guard = mock.Mock(host="a", next_turn=lambda: begun.append(None))
            gate.turns.want(guard)
        while len(begun) < count:
            await asyncio.sleep(0)
    assert sum(pauses_s) >= count / REQUESTS_PER_S_MAX


Start = Callable[..., RocketnsServer]


@pytest.fixture
def start(tmp_path: Path, request: pytest.FixtureRequest) -> Start:
    """Start a rocketns with these properties; it is stopped after the test."""
    homes = (tmp_path / f"ns{number}" for number in itertools.count())
    return stopped_after(request, lambda properties=None: RocketnsServer(next(homes), properties))


def ask(port: int, path: str = "/rocketmq/nsaddr", method: str = "GET") -> tuple[int, str]:
    """Status and body."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        assert answer.getheader("Connection") == "close"
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def lists(port: int, listed: str) -> None:
    """Wait for this answer: a name server that took more than 2 s for the first lookup is asked again after 3 s."""
    eventually(lambda: ask(port) == (200, listed))


def test_the_ready_name_servers_are_listed_at_the_paths_of_all_clients(start: Start) -> None:
    port = free_port()
    server = start({"rocketns.addressServer": port})
    lists(port, f"127.0.0.1:{server.port}")
    asked = ("nsaddr", "nsaddr-unit1?nofix=1", "nsaddr-unit1?nofix=1&k=v", "nsaddr?k=v", "other")
    for path in asked:
        assert ask(port, f"/rocketmq/{path}") == (200, f"127.0.0.1:{server.port}")
    assert ask(port, method="HEAD") == (200, "")
    for path in ("/", "/rocketmq/", "/rocketmq/a/b", "/nsaddr", "/rocketmq/../../etc/passwd"):
        assert ask(port, path) == (404, "")
    assert ask(port, method="POST") == (405, "")


def test_a_second_name_server_is_listed_without_a_restart(start: Start) -> None:
    """The operator adds it to rocketns.peers and sends SIGHUP. The server lists itself by its announced address."""
    port = free_port()
    first = start({"rocketns.addressServer": port, "rocketns.announcedAddress": "ns-1.example:30876"})
    lists(port, "ns-1.example:30876")
    second = start()
    with first.config_path.open("a") as file:
        file.write(f"rocketns.peers=127.0.0.1:{first.port};127.0.0.1:{second.port}\n")
    first.process.signal(signal.SIGHUP)
    lists(port, f"127.0.0.1:{second.port};ns-1.example:30876")


@pytest.mark.parametrize("is_later", [False, True])
def test_a_round_that_fails_ends_nothing(
    is_later: bool, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a name that no resolver takes."""
    port, asked_at = free_port(), f"127.0.0.1:{start().port}"
    rounds: list[dict[str, str]] = [{"ns-1:9876": asked_at}] * is_later

    async def addresses(*_: object) -> dict[str, str]:
        if rounds:
            return rounds.pop()
        rounds.append({"ns-2:9876": asked_at})
        raise UnicodeError("label too long")

    monkeypatch.setattr(server_module, "asked_addresses", addresses)
    monkeypatch.setattr(server_module, "EVERY_S", 0.01)
    properties = tmp_path / "address.properties"
    properties.write_text(f"bindAddress=127.0.0.1\nrocketns.addressServer={port}\n")
    server = AddressServer(Configuration.build(str(properties), home=tmp_path), PORT, mock.Mock())
    server.serve()
    try:
        if is_later:
            lists(port, "ns-1:9876")
            server.reread()
        lists(port, "ns-2:9876")
    finally:
        server.stop()


def test_a_changed_listen_port_does_not_change_what_is_listed(start: Start) -> None:
    """Request 318 changes what request 319 shows, as in Java, and not where the server listens."""
    port = free_port()
    server = start({"rocketns.addressServer": port})
    with server.connect() as stranger:
        stranger.request(codes.UPDATE_NAMESRV_CONFIG, body=b"listenPort=-1\nbindAddress=10.0.0.1\n")
    server.process.signal(signal.SIGHUP)
    server.process.wait_for(r"the address server asks 127.0.0.1:\d+ whether[\s\S]*the address server asks .*")
    assert server.process.text().count(f"asks 127.0.0.1:{server.port} whether") == 2
    lists(port, f"127.0.0.1:{server.port}")


def test_a_name_server_that_is_not_ready_is_not_listed(start: Start) -> None:
    """An empty answer with status 503: clients and brokers keep the list that they have."""
    port = free_port()
    start({"rocketns.addressServer": port, "needWaitForService": "true"})
    assert ask(port) == (503, "")


def test_it_takes_tls_alone_where_a_property_says_so(start: Start, tmp_path: Path) -> None:
    """With the certificate of the name server; who asks over plain HTTP gets nothing."""
    identity = authority("ours").issue("localhost")
    files = Files.write(tmp_path / "tls", identity)
    port = free_port()
    server = start(tls_properties(files) | {"rocketns.addressServer": port, "rocketns.addressServerTls": "true"})

    def asked_over_tls() -> bytes:
        asked = HTTPSConnection("127.0.0.1", port, timeout=60, context=any_server())
        asked.request("GET", "/rocketmq/nsaddr")
        assert asked.sock.getpeercert(binary_form=True) == identity.der
        return asked.getresponse().read()

    eventually(lambda: asked_over_tls() == f"127.0.0.1:{server.port}".encode())
    with pytest.raises((HTTPException, ConnectionError)):
        ask(port)
