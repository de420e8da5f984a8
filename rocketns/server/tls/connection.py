"""TLS without a socket: one connection's bytes in and out. pyOpenSSL is imported when TLS is first used."""

from __future__ import annotations

import contextlib
import re
from functools import cached_property
from typing import TYPE_CHECKING

from rocketns.access.principal import kind_of_name
from rocketns.errors import TlsError

if TYPE_CHECKING:
    from cryptography.x509 import Certificate
    from OpenSSL.SSL import Connection, Context, Error

HANDSHAKE_MAGIC_CODE = 0x16  # the first byte of a TLS connection
RECORD_BYTES = 16 * 1024
NAMES_MAX = 64  # of a certificate
# What a URI begins with: a scheme that cannot be the beginning of an IPv6 address.
SCHEME = re.compile(r"(?=[^:]*[g-zG-Z])[A-Za-z][A-Za-z0-9+.-]*:")


class TlsStream:
    """One server-side connection: cipher text in, plain text out, and the other way round.

    No input of a peer raises an error. ``ended`` is the reason why no more plain text will come; None while it may.
    """

    def __init__(self, context: Context, *, verifies_peer: bool = False) -> None:
        """``verifies_peer``: whether the context verifies the peer's certificate. Another may be in use at the end."""
        from OpenSSL import SSL

        self._ssl = SSL
        self.context = context
        self._verifies_peer = verifies_peer
        self.is_handshaken = False
        self.ended: str | None = None

    @cached_property
    def _connection(self) -> Connection:
        """Made at its first use: making it costs a tenth of a handshake."""
        connection = self._ssl.Connection(self.context, None)
        connection.set_accept_state()
        return connection

    def receive(self, data: bytes) -> bytes:
        """The plain text that arrived. Send `outgoing` afterwards: handshake bytes, or an alert."""
        plain: list[bytes] = []
        try:
            self._connection.bio_write(data)
            self._shake_hands()
            while self.is_handshaken:
                plain.append(self._connection.recv(RECORD_BYTES))
        except self._ssl.WantReadError:
            pass
        except self._ssl.ZeroReturnError:
            self.ended = "the peer ended TLS"
        except self._ssl.Error as error:
            self.ended = f"TLS failed: {reason_of(error)}"
        return b"".join(plain)

    def peer_names(self) -> tuple[str, ...]:
        """The subject of the peer's certificate (RFC 4514) and its alternative names; empty if it showed none, or if
        nobody verified it.
        """
        certificate = self._connection.get_peer_certificate() if self._verifies_peer else None
        return () if certificate is None else names_of(certificate.to_cryptography())

    def _shake_hands(self) -> None:
        if not self.is_handshaken:
            self._connection.do_handshake()
            self.is_handshaken = True

    def send(self, data: bytes) -> bytes:
        """The cipher text of plain text. TlsError if the connection has failed."""
        try:
            self._connection.sendall(data)
        except self._ssl.Error as error:
            raise TlsError(f"TLS failed: {reason_of(error)}") from error
        return self.outgoing()

    def end(self) -> bytes:
        """The close_notify alert, unless the connection failed or its handshake is not over."""
        with contextlib.suppress(self._ssl.Error):
            self._connection.shutdown()
        return self.outgoing()

    def outgoing(self) -> bytes:
        """The bytes that TLS has to send."""
        parts: list[bytes] = []
        try:
            while True:
                parts.append(self._connection.bio_read(1 << 20))
        except self._ssl.WantReadError:
            return b"".join(parts)


def names_of(certificate: Certificate) -> tuple[str, ...]:
    """The first NAMES_MAX of a certificate's names. One that cannot be read has none: peers make it.

    An alternative name that is written like one of another kind does not count: authorities may sign either without the
    other.
    """
    from cryptography import x509

    def of_its_kind(name: object) -> str | None:
        match name:
            case x509.IPAddress():
                return str(name.value)
            case x509.DNSName() if kind_of_name(name.value) == "":
                return name.value
            case x509.RFC822Name() if kind_of_name(name.value) == "@":
                return name.value
            case x509.UniformResourceIdentifier() if SCHEME.match(name.value):
                return name.value
        return None

    try:
        alternative = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        others = [of_its_kind(name) for name in alternative]
    except x509.ExtensionNotFound:
        others = []
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        return ()
    names = tuple(name for name in (certificate.subject.rfc4514_string(), *others) if name)
    return names[:NAMES_MAX]


def reason_of(error: Error | TypeError) -> str:
    """The text of OpenSSL's last error."""
    reasons = [str(entry[-1]) for entry in error.args[0]] if error.args and isinstance(error.args[0], list) else []
    return reasons[-1] if reasons else str(error)
