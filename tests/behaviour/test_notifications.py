"""The delivery of notification 905: over connections that the name server opens, without blocking other work."""

from __future__ import annotations

import signal
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import ROCKETMQ, Client, eventually
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import loads
from tests.support.certificates import Files, authority
from tests.support.receiver import Receiver, full_port
from tests.support.tlsfiles import as_options

Start = Callable[..., NameServer]
ON: dict[str, object] = {"notifyMinBrokerIdChanged": "true"}
NO_ADDRESSES = ("a\0b:1", "host..name:1", ":1", "", "nonsense", "127.0.0.1", "127.0.0.1:99999")
GO_AWAY = 1500
WAIT_S = 3600


@pytest.fixture(scope="module")
def server(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    """One server that notifies over plain connections."""
    with server_class(tmp_path_factory.mktemp("notifying"), ON) as started:
        yield started


def test_receivers_that_cannot_be_reached(server: NameServer, names: Names) -> None:
    """B192: a registration is still answered, and the reachable brokers are notified."""
    with server.connect() as client, Receiver() as good, full_port() as nobody:
        for broker_id, addr in enumerate((nobody, "127.0.0.1:1", good.addr), 20):
            registered(client, names, broker_id=broker_id, brokerAddr=addr)
        for broker_id in (3, 2, 1):
            registered(client, names, broker_id=broker_id)
            assert (good.next().ext or {})["minBrokerId"] == str(broker_id)


@pytest.mark.parametrize("addr", NO_ADDRESSES)
def test_addresses_that_are_none(server: NameServer, names: Names, addr: str) -> None:
    """B192: such addresses block nothing either."""
    with server.connect() as client, Receiver() as good:
        for broker_id, one in enumerate((addr, good.addr), 20):
            registered(client, names, broker_id=broker_id, brokerAddr=one)
        registered(client, names, broker_id=1)
        assert (good.next().ext or {})["minBrokerId"] == "1"


def server_context(files: Files, trusted: Path | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    if trusted is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(trusted)
    return context


def assert_notified(server: NameServer, names: Names, receiver: Receiver) -> None:
    with server.connect() as client:
        registered(client, names, broker_id=5, brokerAddr=receiver.addr)
        registered(client, names, broker_id=4, host=4)
        assert (receiver.next().ext or {})["minBrokerId"] == "4"


def test_over_tls(start_server: Start, names: Names, tmp_path: Path) -> None:
    """B192: with tls.enable; in test mode any certificate of the broker is trusted."""
    context = server_context(Files.write(tmp_path, authority("tests").issue("broker")))
    with Receiver(context) as receiver:
        assert_notified(start_server(ON, options=["-Dtls.enable=true"]), names, receiver)


def test_over_tls_with_certificates_on_both_sides(start_server: Start, names: Names, tmp_path: Path) -> None:
    """B192: tls.client.… properties name the client certificate and the trusted authorities."""
    ours = authority("ours")
    trust = tmp_path / "trust.pem"
    trust.write_bytes(ours.certificate_pem())
    shown = Files.write(tmp_path / "client", ours.issue("client"), password="secret")
    client = {"certPath": shown.certificate, "keyPath": shown.key, "keyPassword": "secret", "trustCertPath": trust,
              "authServer": "true"}  # fmt: skip
    own = Files.write(tmp_path / "server", ours.issue("server"))
    given = {"tls.enable": "true", "tls.test.mode.enable": "false", "tls.server.certPath": str(own.certificate),
             "tls.server.keyPath": str(own.key)} | {f"tls.client.{k}": str(v) for k, v in client.items()}  # fmt: skip
    server = start_server(ON, options=as_options(given))
    with Receiver(server_context(Files.write(tmp_path / "broker", ours.issue("broker")), trust)) as receiver:
        assert_notified(server, names, receiver)


def test_in_binary(start_server: Start, names: Names) -> None:
    """B033, B192: with the ROCKETMQ serialize type the notification has a binary header."""
    server = start_server(ON, options=["-Drocketmq.serialize.type=ROCKETMQ"])
    with server.connect() as client, Receiver() as receiver:
        registered(client, names, broker_id=5, brokerAddr=receiver.addr)
        registered(client, names, broker_id=4, host=4, haServerAddr="ha")
        frame = receiver.next()
    assert frame.serialize_type == ROCKETMQ
    assert frame.header | {"opaque": 0} == {
        "code": 905, "flag": 2, "language": 0, "opaque": 0, "version": 513,
        "extFields": {"haBrokerAddr": "ha", "minBrokerAddr": names.addr(4), "minBrokerId": "4"},
    }  # fmt: skip
    assert list(frame.ext or {}) == ["haBrokerAddr", "minBrokerAddr", "minBrokerId"]


def shown_addrs(client: Client, names: Names) -> Any:
    """Broker id to address, queried like an old peer, which gets no GO_AWAY."""
    answer = client.request(codes.GET_BROKER_CLUSTER_INFO, version=475)
    return loads(answer.body)["brokerAddrTable"][names.broker]["brokerAddrs"]


@pytest.mark.parametrize("gracefully", ["false", "true"])
def test_a_server_that_stops(start_server: Start, names: Names, gracefully: str) -> None:
    """B193: connections that close with the server are no leaves, and neither are those closed during GO_AWAY.

    A slave that was notified would take over from a healthy master.
    """
    server = start_server(ON | {"enableShutdownGracefully": gracefully, "shutdownWaitTimeSeconds": WAIT_S})
    with server.connect() as client, server.connect() as broker, Receiver() as slave:
        registered(client, names, broker_id=1, brokerAddr=slave.addr, enableActingMaster="true")
        registered(broker, names, enableActingMaster="true")
        assert (slave.next().ext or {})["minBrokerId"] == "0"
        server.process.signal(signal.SIGTERM)
        if gracefully == "true":
            eventually(lambda: client.request(codes.GET_BROKER_CLUSTER_INFO).code == GO_AWAY)
            broker.close()
            eventually(lambda: shown_addrs(client, names) == {"1": slave.addr})
            server.process.signal(signal.SIGTERM)  # which ends the waiting
        server.process.wait()
        assert slave.has_no_more()
