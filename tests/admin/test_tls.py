"""The management port with TLS, over real sockets."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from interop.harness.wire import eventually
from rocketns.errors import StartupError
from rocketns.server.http import connections
from rocketns.server.http.heads import HEAD_BYTES_MAX
from tests.admin.conftest import Managed
from tests.support.certificates import Files, Identity, authority
from tests.support.tlsclient import REFUSED, any_server
from tests.support.tlsfiles import tls_properties, verifying

GET = b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def ours() -> Identity:
    return authority("ours")


@pytest.fixture
def files(ours: Identity, tmp_path: Path) -> Files:
    return Files.write(tmp_path / "tls", ours.issue("localhost"))


@pytest.fixture
def secured(start_managed: Callable[..., Managed], files: Files) -> Managed:
    return start_managed(tls_properties(files) | {"rocketns.adminTls": "true"})


def connect(managed: Managed, identity: Files | None = None) -> ssl.SSLSocket:
    return any_server(identity).wrap_socket(managed.http.connect())


def ask(managed: Managed, path: str = "/livez", identity: Files | None = None) -> int:
    asked = HTTPSConnection("127.0.0.1", managed.http.port, timeout=60, context=any_server(identity))
    try:
        asked.request("GET", path)
        answer = asked.getresponse()
        answer.read()
        return answer.status
    finally:
        asked.close()


def test_new_files_are_served_without_a_restart(secured: Managed, files: Files, ours: Identity) -> None:
    """And a connection from before goes on."""
    new = ours.issue("localhost")
    with connect(secured) as before:
        Files.write(files.folder, new)
        secured.call(secured.controller.tls.check_files)
        eventually(lambda: _certificate(secured) == new.der)
        before.sendall(GET % b"/livez")
        assert before.recv(12) == b"HTTP/1.1 200"


def _certificate(managed: Managed) -> bytes | None:
    with connect(managed) as peer:
        return peer.getpeercert(binary_form=True)


def test_client_certificates_are_asked_for_as_at_the_name_servers_port(
    start_managed: Callable[..., Managed], ours: Identity, tmp_path: Path
) -> None:
    managed = start_managed(verifying(tmp_path / "server", ours, "require") | {"rocketns.adminTls": "true"})
    own = Files.write(tmp_path / "own", ours.issue("operator"))
    other = Files.write(tmp_path / "other", authority("others").issue("operator"))
    assert ask(managed, identity=own) == 200
    for identity in (None, other):
        with pytest.raises(REFUSED):
            ask(managed, identity=identity)


@pytest.mark.parametrize("what", ["missing", "nonsense"])
def test_a_server_without_a_usable_certificate_does_not_start(
    start_managed: Callable[..., Managed], files: Files, what: str
) -> None:
    """Java's port goes on without TLS if a file is missing. A port that takes TLS alone cannot."""
    files.certificate.unlink() if what == "missing" else files.certificate.write_text("nonsense")
    with pytest.raises(StartupError, match=r"TLS cannot be set up: .*certificate\.pem"):
        start_managed(tls_properties(files) | {"rocketns.adminTls": "true"})


def test_a_peer_that_sends_more_than_it_is_answered_waits(secured: Managed) -> None:
    """A stream has no end, so what follows its request is never read."""
    assert secured.admin is not None
    with connect(secured) as peer:
        peer.sendall(GET % b"/api/v1/stream")
        assert peer.recv(100).startswith(b"HTTP/1.1 200")
        peer.sendall(b"x" * (HEAD_BYTES_MAX + 1))
        [guard] = secured.admin.gate._guards.values()
        eventually(lambda: guard._size == HEAD_BYTES_MAX)
        assert guard.transport is not None
        eventually(lambda: not guard.transport.is_reading())


@pytest.mark.parametrize("sent", [b"", b"\x16"])
def test_a_handshake_that_does_not_end_is_cut_off(
    secured: Managed, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    """It has the time of a first header, and counts as a connection."""
    monkeypatch.setattr(connections, "HEADER_WITHIN_S", 0.3)
    assert secured.admin is not None
    with secured.http.connect() as peer:
        peer.sendall(sent)
        with suppress(ConnectionError):
            assert peer.recv(1) == b""
    assert secured.admin.gate.closed_late == 1
