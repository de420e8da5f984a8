"""What connections of the management port leave behind, where the garbage collector never runs."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from aiohttp.web import BaseRequest, RequestHandler

from interop.harness.wire import eventually
from rocketns.admin.gate import Guard
from rocketns.server.http.secured import Secured, SecuredTransport
from rocketns.server.tls.connection import TlsStream
from tests.admin.conftest import Managed
from tests.support.tlsclient import any_server

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


@pytest.fixture(scope="module")
def managed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Managed]:
    made = Managed(tmp_path_factory.mktemp("managed"))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Managed]:
    made = Managed(tmp_path_factory.mktemp("secured"), {"rocketns.adminTls": "true"})
    yield made
    made.stop()


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def kept() -> list[object]:
    """Objects of connections, which hold all others of a connection."""
    kinds = Guard | RequestHandler | BaseRequest | Secured | SecuredTransport | TlsStream
    return [one for one in gc.get_objects() if isinstance(one, kinds)]


def ask(managed: Managed, request: bytes, *, reads: bool) -> None:
    with managed.http.connect() as peer:
        peer.settimeout(2)
        with suppress(OSError):
            peer.sendall(request)
            if reads:
                peer.recv(100)


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("reads", [True, False], ids=["reads", "leaves"])
@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_a_connection_that_ended_is_freed_by_its_last_reference(
    managed: Managed, request_: bytes, *, reads: bool
) -> None:
    for _ in range(COUNT):
        ask(managed, request_, reads=reads and request_ != REQUESTS["no end"])
    eventually(lambda: not managed.admin.gate.connections)  # type: ignore[union-attr]
    eventually(lambda: not kept())


@pytest.mark.usefixtures("no_collection")
def test_connections_that_end_during_a_stall_are_freed(tmp_path: Path) -> None:
    managed = Managed(tmp_path)
    goes_on = threading.Event()
    managed.loop.call_soon_threadsafe(goes_on.wait, 60)
    try:
        for _ in range(COUNT):
            ask(managed, REQUESTS["a list"], reads=False)
        eventually(lambda: not kept())
    finally:
        goes_on.set()
        managed.stop()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("request_", [*REQUESTS.values(), b""], ids=[*REQUESTS, "nothing"])
def test_a_tls_connection_that_ended_is_freed_by_its_last_reference(secured: Managed, request_: bytes) -> None:
    for number in range(COUNT):
        with secured.http.connect() as raw, suppress(OSError), any_server().wrap_socket(raw) as peer:
            peer.settimeout(2)
            peer.sendall(request_)
            if number % 2 and request_ not in (b"", REQUESTS["no end"]):
                peer.recv(100)
    eventually(lambda: not secured.admin.gate.connections)  # type: ignore[union-attr]
    eventually(lambda: not kept())


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01\x02\x00", b"GET / HTTP/1.1\r\n\r\n"])
def test_a_handshake_that_was_left_is_freed_by_its_last_reference(secured: Managed, sent: bytes) -> None:
    for _ in range(COUNT):
        with secured.http.connect() as peer:
            peer.sendall(sent)
    eventually(lambda: not secured.admin.gate.connections)  # type: ignore[union-attr]
    eventually(lambda: not kept())
