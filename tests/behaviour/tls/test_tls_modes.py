"""tls.server.mode, and the certificate that the server makes itself without given files (test mode, the default)."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext
from interop.harness.servers import NameServer
from interop.harness.wire import Client, eventually, frame, json_header
from tests.behaviour.calls import both_encodings, get_kv
from tests.behaviour.conftest import Names, running
from tests.behaviour.steps import configs, registered
from tests.behaviour.views import group, route
from tests.support.tlsclient import TlsClient, TlsPeer, answers, is_served, only

REQUEST = frame(json_header(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": "none"}))
# More bytes than the server waits for before it looks at the first one.
CLIENT_HELLO_START = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(32)
ONEWAY = 2


@pytest.fixture(scope="module")
def enforcing(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    with running(server_class(tmp_path_factory.mktemp("enforcing"), options=["-Dtls.server.mode=enforcing"])) as server:
        yield server


def test_disabled(start_server: Callable[..., NameServer]) -> None:
    """B063: a TLS hello closes the connection at once, a frame is answered."""
    server = start_server(options=["-Dtls.server.mode=disabled"])
    with server.connect() as client:
        client.send(CLIENT_HELLO_START)
        assert client.is_closed_by_server()
    with server.connect() as client:
        assert answers(client)


def test_permissive_serves_tls(server: NameServer) -> None:
    """B064: permissive is the default."""
    with TlsClient(server.port) as client:
        assert answers(client)
        assert client.tls.version() == "TLSv1.3"


def test_permissive_serves_plain_frames(client: Client) -> None:
    """B065: on the same port."""
    assert answers(client)


def test_the_test_certificate(server: NameServer) -> None:
    """B064: CN=localhost signed by itself, RSA 2048, SHA256withRSA, from a year ago to the last second of 9999."""
    with TlsClient(server.port) as client:
        certificate = x509.load_der_x509_certificate(client.served_certificate)
    assert certificate.subject.rfc4514_string() == certificate.issuer.rfc4514_string() == "CN=localhost"
    key = certificate.public_key()
    assert isinstance(key, RSAPublicKey)
    assert key.key_size == 2048
    assert isinstance(certificate.signature_hash_algorithm, SHA256)
    certificate.verify_directly_issued_by(certificate)
    age = datetime.now(UTC) - certificate.not_valid_before_utc
    assert timedelta(days=365) <= age < timedelta(days=365, hours=1)
    assert certificate.not_valid_after_utc == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def test_the_test_certificate_stays(server: NameServer) -> None:
    """B064: the certificate is made once and used for every connection."""
    with TlsClient(server.port) as one, TlsClient(server.port) as two:
        assert one.served_certificate == two.served_certificate


def test_test_mode_serves_tls_1_2(server: NameServer) -> None:
    """B064: older clients are served with TLS 1.2."""
    with TlsClient(server.port, context=only(ssl.TLSVersion.TLSv1_2)) as client:
        assert answers(client)


def test_enforcing_closes_on_a_plain_frame(enforcing: NameServer) -> None:
    """B066: the frame is not answered."""
    with enforcing.connect() as client:
        client.send(REQUEST)
        assert client.is_closed_by_server()


@both_encodings
def test_enforcing_serves_tls(enforcing: NameServer, names: Names, binary: bool) -> None:
    """B067: a broker registered over one kind of connection is visible over the other."""
    with TlsClient(enforcing.port) as broker, TlsClient(enforcing.port) as client:
        registered(broker, names)
        assert client.request(codes.GET_BROKER_CLUSTER_INFO, binary=binary).code == codes.SUCCESS
        assert route(client, names.topic()) is not None


def test_large_frames_over_tls(enforcing: NameServer, names: Names) -> None:
    """B067: frames of many TLS records in both directions, and several requests at once."""
    with TlsClient(enforcing.port) as client:
        registered(client, names, [f"{'x' * 100}{number}" for number in range(1_000)])
        asked = [client.post(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER) for _ in range(5)]
        received = [client.receive() for _ in asked]
        assert sorted(answer.opaque for answer in received) == asked
        assert all(len(answer.body or b"") > 100_000 for answer in received)


def test_the_end_of_a_tls_connection(enforcing: NameServer, names: Names) -> None:
    """B067: close_notify and FIN; a broker on the connection is unregistered."""
    peer = TlsPeer()
    with TlsClient(enforcing.port) as client, enforcing.connect() as plain:
        peer.connect(plain)
        body = register_body(configs(names, ["T", "U"]))
        ext = register_ext(names.cluster, names.broker, names.addr(), 0, body)
        plain.send(peer.encrypt(frame(json_header(codes.REGISTER_BROKER, ext), body)))
        eventually(lambda: group(client, names.broker) is not None)
        plain.send(peer.end())
        plain.close()
        eventually(lambda: group(client, names.broker) is None)


def test_a_request_together_with_the_end_of_tls(enforcing: NameServer, names: Names) -> None:
    """B067: the request is executed, as at the end of a plain connection."""
    put = {"namespace": names.cluster, "key": "k", "value": "v"}
    peer = TlsPeer()
    with enforcing.connect() as plain, TlsClient(enforcing.port) as client:
        peer.connect(plain)
        plain.send(peer.encrypt(frame(json_header(codes.PUT_KV_CONFIG, put, flag=ONEWAY))) + peer.end())
        eventually(lambda: get_kv(client, names.cluster, "k").code == codes.SUCCESS)


def test_an_unknown_mode_is_permissive(start_server: Callable[..., NameServer]) -> None:
    """B068: the text is compared with case and without trimming."""
    server = start_server(options=["-Dtls.server.mode=ENFORCING"])
    with server.connect() as client:
        assert answers(client)
    assert is_served(lambda: TlsClient(server.port))
