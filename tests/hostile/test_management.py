"""The management port beside strangers: its gate, its turns, what ended connections leave behind, and readiness."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any
from unittest.mock import Mock

import pytest
from aiohttp.web import BaseRequest, RequestHandler

from interop.harness.servers import NameServer as Process
from interop.harness.wire import eventually
from rocketns.addressserver import listing as listing_module
from rocketns.addressserver.listing import ReadyNameServers
from rocketns.addressserver.server import ANSWER_BYTES_MAX
from rocketns.client import name_server
from rocketns.client.name_server import NameServer
from rocketns.client.remoting_client import RemotingClient
from rocketns.config.tls import TlsConfig
from rocketns.journal.lookups import TOPIC_CHARS_MAX
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.encoding import encode_request
from rocketns.server.http.connections import CONNECTIONS_MAX, REQUESTS_PER_TURN_MAX, HttpConnection, HttpGate
from rocketns.server.http.secured import Secured
from rocketns.server.tls.connection import TlsStream
from tests.admin.conftest import Managed
from tests.support.tlsclient import any_server


def entered(at: HttpGate, host: str, *, is_answering: bool, unsent: int = 0) -> HttpConnection:
    """A connection of this host whose transport is not a real one."""
    transport = Mock(asyncio.Transport)
    transport.get_extra_info.return_value = (host, 1)
    transport.get_write_buffer_size.return_value = unsent
    guard = HttpConnection(at, Mock)
    guard.connection_made(transport)
    guard.is_answering = is_answering
    return guard


def ended(guard: HttpConnection) -> bool:
    assert guard.transport is not None
    return bool(guard.transport.abort.called)  # type: ignore[attr-defined]


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> HttpGate:
    at = HttpGate()
    monkeypatch.setattr(at, "now_s", lambda: 0.0)
    return at


@pytest.mark.parametrize("is_answering", [True, False])
def test_a_host_that_asks_for_much_does_not_end_the_request_of_another(full: HttpGate, is_answering: bool) -> None:
    """Also if the other's connection is the oldest of those that are answered, or the only one that waits."""
    probe = entered(full, PROBE, is_answering=is_answering)
    others = [entered(full, OTHER, is_answering=True) for _ in range(2 * CONNECTIONS_MAX)]
    assert [ended(guard) for guard in (probe, others[0])] == [False, True]


def test_the_oldest_waiting_connection_makes_room_if_hosts_are_many(full: HttpGate) -> None:
    """The host with the most has no more than a sixteenth, so it does not matter which."""
    answered = [entered(full, OTHER, is_answering=True) for _ in range(8)]
    waiting = [entered(full, f"10.0.1.{number}", is_answering=False) for number in range(CONNECTIONS_MAX)]
    assert [ended(guard) for guard in waiting[:9]] == [True] * 8 + [False]
    assert not any(map(ended, answered))


PROBE, OTHER = "10.0.0.1", "10.0.0.2"


class Port:
    """The connections of a gate, without sockets."""

    def __init__(self) -> None:
        self.gate = HttpGate()
        self.begun: list[str] = []  # the hosts whose requests aiohttp got

    def asks(self, host: str) -> HttpConnection:
        """A new connection with one request."""
        transport = Mock(asyncio.Transport, is_closing=lambda: False)
        transport.get_extra_info.return_value = (host, 1)
        guard = HttpConnection(self.gate, lambda: Mock(data_received=lambda _: self.begun.append(host)))
        guard.connection_made(transport)
        request = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
        guard.get_buffer(-1)[: len(request)] = request
        guard.buffer_updated(len(request))
        return guard


async def test_a_crowd_of_one_host_waits_for_the_probe_of_another() -> None:
    port = Port()
    crowd = [port.asks(OTHER) for _ in range(CONNECTIONS_MAX - 1)]
    await asyncio.sleep(0)
    port.asks(PROBE)
    await asyncio.sleep(0)
    assert PROBE in port.begun
    assert len(port.begun) <= 2 * REQUESTS_PER_TURN_MAX < len(crowd)


