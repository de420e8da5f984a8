"""What strangers without a token take of a management port with TLS, and of an address server with TLS."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from interop.harness.ports import free_port
from interop.harness.servers import NameServer
from interop.harness.wire import eventually
from tests.hostile.conftest import assert_nothing_unforeseen, spare_the_machine
from tests.hostile.ports.conftest import Ports
from tests.hostile.watch import MB, Watch, costs_at_most
from tests.support.certificates import Files, authority
from tests.support.tlsclient import any_server
from tests.support.tlsfiles import as_options, tls_properties

# Both HTTP ports have threads of their own, with reactors and without.

TOKEN = "token-of-probe-0123456789"
WAVES, IN_WAVE, LIVING = 3, 64, 60
GROWTH_MAX = 24 * MB
LIVING_GROWTH_MAX = 12 * MB  # 80 KB of OpenSSL for each, and its own
HEADS = {
    "no token": b"GET /api/v1/brokers HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a wrong token": b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\n\r\n" % (b"x" * 500),
    "a huge token": b"GET /livez HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + b"x" * MB,
    "many tokens": b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + b"Authorization: Bearer x\r\n" * 60_000,
    "requests at once": b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20_000,
}


def client_hello() -> bytes:
    """The first bytes of a handshake. To send them again costs nothing, and the server makes a signature each time."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        any_server().wrap_bio(incoming, outgoing).do_handshake()
    return outgoing.read()


HANDSHAKES = {
    "a hello": client_hello(),
    "half a hello": client_hello()[:100],
    "a hello and more": client_hello() + b"x" * MB,
    "a record without end": b"\x16\x03\x01\x40\x00" + b"\x01\x00\xff\xff" + b"x" * MB,
    "no TLS": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + b"x" * MB,
}


@pytest.fixture(scope="module")
def ports(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ports]:
    """Both ports with TLS. At the end, no request may have caused an unexpected error."""
    folder = tmp_path_factory.mktemp("secured")
    (folder / "tokens").write_text(f"probe {TOKEN}\n")
    files = Files.write(folder / "tls", authority("ours").issue("localhost"))
    by_name = {"management": free_port(), "addresses": free_port()}
    given = {"rocketns.adminPort": by_name["management"], "rocketns.addressServer": by_name["addresses"],
             "rocketns.adminTls": "true", "rocketns.addressServerTls": "true",
             "rocketns.adminTokensFile": folder / "tokens"}  # fmt: skip
    server = server_class(Path(tmp_path_factory.mktemp("ns")), given, options=as_options(tls_properties(files)))
    spare_the_machine(server)
    eventually(lambda: is_alive(by_name["management"]))
    yield Ports(server, by_name)
    assert is_alive(by_name["management"])
    assert server.stop() == 0
    assert_nothing_unforeseen(server)


def is_alive(port: int) -> bool:
    with suppress(OSError), any_server().wrap_socket(socket.create_connection(("127.0.0.1", port), 60)) as peer:
        peer.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %b\r\n\r\n" % TOKEN.encode())
        return peer.recv(12) == b"HTTP/1.1 200"
    return False


def sent(peer: socket.socket, data: bytes) -> socket.socket:
    """As much of this as the server takes before it closes or waits."""
    peer.settimeout(1)
    with suppress(OSError):
        peer.sendall(data)
    return peer


def opened(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 60)


@pytest.mark.parametrize("hello", HANDSHAKES.values(), ids=HANDSHAKES)
@pytest.mark.parametrize("name", ["management", "addresses"])
def test_waves_of_handshakes_leave_nothing(ports: Ports, name: str, hello: bytes) -> None:
    with costs_at_most(ports.server, GROWTH_MAX):
        for _ in range(WAVES):
            with ExitStack() as stack:
                for _ in range(IN_WAVE):
                    stack.enter_context(sent(opened(ports.by_name[name]), hello))


@pytest.mark.parametrize("hello", HANDSHAKES.values(), ids=HANDSHAKES)
@pytest.mark.parametrize("name", ["management", "addresses"])
def test_handshakes_that_hang_hold_what_openssl_needs(ports: Ports, name: str, hello: bytes) -> None:
    watch = Watch(ports.server)
    with ExitStack() as stack:
        for _ in range(LIVING):
            stack.enter_context(sent(opened(ports.by_name[name]), hello))
        growth = watch.peak_growth()
    assert growth <= LIVING_GROWTH_MAX, f"{growth / MB:.1f} MB for {LIVING} connections"


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_waves_of_requests_without_the_right_token_leave_nothing(ports: Ports, head: bytes) -> None:
    with costs_at_most(ports.server, GROWTH_MAX):
        for _ in range(WAVES):
            with ExitStack() as stack:
                for _ in range(IN_WAVE):
                    peer = stack.enter_context(any_server().wrap_socket(opened(ports.by_name["management"])))
                    sent(peer, head)
                    with suppress(OSError):
                        assert peer.recv(9) in (b"HTTP/1.1 ", b"")
