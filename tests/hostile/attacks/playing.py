"""Starts the servers of the columns, and plays a row to one of them."""

from __future__ import annotations

from pathlib import Path

from interop.harness.servers import JavaNameServer, NameServer
from tests.hostile.attacks.attack import Row
from tests.hostile.attacks.policy import CERTIFICATE, policy
from tests.hostile.attacks.scene import Scene
from tests.support.certificates import Files, authority
from tests.support.tlsfiles import as_options, tls_properties


def start(kind: type[NameServer], folder: Path, column: str) -> NameServer:
    """A server of this column: Java's, or rocketns with the policy in this mode. Both accept TLS, too."""
    if kind is JavaNameServer:
        return kind(folder / "ns")
    properties: dict[str, object] = {}
    if column != "off":
        (folder / "access.toml").write_text(policy(column), "utf-8")
        properties["rocketns.accessFile"] = folder / "access.toml"
    return kind(folder / "ns", properties, options=as_options(tls(folder)))


def tls(folder: Path) -> dict[str, str]:
    """The properties of a server that asks for certificates; ``folder/client`` has one that it trusts."""
    signer = authority("authority")
    files = Files.write(folder / "server", signer.issue("server"))
    (folder / "trust.pem").write_bytes(signer.certificate_pem())
    Files.write(folder / "client", signer.issue(CERTIFICATE))
    more = {"need.client.auth": "optional", "authClient": "true", "trustCertPath": str(folder / "trust.pem")}
    return tls_properties(files, **more)


def play(row: Row, server: NameServer, folder: Path) -> str:
    """The text of the row's cell. ``folder`` is for files that the attack wants to be written."""
    with Scene(server, folder) as scene:
        return row.play(scene)
