"""tls.protocols and tls.ciphers: Java's names, and OpenSSL's names for them. Imports no TLS library.

With an unknown name there is no TLS at all, as in Java, whose engine rejects the whole list.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from rocketns.errors import TlsError

PROTOCOLS = ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")
DEFAULT_PROTOCOLS = ("TLSv1.2", "TLSv1.3")
_NEVER_SPOKEN = ("SSLv2Hello", "SSLv3")  # Java knows these names and, by default, speaks neither
_NO_CIPHER = "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"  # Java lists this signal among the cipher suites


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

    def check_known(self, known: Collection[str]) -> None:
        """TlsError if a cipher suite is not among ``known``, the suites that OpenSSL supports."""
        unknown = [name for name in self.older + self.modern if name not in known]
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
