"""Certificate, key and trust files that are replaced while the server runs. It checks them twice a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interop.harness.servers import NameServer
from interop.harness.wire import eventually
from tests.behaviour.conftest import running
from tests.support.certificates import Files, Identity, authority
from tests.support.tlsclient import TlsClient, answers, any_server, is_served
from tests.support.tlsfiles import served_certificate, tls_properties, write_properties

# Longer than the server's interval between two checks, so it has noticed any change.
UNSEEN_S = 0.8
# About a second, and what a busy machine adds.
SEEN_WITHIN_S = 60.0


class Watched:
    """A server with certificate, key, trust and properties files that tests replace."""

    def __init__(self, folder: Path, start: Callable[..., NameServer]) -> None:
        self.authority = authority("tests")
        self.identity = self.authority.issue("first")
        self.files = Files.write(folder / "tls", self.identity)
        self.trust = folder / "trust.pem"
        self.trust.write_bytes(self.authority.certificate_pem())
        self.config = folder / "tls.properties"
        self.name_files(self.files)
        self.server = start(folder / "ns", options=[f"-Dtls.config.file={self.config}"])

    def name_files(self, files: Files) -> None:
        more = {"authClient": "true", "need.client.auth": "optional", "trustCertPath": str(self.trust)}
        write_properties(self.config, tls_properties(files, **more))

    def renewed(self) -> Identity:
        """The next identity, whose files are not written yet."""
        self.identity = self.authority.issue("renewed")
        return self.identity

    def serves(self, identity: Identity) -> bool:
        return served_certificate(self.server) == identity.der

    def keeps_serving(self, identity: Identity) -> bool:
        """Whether new connections get this identity for longer than the interval between two checks."""
        deadline = time.monotonic() + UNSEEN_S
        while time.monotonic() < deadline:
            if not self.serves(identity):
                return False
            time.sleep(0.05)
        return True

    def trusts(self, client: Files) -> bool:
        return is_served(lambda: TlsClient(self.server.port, context=any_server(client)))


@pytest.fixture(scope="module")
def watched(server_class: type[NameServer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    one = Watched(tmp_path_factory.mktemp("watched"), server_class)
    with running(one.server):
        yield one


def test_certificate_then_key(watched: Watched) -> None:
    """B070, B071, B073: replacing only the certificate has no effect. With the key, new connections get both."""
    old, new = watched.identity, watched.renewed()
    with TlsClient(watched.server.port) as existing:
        watched.files.certificate.write_bytes(new.certificate_pem())
        assert watched.keeps_serving(old)
        watched.files.key.write_bytes(new.key_pem())
        eventually(lambda: watched.serves(new), SEEN_WITHIN_S)
        assert existing.served_certificate == old.der
        assert answers(existing)


def test_files_deleted_and_written_again(watched: Watched) -> None:
    """B071: meanwhile the last files that were read are used."""
    old, new = watched.identity, watched.renewed()
    watched.files.certificate.unlink()
    watched.files.key.unlink()
    assert watched.keeps_serving(old)
    Files.write(watched.files.folder, new)
    eventually(lambda: watched.serves(new), SEEN_WITHIN_S)


def test_trust_file(watched: Watched, tmp_path: Path) -> None:
    """B072, B073: it takes effect at once for new connections. Existing connections stay open."""
    others = authority("others")
    ours = Files.write(tmp_path / "ours", watched.authority.issue("client"))
    theirs = Files.write(tmp_path / "theirs", others.issue("client"))
    assert (watched.trusts(ours), watched.trusts(theirs)) == (True, False)
    with TlsClient(watched.server.port, context=any_server(ours)) as existing:
        assert answers(existing)
        watched.trust.write_bytes(others.certificate_pem())
        eventually(lambda: watched.trusts(theirs), SEEN_WITHIN_S)
        assert not watched.trusts(ours)
        assert answers(existing)


def test_a_reload_reads_the_tls_file_too(watched: Watched, tmp_path: Path) -> None:
    """B072: the properties file may name other files by then."""
    new = watched.renewed()
    watched.name_files(Files.write(tmp_path, new))
    watched.trust.write_bytes(watched.trust.read_bytes() + authority("one more").certificate_pem())
    eventually(lambda: watched.serves(new), SEEN_WITHIN_S)
