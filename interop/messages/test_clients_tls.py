"""TLS everywhere: a name server that refuses plain connections, and a Java broker and clients that verify it."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness import views
from interop.harness.ports import free_port
from interop.harness.sending.fleet import Fleet
from interop.harness.sending.flow import assert_each_arrives_once
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.support.certificates import Files, authority
from tests.support.tlsclient import TlsClient, is_served

TOPIC = "Encrypted"
MESSAGES = 100


@pytest.fixture
def certificates(tmp_path: Path) -> Files:
    """A certificate for localhost with its key, and ``trusted.pem`` with what the Java side trusts."""
    signer = authority("interop authority")
    files = Files.write(tmp_path / "tls", signer.issue("localhost", rsa_bits=2048))
    (files.folder / "trusted.pem").write_bytes(signer.certificate_pem())
    return files


@pytest.fixture
def tls_server(server_class: type[NameServer], tmp_path: Path, certificates: Files) -> Iterator[NameServer]:
    """A name server that takes TLS alone."""

    class OverTls(server_class):  # type: ignore[misc, valid-type]
        def connect(self) -> Client:
            return TlsClient(self.port)

    options = ["-Dtls.server.mode=enforcing", *_own_certificate(certificates)]
    server = OverTls(tmp_path / "ns", {"listenPort": free_port()}, options=options)
    yield server
    server.kill()


def test_broker_and_clients_use_tls_alone(tls_server: NameServer, certificates: Files, fleet: Fleet) -> None:
    """B066, B067: the broker registers and both clients find it over TLS; without TLS no request is answered."""
    assert not is_served(lambda: Client(tls_server.port))
    with TlsClient(tls_server.port) as client:
        assert client.served_certificate == _der(certificates)
    peer = _peer(certificates)
    broker = fleet.broker("broker-a", tls_server, topics=[TOPIC], options=("-Dtls.server.mode=enforcing", *peer))
    producer = fleet.producer([tls_server], TOPIC, MESSAGES, options=peer)
    consumer = fleet.consumer([tls_server], TOPIC, "readers", options=peer)
    assert_each_arrives_once(producer, consumer, MESSAGES)
    assert views.addresses(tls_server, TOPIC) == {"broker-a": {0: broker.address}}


def test_client_that_trusts_somebody_else_refuses_the_name_server(
    tls_server: NameServer, certificates: Files, fleet: Fleet
) -> None:
    """B067: what the scenario above verifies is really the name server's certificate."""
    (certificates.folder / "trusted.pem").write_bytes(authority("somebody else").certificate_pem())
    producer = fleet.producer([tls_server], TOPIC, 1, options=_peer(certificates))
    producer.wait_for("DONE")
    assert not producer.values("SENT")
    log = (producer.process.output.parent / "java.log").read_text("utf-8")
    assert "PKIX path validation failed" in log or "PKIX path building failed" in log, log[-4000:]


def _own_certificate(files: Files) -> tuple[str, ...]:
    return (
        "-Dtls.test.mode.enable=false",
        f"-Dtls.server.certPath={files.certificate}",
        f"-Dtls.server.keyPath={files.key}",
    )


def _peer(files: Files) -> tuple[str, ...]:
    """Options of a Java program that connects with TLS and verifies whom it reaches."""
    trusted = f"-Dtls.client.trustCertPath={files.folder / 'trusted.pem'}"
    return ("-Dtls.enable=true", "-Dtls.client.authServer=true", trusted, *_own_certificate(files))


def _der(files: Files) -> bytes:
    return ssl.PEM_cert_to_DER_cert(files.certificate.read_text("ascii"))
