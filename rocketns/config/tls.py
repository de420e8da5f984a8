"""TlsSystemConfig: the ``tls.…`` properties, and in which order their sources win.

Java takes them from system properties and, all but the mode and ``tls.enable``, from the file that ``tls.config.file``
names, which wins. rocketns also takes them from its configuration file, which is asked last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from rocketns.config import properties
from rocketns.javatext import parse_boolean

DEFAULT_CONFIG_FILE = "/etc/rocketmq/tls.properties"


class TlsMode(StrEnum):
    """``tls.server.mode``. Any other text is permissive."""

    DISABLED = "disabled"
    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"


class ClientAuth(StrEnum):
    """``tls.server.need.client.auth``, in any letter case. Any other text is none."""

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
    """Everything TLS is told. Empty text stands for a property that is not set."""

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
        """From system properties and the configuration file, reading the TLS properties file anew at every call."""
        start = dict(given) | dict(system)
        found = start | _read_file(Path(start.get("tls.config.file", DEFAULT_CONFIG_FILE)))
        return cls(
            mode=_choice(TlsMode, start.get("tls.server.mode", ""), TlsMode.PERMISSIVE),
            enable=parse_boolean(start.get("tls.enable")),
            test_mode=parse_boolean(found.get("tls.test.mode.enable", "true")),
            client_auth=_choice(ClientAuth, found.get("tls.server.need.client.auth", "").lower(), ClientAuth.NONE),
            server=_side(found, "tls.server.", "authClient"),
            client=_side(found, "tls.client.", "authServer"),
            ciphers=_listed(found.get("tls.ciphers", "")),
            protocols=_listed(found.get("tls.protocols", "")),
        )


Choice = TypeVar("Choice", bound=StrEnum)


def _choice(kind: type[Choice], text: str, default: Choice) -> Choice:
    return kind(text) if text in list(kind) else default


def _side(found: Mapping[str, str], prefix: str, verify: str) -> TlsSide:
    def text(name: str) -> str:
        return found.get(prefix + name, "")

    return TlsSide(
        text("keyPath"), text("keyPassword"), text("certPath"), text("trustCertPath"), parse_boolean(text(verify))
    )


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _read_file(path: Path) -> dict[str, str]:
    """A missing or unreadable file is no error, as in Java."""
    try:
        return properties.load(path.read_bytes())
    except (OSError, ValueError):
        return {}
