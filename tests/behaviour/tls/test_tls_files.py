"""The certificate's files, named by properties."""

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
    """B069: PKCS#8 with tls.server.keyPassword, all given as system properties."""
    files = Files.write(tmp_path, identity, password="secret word")
    server = start_server(options=as_options(tls_properties(files, keyPassword="secret word")))
    assert served_certificate(server) == identity.der


def test_the_tls_file_overrides_system_properties(start_server: Start, tmp_path: Path, identity: Identity) -> None:
    """B069: for the properties that the file has. The mode counts only as a system property."""
    other = authority("others").issue("two")
    system = tls_properties(Files.write(tmp_path / "system", other)) | {"tls.server.mode": "enforcing"}
    files = Files.write(tmp_path / "file", identity)
    named = {"tls.server.certPath": str(files.certificate), "tls.server.keyPath": str(files.key)}
    config = write_properties(tmp_path / "tls.properties", named | {"tls.server.mode": "disabled"})
    server = start_server(options=[*as_options(system), f"-Dtls.config.file={config}"])
    assert served_certificate(server) == identity.der
    assert not is_served(server.connect)


def test_the_tls_file_ends_test_mode(start_server: Start, tmp_path: Path, identity: Identity) -> None:
    """B069: the file may have every property but the mode."""
    config = write_properties(tmp_path / "tls.properties", tls_properties(Files.write(tmp_path, identity)))
    server = start_server(options=[f"-Dtls.config.file={config}"])
    assert served_certificate(server) == identity.der
    with server.connect() as client:
        assert answers(client)


def test_a_missing_tls_file(start_server: Start, tmp_path: Path) -> None:
    """B069: a missing file counts as empty."""
    server = start_server(options=[f"-Dtls.config.file={tmp_path / 'none'}"])
    assert is_served(lambda: TlsClient(server.port))


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


def test_no_files_named(start_server: Start) -> None:
    """B074: without test mode the server does not start either."""
    with pytest.raises(ProcessFailed) as failed:
        start_server(options=["-Dtls.test.mode.enable=false"])
    assert failed.value.status == 255
