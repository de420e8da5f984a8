"""TLS: what is negotiated, records and ends of connections, and the files that properties name.

Scenarios of interop/parity have modes, client certificates and files that are replaced.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from interop.harness import codes
from interop.harness.process import ProcessFailed
from interop.harness.servers import NameServer
from interop.harness.wire import eventually, frame, json_header
from tests.behaviour.calls import get_kv
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.support.certificates import Files, Identity, authority
from tests.support.tlsclient import TlsClient, TlsPeer, is_served, only
from tests.support.tlsfiles import as_options, served_certificate, tls_properties

Start = Callable[..., NameServer]
ONEWAY = 2


@pytest.mark.parametrize(
    ("option", "tls12", "tls13"),
    [
        ("-Dtls.protocols=TLSv1.2", True, False),
        ("-Dtls.ciphers=TLS_AES_128_GCM_SHA256", False, True),
        ("-Dtls.ciphers=TLS_NONSENSE,TLS_AES_128_GCM_SHA256", False, False),
    ],
)
def test_protocols_and_ciphers(start_server: Start, option: str, *, tls12: bool, tls13: bool) -> None:
    """B064: Java's names. One unknown name disables TLS; plain connections are still served."""
    server = start_server(options=[option])
    for version, served in ((ssl.TLSVersion.TLSv1_2, tls12), (ssl.TLSVersion.TLSv1_3, tls13)):
        assert is_served(partial(TlsClient, server.port, context=only(version))) is served
    assert is_served(server.connect)


@pytest.fixture(scope="module")
def enforcing(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameServer]:
    with server_class(tmp_path_factory.mktemp("enforcing"), options=["-Dtls.server.mode=enforcing"]) as server:
        yield server


def test_large_frames_over_tls(enforcing: NameServer, names: Names) -> None:
    """B067: frames of many TLS records in both directions, and several requests at once."""
    with TlsClient(enforcing.port) as client:
        registered(client, names, [f"{'x' * 100}{number}" for number in range(1_000)])
        asked = [client.post(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER) for _ in range(5)]
        received = [client.receive() for _ in asked]
        assert sorted(answer.opaque for answer in received) == asked
        assert all(len(answer.body or b"") > 100_000 for answer in received)


def test_a_request_together_with_the_end_of_tls(enforcing: NameServer, names: Names) -> None:
    """B067: the request is executed, as at the end of a plain connection."""
    put = {"namespace": names.cluster, "key": "k", "value": "v"}
    peer = TlsPeer()
    with enforcing.connect() as plain, TlsClient(enforcing.port) as client:
        peer.connect(plain)
        plain.send(peer.encrypt(frame(json_header(codes.PUT_KV_CONFIG, put, flag=ONEWAY))) + peer.end())
        eventually(lambda: get_kv(client, names.cluster, "k").code == codes.SUCCESS)


@pytest.fixture(scope="module")
def identity() -> Identity:
    return authority("tests").issue("one")


def test_an_encrypted_key_of_system_properties(start_server: Start, tmp_path: Path, identity: Identity) -> None:
    """B069: PKCS#8 with tls.server.keyPassword, all given as system properties."""
    files = Files.write(tmp_path, identity, password="secret word")
    server = start_server(options=as_options(tls_properties(files, keyPassword="secret word")))
    assert served_certificate(server) == identity.der


def test_a_key_of_another_certificate(start_server: Start, tmp_path: Path, identity: Identity) -> None:
    """B074: TLS is closed, plain connections are served."""
    files = Files.write(tmp_path, identity)
    files.key.write_bytes(authority("others").key_pem())
    server = start_server(options=as_options(tls_properties(files)))
    assert not is_served(lambda: TlsClient(server.port))
    assert is_served(server.connect)


@pytest.mark.parametrize("mode", ["permissive", "enforcing"])
def test_a_missing_file(start_server: Start, tmp_path: Path, identity: Identity, mode: str) -> None:
    """B074: TLS is closed; plain connections are served if the mode allows it."""
    given = tls_properties(Files.write(tmp_path, identity)) | {"tls.server.mode": mode}
    (tmp_path / "key.pem").unlink()
    server = start_server(options=as_options(given))
    assert not is_served(lambda: TlsClient(server.port))
    assert is_served(server.connect) is (mode == "permissive")
    assert server.process.popen.poll() is None


def test_a_key_that_is_none(start_server: Start, tmp_path: Path, identity: Identity) -> None:
    """B074: as in Java the server does not start (the row does not mention this). rocketns names the file."""
    files = Files.write(tmp_path, identity)
    files.key.write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    with pytest.raises(ProcessFailed) as failed:
        start_server(options=as_options(tls_properties(files)))
    assert failed.value.status == 255
