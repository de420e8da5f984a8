"""The server's TLS context: what its files may contain, and which client certificates it accepts."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from OpenSSL.SSL import Context

from rocketns.errors import TlsContentError, TlsError
from rocketns.server.tls.connection import TlsStream
from rocketns.server.tls.server import build_server_context
from tests.server.tls_configs import config, files_config, shake_hands
from tests.support.certificates import Files, Identity, authority
from tests.support.tlsclient import TlsPeer, any_server, only

NONSENSE = "-----BEGIN {0}-----\nAAAA\n-----END {0}-----\n"


@pytest.fixture(scope="module")
def ours() -> Identity:
    return authority("ours")


@pytest.fixture
def files(ours: Identity, tmp_path: Path) -> Files:
    return Files.write(tmp_path, ours.issue("server"))


def takes(context: Context, peer: TlsPeer) -> bool:
    stream = TlsStream(context)
    shake_hands(stream, peer)
    return stream.ended is None


def test_the_whole_chain_is_shown(ours: Identity, tmp_path: Path) -> None:
    """B069: tls.server.certPath may hold what lies between the certificate and the trusted authority."""
    between = ours.issue_authority("between")
    identity = between.issue("server")
    files = Files.write(tmp_path, identity)
    files.certificate.write_bytes(identity.certificate_pem() + between.certificate_pem())
    trust = tmp_path / "trust.pem"
    trust.write_bytes(ours.certificate_pem())
    client = any_server()
    client.verify_mode = client.verify_mode.CERT_REQUIRED
    client.load_verify_locations(trust)
    assert takes(build_server_context(files_config(files)), TlsPeer(client))


@pytest.mark.parametrize("rsa_bits", [0, 2048], ids=["elliptic", "rsa"])
@pytest.mark.parametrize("password", ["", "secret \u00e9"])
def test_kinds_of_keys(ours: Identity, tmp_path: Path, rsa_bits: int, password: str) -> None:
    """B069: PKCS#8, in clear or encrypted."""
    files = Files.write(tmp_path, ours.issue("server", rsa_bits=rsa_bits), password=password)
    assert takes(build_server_context(files_config(files, keyPassword=password)), TlsPeer())


@pytest.mark.parametrize("missing", ["certificate.pem", "key.pem"])
def test_a_missing_file(files: Files, missing: str) -> None:
    """B074: the server still starts; the error names the file."""
    (files.folder / missing).unlink()
    with pytest.raises(TlsError, match=missing) as failed:
        build_server_context(files_config(files))
    assert not isinstance(failed.value, TlsContentError)


def test_a_key_of_another_certificate(files: Files) -> None:
    """B074: the server still starts; the error names both files."""
    files.key.write_bytes(authority("others").key_pem())
    with pytest.raises(TlsError, match=r"key\.pem does not match .*certificate\.pem") as failed:
        build_server_context(files_config(files))
    assert not isinstance(failed.value, TlsContentError)


def test_a_key_that_is_too_short(ours: Identity, tmp_path: Path) -> None:
    """B074: OpenSSL decides, whatever Java accepts. The error names the certificate and the reason."""
    files = Files.write(tmp_path, ours.issue("server", rsa_bits=1024))
    with pytest.raises(TlsError, match=r"certificate\.pem cannot be used: ee key too small"):
        build_server_context(files_config(files))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("certificate.pem", ""),
        ("certificate.pem", NONSENSE.format("CERTIFICATE")),
        ("key.pem", ""),
        ("key.pem", NONSENSE.format("PRIVATE KEY")),
        ("trust.pem", ""),
        ("trust.pem", NONSENSE.format("CERTIFICATE")),
        ("trust.pem", None),
    ],
)
def test_files_that_hold_nonsense(files: Files, name: str, content: str | None) -> None:
    """B074: the server does not start, and the error names the file."""
    if content is not None:
        (files.folder / name).write_text(content)
    given = files_config(files, authClient="true", trustCertPath=str(files.folder / "trust.pem"))
    with pytest.raises(TlsContentError, match=name):
        build_server_context(given)


@pytest.mark.parametrize(("encrypted_with", "given"), [("right", "wrong"), ("right", ""), ("", "needless")])
def test_a_wrong_password(ours: Identity, tmp_path: Path, encrypted_with: str, given: str) -> None:
    """B074: or a missing one, or one for a key without password. No terminal is asked for it."""
    files = Files.write(tmp_path, ours.issue("server"), password=encrypted_with)
    with pytest.raises(TlsContentError, match=r"key\.pem"):
        build_server_context(files_config(files, keyPassword=given))


def test_a_trust_file_that_is_not_needed(files: Files) -> None:
    """B075: the trust file is not read if any client is trusted."""
    assert takes(build_server_context(files_config(files, trustCertPath=str(files.folder / "none"))), TlsPeer())


def test_nothing_named() -> None:
    """B074: without test mode there must be files."""
    with pytest.raises(TlsContentError, match=r"tls\.server\.certPath"):
        build_server_context(config(tls_test_mode_enable="false"))


def test_test_mode_ignores_files(files: Files) -> None:
    """B064: it is the default, and makes its own certificate each time."""
    given = {"tls.test.mode.enable": "true"}
    peers = []
    for _ in range(2):
        peers.append(TlsPeer())
        assert takes(build_server_context(files_config(files, given)), peers[-1])
    first, second = (peer.served_certificate() for peer in peers)
    assert first != second


@pytest.mark.parametrize(("ticket", "resumed"), [(True, True), (False, False)], ids=["its ticket", "nothing"])
def test_a_session_is_kept_by_the_peer_or_by_nobody(files: Files, *, ticket: bool, resumed: bool) -> None:
    """20,480 sessions with a client's chain of 100 KB each were 3.6 GB."""
    context, client = build_server_context(files_config(files)), only(ssl.TLSVersion.TLSv1_2)
    if not ticket:
        client.options |= ssl.OP_NO_TICKET
    first = TlsPeer(client)
    stream = TlsStream(context)
    shake_hands(stream, first)
    first.decrypt(stream.outgoing())
    stream.receive(first.end())
    stream.end()
    again = TlsPeer(client, session=first.session)
    assert takes(context, again)
    assert again.was_resumed is resumed
