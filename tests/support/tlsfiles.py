"""The properties that name a server's certificate, and the certificate that a new connection gets."""

from __future__ import annotations

from pathlib import Path

from interop.harness.servers import NameServer
from tests.support.certificates import Files, Identity
from tests.support.tlsclient import TlsClient, answers


def tls_properties(files: Files, **more: str) -> dict[str, str]:
    """The properties that name the files; ``more`` are further ``tls.server.`` properties."""
    named = {"certPath": str(files.certificate), "keyPath": str(files.key)} | more
    return {"tls.test.mode.enable": "false"} | {f"tls.server.{name}": value for name, value in named.items()}


def verifying(folder: Path, ours: Identity, asks: str = "optional", *, verifies: bool = True) -> dict[str, str]:
    """The properties of a server with a certificate of this authority, and that asks its peers for one.

    The folder gets files of the server and of the authority.
    """
    folder.mkdir(parents=True, exist_ok=True)
    trust = folder / "trust.pem"
    trust.write_bytes(ours.certificate_pem())
    more = {"need.client.auth": asks, "authClient": str(verifies).lower(), "trustCertPath": str(trust)}
    return tls_properties(Files.write(folder, ours.issue("localhost")), **more)


def as_options(given: dict[str, str]) -> list[str]:
    """The properties as -D options of the command line."""
    return [f"-D{name}={value}" for name, value in given.items()]


def served_certificate(server: NameServer) -> bytes:
    """The certificate (DER) that a new connection gets. The connection is also used for a request."""
    with TlsClient(server.port) as client:
        assert answers(client)
        return client.served_certificate
