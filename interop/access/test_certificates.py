"""TLS with client certificates: brokers, clients and mqadmin are known by the subject of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from interop.access.guarded import TOPIC, Guarded, Way, has_registered, was_registered, write_policy
from interop.harness.rocketmq.java import OLD
from interop.harness.sending.clients import assert_each_arrives_once
from interop.harness.sending.fleet import Fleet
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.support.certificates import Files, Identity, authority
from tests.support.tlsclient import is_served
from tests.support.tlsfiles import as_options, tls_properties

MESSAGES = 100
POLICY = """
[principals.brokers]
certificates = ["CN=broker-*"]
may = ["broker"]

[principals.clients]
certificates = ["CN=client-*"]
may = ["lookup"]

[principals.operators]
certificates = ["CN=operator-*"]
may = ["lookup", "read", "scan", "config", "admin"]
"""
NOBODY = ""


@dataclass(frozen=True)
class Signer:
    """The authority of all certificates, and the folder of their files."""

    identity: Identity
    folder: Path

    def issue(self, name: str) -> Files:
        return Files.write(self.folder / name, self.identity.issue(name))

    @property
    def trusted(self) -> Path:
        path = self.folder / "trusted.pem"
        path.write_bytes(self.identity.certificate_pem())
        return path

    def peer(self, name: str) -> tuple[str, ...]:
        """Options of a Java program that connects with TLS alone, verifies whom it reaches, and shows a certificate of
        this name, NOBODY for none. A broker also serves with it."""
        options = {"tls.enable": "true", "tls.client.authServer": "true", "tls.client.trustCertPath": self.trusted}
        if name == NOBODY:
            return (*as_options({key: str(value) for key, value in options.items()}), "-Dtls.test.mode.enable=false")
        files = self.issue(name)
        options |= {"tls.client.certPath": files.certificate, "tls.client.keyPath": files.key}
        return (*as_options(tls_properties(files)), *as_options({key: str(value) for key, value in options.items()}))


@pytest.fixture(scope="module")
def signer(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return Signer(authority("interop authority"), tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def verifying(
    server_class: type[NameServer], signer: Signer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Guarded]:
    """A name server that takes TLS alone, and verifies the certificates of those that show one."""
    with Fleet(server_class, tmp_path_factory.mktemp("verifying")) as fleet:
        policy = fleet.folder("policy")
        verifies = {"authClient": "true", "need.client.auth": "optional", "trustCertPath": str(signer.trusted)}
        options = as_options(tls_properties(signer.issue("localhost"), **verifies, mode="enforcing"))
        server = fleet.name_server(write_policy(policy, "enforce", POLICY), options)
        broker = fleet.unregistered("broker-a", [server], topics=[TOPIC], options=signer.peer("broker-1"))
        has_registered(broker, server)
        yield Guarded(server, broker, policy, POLICY)


@pytest.fixture
def way(verifying: Guarded, fleet: Fleet) -> Way:
    return Way.to(verifying.server, fleet)


def test_clients_and_brokers_with_certificates_use_tls_alone(verifying: Guarded, signer: Signer, fleet: Fleet) -> None:
    """B066, B067: also a broker of the old release. Who comes without TLS is not served."""
    assert not is_served(lambda: Client(verifying.server.port))
    old = fleet.unregistered("broker-b", [verifying.server], version=OLD, options=signer.peer("broker-2"))
    has_registered(old, verifying.server)
    options = signer.peer("client-1")
    producer = fleet.producer([verifying.server], TOPIC, MESSAGES, options=options)
    consumer = fleet.consumer([verifying.server], TOPIC, "readers", options=options)
    assert_each_arrives_once(producer, consumer, MESSAGES)


def test_who_shows_no_fitting_certificate_is_refused(
    verifying: Guarded, way: Way, signer: Signer, fleet: Fleet
) -> None:
    """Clients with none and with an unknown one; a broker with that of a client."""
    for name in (NOBODY, "somebody"):
        producer = fleet.producer([way.relay], TOPIC, 1, options=signer.peer(name))
        producer.wait_for("DONE")
        way.was_refused("lookup")
        assert not producer.values("SENT")
    broker = fleet.unregistered("broker-c", [way.relay], options=signer.peer("client-1"))
    way.was_refused("broker", "not_granted")
    assert not was_registered(broker, verifying.server)


def test_only_an_operators_certificate_is_answered_what_operators_ask(
    verifying: Guarded, signer: Signer, fleet: Fleet
) -> None:
    operator, client = (fleet.admin(verifying.server, options=signer.peer(name)) for name in ("operator-1", "client-1"))
    operator.run("getNamesrvConfig").prints("bindAddress")
    client.run("getNamesrvConfig").says("CODE: 16 ")
