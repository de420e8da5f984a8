"""TlsSystemConfig: the ``tls.…`` properties and where they are read from.

Java reads system properties, then the file that ``tls.config.file`` names, which wins except for ``tls.server.mode``
and ``tls.enable``. rocketns also reads its own configuration file, which loses against both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from rocketns.addresses import listed
from rocketns.config import properties
from rocketns.config.texts.system import SystemProperty
from rocketns.javatext import parse_boolean

DEFAULT_CONFIG_FILE = "/etc/rocketmq/tls.properties"
TLS_PREFIX = "tls."
TLS_PROPERTIES = (
    SystemProperty("tls.server.mode", "permissive", "disabled, permissive (plain and TLS) or enforcing (TLS only)"),
    SystemProperty("tls.enable", "false", "use TLS for connections that the name server opens"),
    SystemProperty("tls.config.file", DEFAULT_CONFIG_FILE, "properties file with the properties below"),
    SystemProperty(
        "tls.test.mode.enable", "true", "make a certificate for localhost and ignore the files below; false uses them"
    ),
    SystemProperty("tls.server.need.client.auth", "none", "client certificates: none, optional or require"),
    SystemProperty("tls.server.keyPath", "", "PEM file of the server's key, PKCS#8"),
    SystemProperty("tls.server.keyPassword", "", "password of that key"),
    SystemProperty("tls.server.certPath", "", "PEM file of the server's certificate chain"),
    SystemProperty("tls.server.authClient", "false", "verify client certificates; false trusts any"),
    SystemProperty("tls.server.trustCertPath", "", "PEM file of the certificates that verify clients"),
    SystemProperty("tls.client.keyPath", "", "PEM file of the key for outgoing connections, PKCS#8"),
    SystemProperty("tls.client.keyPassword", "", "password of that key"),
    SystemProperty("tls.client.certPath", "", "PEM file of the certificate chain for outgoing connections"),
    SystemProperty("tls.client.authServer", "false", "verify the servers of outgoing connections; false trusts any"),
    SystemProperty("tls.client.trustCertPath", "", "PEM file of the certificates that verify those servers"),
    SystemProperty("tls.ciphers", "", "cipher suites by Java's names, separated by commas"),
    SystemProperty("tls.protocols", "", "protocol versions by Java's names, separated by commas"),
)
SWITCHES = {one.name for one in TLS_PROPERTIES if properties.is_boolean(one.default)}


class TlsMode(StrEnum):
    """``tls.server.mode``. Any other text means permissive."""

    DISABLED = "disabled"
    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"


class ClientAuth(StrEnum):
    """``tls.server.need.client.auth``, in any letter case. Any other text means none."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRE = "require"


@dataclass(slots=True, frozen=True)
class TlsSide:
    """The files of one direction; ``verify_peer`` is authClient or authServer: false trusts any certificate."""

    key_path: str
    key_password: str
    cert_path: str
    trust_cert_path: str
    verify_peer: bool


@dataclass(slots=True, frozen=True)
class TlsConfig:
    """The TLS configuration. An empty text is a property that is not set."""

    mode: TlsMode
    enable: bool
    test_mode: bool
    client_auth: ClientAuth
    server: TlsSide
    client: TlsSide
    ciphers: tuple[str, ...]
    protocols: tuple[str, ...]

    @classmethod
    def read(cls, system: Mapping[str, str], given: Mapping[str, str]) -> TlsConfig:
        """From system properties and the configuration file. The TLS properties file is read again at every call."""
        start = dict(given) | dict(system)
        merged = start | read_file(start)
        return cls(
            mode=_word(TlsMode, start.get("tls.server.mode", "")) or TlsMode.PERMISSIVE,
            enable=parse_boolean(start.get("tls.enable")),
            test_mode=parse_boolean(merged.get("tls.test.mode.enable", "true")),
            client_auth=_word(ClientAuth, merged.get("tls.server.need.client.auth", "").lower()) or ClientAuth.NONE,
            server=_side(merged, "tls.server.", "authClient"),
            client=_side(merged, "tls.client.", "authServer"),
            ciphers=tuple(listed(merged.get("tls.ciphers", ""))),
            protocols=tuple(listed(merged.get("tls.protocols", ""))),
        )


def misread(given: Mapping[str, str]) -> list[str]:
    """A sentence for each text that is none of its property's words and counts as one of them, as in Java: a misspelled
    "enforcing" lets plain connections in.
    """
    found: list[str] = []
    for name, text in given.items():
        if name == "tls.server.mode" and text and _word(TlsMode, text) is None:
            found.append(f"{name}={text!r} counts as permissive: it is none of {', '.join(TlsMode)}")
        elif name == "tls.server.need.client.auth" and text and _word(ClientAuth, text.lower()) is None:
            found.append(f"{name}={text!r} counts as none: it is none of {', '.join(ClientAuth)}")
        elif name in SWITCHES and text and not properties.is_boolean(text):
            found.append(properties.not_boolean(name, text))
    return found


Word = TypeVar("Word", bound=StrEnum)


def _word(kind: type[Word], text: str) -> Word | None:
    return kind(text) if text in list(kind) else None


def _side(merged: Mapping[str, str], prefix: str, verify: str) -> TlsSide:
    def text(name: str) -> str:
        return merged.get(prefix + name, "")

    return TlsSide(
        text("keyPath"), text("keyPassword"), text("certPath"), text("trustCertPath"), parse_boolean(text(verify))
    )


def read_file(start: Mapping[str, str]) -> dict[str, str]:
    """The TLS properties file, which these properties may name. A missing or unreadable one is no error, as in Java."""
    path = Path(start.get("tls.config.file", DEFAULT_CONFIG_FILE))
    try:
        return properties.load(path.read_bytes())
    except (OSError, ValueError):
        return {}
