"""The properties that name a server's certificate, and the certificate that a new connection gets."""

from __future__ import annotations

from interop.harness.servers import NameServer
from tests.support.certificates import Files
from tests.support.tlsclient import TlsClient, answers


def tls_properties(files: Files, **more: str) -> dict[str, str]:
    """The properties that name the files; ``more`` are further ``tls.server.`` properties."""
    named = {"certPath": str(files.certificate), "keyPath": str(files.key)} | more
    return {"tls.test.mode.enable": "false"} | {f"tls.server.{name}": value for name, value in named.items()}


def as_options(given: dict[str, str]) -> list[str]:
    """The properties as -D options of the command line."""
    return [f"-D{name}={value}" for name, value in given.items()]


def served_certificate(server: NameServer) -> bytes:
    """The certificate (DER) that a new connection gets. The connection is also used for a request."""
    with TlsClient(server.port) as client:
        assert answers(client)
        return client.served_certificate
