"""Principals that are known by the certificate of their TLS connection."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from interop.harness.servers import NameServer
from interop.harness.wire import Client, frame, json_header
from tests.access.conftest import StartGuarded
from tests.support.certificates import Files, Identity, authority
from tests.support.tlsclient import TlsClient, TlsPeer, any_server
from tests.support.tlsfiles import as_options, tls_properties, write_properties

REFUSED = 16
RECEIVED_MAX = 64 * 1024
POLICY = """
    [modes]
    admin = "enforce"
    [principals.operator]
    certificates = ["CN=operator*"]
    may = ["admin"]
"""


@pytest.fixture(scope="module")
def ours() -> Identity:
    return authority("ours")


def start(start_guarded: StartGuarded, tmp_path: Path, ours: Identity, auth_client: str) -> NameServer:
    trust = tmp_path / "trust.pem"
    trust.write_bytes(ours.certificate_pem())
    more = {"need.client.auth": "optional", "authClient": auth_client, "trustCertPath": str(trust)}
    files = Files.write(tmp_path / "server", ours.issue("server"))
    return start_guarded(POLICY, options=as_options(tls_properties(files, **more)))


def wipe(server: NameServer, files: Files | None) -> int:
    """The answer's code."""
    with TlsClient(server.port, context=any_server(files)) as client:
        return client.request(205, {"brokerName": "b"}).code


def test_holder_of_a_certificate_may_what_its_subject_may(
    start_guarded: StartGuarded, tmp_path: Path, ours: Identity
) -> None:
    server = start(start_guarded, tmp_path, ours, "true")
    assert wipe(server, Files.write(tmp_path / "a", ours.issue("operator-1"))) == 0
    assert wipe(server, Files.write(tmp_path / "b", ours.issue("client"))) == REFUSED
    assert wipe(server, None) == REFUSED


def test_certificate_that_nobody_verifies_is_no_evidence(
    start_guarded: StartGuarded, tmp_path: Path, ours: Identity
) -> None:
    """With tls.server.authClient=false any certificate is taken, also one that a peer made itself (B075)."""
    server = start(start_guarded, tmp_path, ours, "false")
    assert wipe(server, Files.write(tmp_path / "a", authority("others").issue("operator-1"))) == REFUSED
    assert wipe(server, Files.write(tmp_path / "b", ours.issue("operator-1"))) == REFUSED


def test_certificate_of_a_handshake_that_began_unverified_is_no_evidence(
    start_guarded: StartGuarded, tmp_path: Path, ours: Identity
) -> None:
    """The operator begins to verify certificates while the peer is between two messages of its handshake."""
    trust, config = tmp_path / "trust.pem", tmp_path / "tls.properties"
    trust.write_bytes(ours.certificate_pem())
    files = Files.write(tmp_path / "server", ours.issue("server"))
    more = {"need.client.auth": "optional", "trustCertPath": str(trust)}
    write_properties(config, tls_properties(files, authClient="false", **more))
    server = start_guarded(POLICY, options=[f"-Dtls.config.file={config}"])
    peer = TlsPeer(any_server(Files.write(tmp_path / "forged", authority("others").issue("operator-1"))))
    with Client(server.port) as client:
        client.send(peer.shake_hands())
        received = client.socket.recv(RECEIVED_MAX)
        write_properties(config, tls_properties(files, authClient="true", **more))
        os.kill(server.pid, signal.SIGHUP)
        server.process.wait_for("SIGHUP, reload the ssl context[\\s\\S]*SslContext created")
        while not peer.handshaken:
            client.send(peer.shake_hands(received))
            received = b"" if peer.handshaken else client.socket.recv(RECEIVED_MAX)
        client.send(peer.encrypt(frame(json_header(205, {"brokerName": "b"}))))
        answer = b""
        while b'"code":' not in answer:
            answer += peer.decrypt(client.socket.recv(RECEIVED_MAX))
    assert b'"code":16,' in answer
