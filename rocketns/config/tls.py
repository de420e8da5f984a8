"""TlsSystemConfig: the ``tls.…`` properties and where they are read from. Imports no TLS library.

Java reads system properties, then the file that ``tls.config.file`` names, which wins except for ``tls.server.mode``
and ``tls.enable``. rocketns also reads its own configuration file, which loses against both.

``tls.protocols`` and ``tls.ciphers`` have Java's names, from which OpenSSL's are made. With an unknown name there is no
TLS at all, as in Java, whose engine rejects the whole list.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from rocketns.addresses import listed
from rocketns.config import properties
from rocketns.config.system import SystemProperty
from rocketns.errors import TlsError
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
PROTOCOLS = ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")
DEFAULT_PROTOCOLS = ("TLSv1.2", "TLSv1.3")
_NEVER_SPOKEN = ("SSLv2Hello", "SSLv3")  # Java knows these names and, by default, speaks neither
_NO_CIPHER = "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"  # Java lists this signal among the cipher suites


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
    def read(cls, system: Mapping[str, str], settings: Mapping[str, str]) -> TlsConfig:
        """From system properties and the configuration file. The TLS properties file is read again at every call."""
        start = dict(settings) | dict(system)
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

    def for_own_fleet(self) -> TlsConfig:
        """For asking this name server and the others of its cluster: over TLS where it takes TLS alone."""
        return replace(self, enable=True) if self.mode is TlsMode.ENFORCING else self


def misread(settings: Mapping[str, str]) -> list[str]:
    """A sentence for each text that is none of its property's words and counts as one of them, as in Java: a misspelled
    "enforcing" lets plain connections in.
    """
    found: list[str] = []
    for name, text in settings.items():
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


@dataclass(slots=True, frozen=True)
class Suites:
    """What to offer. ``older`` are OpenSSL's names of cipher suites for TLS 1.2 and before, ``modern`` for TLS 1.3.

    Without names OpenSSL chooses. ``protocols`` are in order, and never empty.
    """

    protocols: tuple[str, ...]
    older: tuple[str, ...]
    modern: tuple[str, ...]

    def excluded(self) -> list[str]:
        """The protocols between the first and the last that are not among them."""
        first, last = PROTOCOLS.index(self.protocols[0]), PROTOCOLS.index(self.protocols[-1])
        return [name for name in PROTOCOLS[first:last] if name not in self.protocols]

    def check_supported(self, supported: Collection[str]) -> None:
        """TlsError if a cipher suite is not among ``supported``, the suites that OpenSSL supports."""
        unknown = [name for name in self.older + self.modern if name not in supported]
        if unknown:
            raise TlsError(f"tls.ciphers names unknown cipher suites: {', '.join(unknown)}")


def chosen_suites(protocols: Collection[str], ciphers: Collection[str]) -> Suites:
    """From the two properties, either of which may be empty. TlsError if nothing remains."""
    unknown = [name for name in protocols if name not in PROTOCOLS + _NEVER_SPOKEN]
    if unknown:
        raise TlsError(f"tls.protocols names unknown protocols: {', '.join(unknown)}")
    named = [name for name in ciphers if name != _NO_CIPHER]
    older = tuple(openssl_name(name) for name in named if "_WITH_" in name)
    modern = tuple(name for name in named if "_WITH_" not in name)
    allowed = [name for name in PROTOCOLS if name in (protocols or DEFAULT_PROTOCOLS)]
    if ciphers:
        allowed = [name for name in allowed if (modern if name == "TLSv1.3" else older)]
    if not allowed:
        raise TlsError("no cipher suite of tls.ciphers can be used with tls.protocols")
    return Suites(tuple(allowed), older, modern)


def openssl_name(java_name: str) -> str:
    """``TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`` → ``ECDHE-RSA-AES128-GCM-SHA256``."""
    exchange, _, cipher = java_name.removeprefix("TLS_").partition("_WITH_")
    for bits in ("128", "256"):
        cipher = cipher.replace(f"AES_{bits}", f"AES{bits}")
    cipher = cipher.replace("_CBC", "").replace("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305")
    prefix = "" if exchange == "RSA" else exchange + "-"
    return (prefix + cipher).replace("_", "-")