async def test_a_connection_that_ended_has_no_turn() -> None:
    port = Port()
    for _ in range(REQUESTS_PER_TURN_MAX):
        port.asks(PROBE).connection_lost(None)
    port.asks(PROBE)
    await asyncio.sleep(0)
    assert port.begun == [PROBE]


COUNT = 20
GET = b"GET %b HTTP/1.1\r\nHost: localhost\r\n%b\r\n"

REQUESTS = {
    "answered": GET % (b"/livez", b""),
    "not found": GET % (b"/nothing", b""),
    "not allowed": b"POST /livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "another host": GET.replace(b"localhost", b"evil.example") % (b"/", b""),
    "a wrong parameter": GET % (b"/api/v1/brokers?x=1", b""),
    "no change": b"POST /drainz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a body": GET % (b"/livez", b"Content-Length: 9000\r\n") + b"x" * 9000,
    "an upgrade": GET % (b"/livez", b"Connection: Upgrade\r\nUpgrade: websocket\r\n") + b"x" * 9000,
    "a tunnel": b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n" + b"x" * 9000,
    "no HTTP": b"\0\xff\r\n\r\n",
    "no end": b"GET /livez HTTP/1.1\r\nHost",
    "a stream": GET % (b"/api/v1/stream", b""),
    "a list": GET % (b"/api/v1/brokers", b""),
}


@pytest.fixture(scope="module", params=["plain", "tls", "no handshake"])
def kind(request: pytest.FixtureRequest) -> str:
    """Of the peers. Those without a handshake send their bytes to a port that has TLS."""
    return str(request.param)


@pytest.fixture(scope="module")
def managed(tmp_path_factory: pytest.TempPathFactory, kind: str) -> Iterator[Managed]:
    with Managed(tmp_path_factory.mktemp("managed"), {"rocketns.adminTls": str(kind != "plain").lower()}) as made:
        yield made


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def kept() -> list[object]:
    """Objects of connections, which hold all others of a connection."""
    kinds = HttpConnection | RequestHandler | BaseRequest | Secured | TlsStream
    return [one for one in gc.get_objects() if isinstance(one, kinds)]


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_a_connection_that_ended_is_freed_by_its_last_reference(managed: Managed, kind: str, request_: bytes) -> None:
    """Of peers that read a part of the answer, and of others that leave at once."""
    for number in range(COUNT):
        with ExitStack() as stack, suppress(OSError):
            peer: socket.socket = stack.enter_context(managed.http.connect())
            if kind == "tls":
                peer = stack.enter_context(any_server().wrap_socket(peer))
            peer.sendall(request_)
            if number % 2 and request_ != REQUESTS["no end"]:
                peer.recv(100)
    assert managed.admin is not None
    eventually(lambda: not managed.admin.gate.connections and not kept())


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the machine decides who is listed: a busy one may need more than the 2 s."""
    monkeypatch.setattr(listing_module, "ANSWER_WITHIN_S", 60.0)


async def probed(addr: str) -> tuple[bool, str | None]:
    """Whether the address server would list it now, and why `rocketns health` says that it is not ready."""
    client = RemotingClient(lambda: TlsConfig.read({}, {}), answer_bytes_max=ANSWER_BYTES_MAX)
    listing = ReadyNameServers(client, SerializeType.JSON)
    listing.set_addresses({addr: addr})
    await listing.ask_all()
    listed = listing.listed(asyncio.get_running_loop().time())
    why = await NameServer(client, addr, SerializeType.JSON, within_s=60.0).why_not_ready()
    client.close()
    return listed == (addr,), why


async def test_each_lookup_is_for_another_topic(monkeypatch: pytest.MonkeyPatch, server: Process) -> None:
    """So who sees one cannot register it in time. None is long enough for the journal to keep its name."""
    asked: list[str] = []

    def recorded(code: int, fields: dict[str, Any], serialize_type: SerializeType) -> tuple[int, bytes]:
        asked.append(fields["topic"])
        return encode_request(code, fields, serialize_type)

    monkeypatch.setattr(name_server, "encode_request", recorded)
    for _ in range(2):
        assert await probed(f"127.0.0.1:{server.port}") == (True, None)
    assert len({*asked}) == 4
    assert all(len(topic) > TOPIC_CHARS_MAX for topic in asked)
