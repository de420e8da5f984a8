"""What Python callers see of openssl.pyx."""

from collections.abc import Sequence

class ServerContext:
    """OpenSSL's SSL_CTX of a server. TlsError's reason is in ValueError."""

    verifies_peers: bool
    """Whether the names of a peer's certificate are proven: by authorities that the operator chose."""

    def __init__(
        self,
        *,
        certificates: Sequence[bytes],
        key: bytes,
        versions: tuple[int, int],
        without: int,
        older: str,
        modern: str,
        asks: bool,
        requires: bool,
        trusts_any: bool,
        trusted: str | None,
        verifies_peers: bool,
    ) -> None:
        """``certificates`` and ``key`` (PKCS#8) are DER. ``versions``: the lowest and the highest protocol.

        ``without``: options that exclude versions between them. Empty texts of suites are OpenSSL's choice. ``asks``
        for a client certificate; ``requires`` one. ``trusted`` names a PEM file of authorities; None is the system's.
        ValueError("part: reason") where OpenSSL refuses a part: certificate, key, trust, ciphers or versions.
        """

    def suites(self) -> list[str]:
        """OpenSSL's names of the cipher suites on offer."""
