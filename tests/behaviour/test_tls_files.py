"""Where the certificate comes from: files named by properties."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness.process import ProcessFailed
from interop.harness.servers import NameServer
from tests.support.certificates import Files, Identity, authority
from tests.support.tlsclient import TlsClient, answers, is_served
from tests.support.tlsfiles import as_options, served_certificate, tls_properties, write_properties

Start = Callable[..., NameServer]


@pytest.fixture(scope="module")
def identity() -> Identity:
    return authority("tests").issue("one")


def test_an_encrypted_key_of_system_properties(start_server: Start, tmp_path: Path, identity: Identity) -> None:
    """B069: PKCS#8 with tls.server.keyPassword, none of it from a file of properties."""
    files = Files.write(tmp_path, identity, password="secret word")
    server = start_server(options=as_options(tls_properties(files, keyPassword="secret word")))
    assert served_certificate(server) == identity.der


def test_the_tls_file_overrides_system_properties(start_server: Start, tmp_path: Path, identity: Identity) -> None:
    """B069: where it has a property; the mode counts only as a system property."""
    other = authority("others").issue("two")
    system = tls_properties(Files.write(tmp_path / "system", other)) | {"tls.server.mode": "enforcing"}
    files = Files.write(tmp_path / "file", identity)
    named = {"tls.server.certPath": str(files.certificate), "tls.server.keyPath": str(files.key)}
    config = write_properties(tmp_path / "tls.properties", named | {"tls.server.mode": "disabled"})
    server = start_server(options=[*as_options(system), f"-Dtls.config.file={config}"])
    assert served_certificate(server) == identity.der
    assert not is_served(server.connect)


def test_the_tls_file_ends_test_mode(start_server: Start, tmp_path: Path, identity: Identity) -> None:
    """B069: everything but the mode may stand in it."""
    config = write_properties(tmp_path / "tls.properties", tls_properties(Files.write(tmp_path, identity)))
    server = start_server(options=[f"-Dtls.config.file={config}"])
    assert served_certificate(server) == identity.der
    with server.connect() as client:
        assert answers(client)


def test_a_missing_tls_file(start_server: Start, tmp_path: Path) -> None:
    """B069: is as good as an empty one."""
    server = start_server(options=[f"-Dtls.config.file={tmp_path / 'none'}"])
    assert is_served(lambda: TlsClient(server.port))


def assert_only_plain_is_served(server: NameServer) -> None:
    assert not is_served(lambda: TlsClient(server.port))
    with server.connect() as client:
        assert answers(client)


@pytest.mark.parametrize("missing", ["certificate.pem", "key.pem"])
def test_a_missing_file(start_server: Start, tmp_path: Path, identity: Identity, missing: str) -> None:
    """B074: TLS is closed, plain connections are served."""
    given = tls_properties(Files.write(tmp_path, identity))
    (tmp_path / missing).unlink()
    assert_only_plain_is_served(start_server(options=as_options(given)))


def test_a_key_of_another_certificate(start_server: Start, tmp_path: Path, identity: Identity) -> None:
    """B074: TLS is closed, plain connections are served."""
    files = Files.write(tmp_path, identity)
    files.key.write_bytes(authority("others").key_pem())
    assert_only_plain_is_served(start_server(options=as_options(tls_properties(files))))


def test_no_certificate_in_enforcing_mode(start_server: Start, tmp_path: Path, identity: Identity) -> None:
    """B074: nobody is served, and the server goes on."""
    given = tls_properties(Files.write(tmp_path, identity)) | {"tls.server.mode": "enforcing"}
    (tmp_path / "key.pem").unlink()
    server = start_server(options=as_options(given))
    assert not is_served(lambda: TlsClient(server.port))
    assert not is_served(server.connect)
    assert server.process.popen.poll() is None


def write_nonsense(files: Files, what: str) -> dict[str, str]:
    """Spoil the content of files that stay; the properties that name them."""
    nonsense = "-----BEGIN {0}-----\nAAAA\n-----END {0}-----\n"
    if what == "certificate":
        files.certificate.write_text(nonsense.format("CERTIFICATE"))
    elif what == "key":
        files.key.write_text(nonsense.format("PRIVATE KEY"))
    elif what == "trusted certificates":
        (files.folder / "trust.pem").write_text("")
        return tls_properties(files, authClient="true", trustCertPath=str(files.folder / "trust.pem"))
    return tls_properties(files, keyPassword="wrong") if what.endswith("password") else tls_properties(files)


@pytest.mark.parametrize("what", ["certificate", "key", "trusted certificates", "password", "needless password"])
def test_files_that_hold_nonsense(start_server: Start, tmp_path: Path, identity: Identity, what: str) -> None:
    """B074: as in Java the server does not start, which the row does not say; rocketns tells which file it is."""
    files = Files.write(tmp_path, identity, password="right" if what == "password" else "")
    given = write_nonsense(files, what)
    with pytest.raises(ProcessFailed) as failed:
        start_server(options=as_options(given))
    assert failed.value.status == 255


def test_no_files_named(start_server: Start) -> None:
    """B074: without test mode the server does not start, as in Java; the row does not say so."""
    with pytest.raises(ProcessFailed) as failed:
        start_server(options=["-Dtls.test.mode.enable=false"])
    assert failed.value.status == 255
