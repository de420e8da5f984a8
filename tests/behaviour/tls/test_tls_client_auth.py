"""tls.server.need.client.auth, and which clients are trusted with tls.server.authClient."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness.servers import NameServer
from tests.support.certificates import Files, Identity, authority
from tests.support.tlsclient import TlsClient, any_server, is_served
from tests.support.tlsfiles import as_options, tls_properties

Start = Callable[..., NameServer]


@pytest.fixture(scope="module")
def ours() -> Identity:
    return authority("ours")


@pytest.fixture(scope="module")
def clients(ours: Identity, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files | None]:
    """A client's files, by the signer of its certificate. ``none`` has no certificate."""
    folder = tmp_path_factory.mktemp("clients")
    return {
        "trusted": Files.write(folder / "trusted", ours.issue("client")),
        "untrusted": Files.write(folder / "untrusted", authority("others").issue("client")),
        "none": None,
    }


def served(server: NameServer, clients: dict[str, Files | None]) -> list[str]:
    """Which of the clients are served."""
    return [n for n, files in clients.items() if is_served(lambda: TlsClient(server.port, context=any_server(files)))]  # noqa: B023


@pytest.mark.parametrize(
    ("wanted", "auth_client", "expected"),
    [
        ("none", "true", ["trusted", "untrusted", "none"]),
        ("optional", "true", ["trusted", "none"]),
        ("optional", "false", ["trusted", "untrusted", "none"]),
        ("require", "true", ["trusted"]),
        ("Require", "false", ["trusted", "untrusted"]),
    ],
)
def test_client_certificates(
    start_server: Start, tmp_path: Path, ours: Identity, clients: dict[str, Files | None],
    wanted: str, auth_client: str, expected: list[str],
) -> None:  # fmt: skip
    """B075: none, optional or required, in any letter case. Without authClient every certificate is trusted."""
    trust = tmp_path / "trust.pem"
    trust.write_bytes(ours.certificate_pem())
    files = Files.write(tmp_path, ours.issue("server"))
    more = {"need.client.auth": wanted, "authClient": auth_client, "trustCertPath": str(trust)}
    server = start_server(options=as_options(tls_properties(files, **more)))
    assert served(server, clients) == expected


def test_client_certificates_in_test_mode(server: NameServer, clients: dict[str, Files | None]) -> None:
    """B064: a certificate is optional. If shown, an authority that the system trusts must have signed it."""
    assert served(server, clients) == ["none"]
