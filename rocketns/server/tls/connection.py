"""One TLS connection: its bytes in and out without a socket, by the standard library, for HTTP ports and the shadow;
and the names in a peer's certificate, in the form in which an access policy has them.
"""

from __future__ import annotations

import contextlib
import re
import ssl
from functools import cached_property
from typing import TYPE_CHECKING

from rocketns.access.principal import kind_of_name
from rocketns.errors import TlsError

if TYPE_CHECKING:
    from cryptography.x509 import Certificate
HANDSHAKE_MAGIC_CODE = 0x16  # the first byte of a TLS connection
RECORD_BYTES = 16 * 1024


class TlsStream:
    """One server-side connection: cipher text in, plain text out, and the other way round.

    No input of a peer raises an error. ``ended`` is the reason why no more plain text will come; None while it may.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self.context = context
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.is_handshaken = False
        self.ended: str | None = None

    @cached_property
    def _connection(self) -> ssl.SSLObject:
        """Made at its first use: making it costs a tenth of a handshake."""
        return self.context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    def receive(self, data: bytes) -> bytes:
        """The plain text that arrived. Send `outgoing` afterwards: handshake bytes, or an alert."""
        plain: list[bytes] = []
        try:
            self._incoming.write(data)
            self._shake_hands()
            while self.is_handshaken and self.ended is None:
                part = self._connection.read(RECORD_BYTES)
                if part:
                    plain.append(part)
                else:
                    self.ended = "the peer ended TLS"
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.ended = "the peer ended TLS"
        except ssl.SSLError as error:
            self.ended = f"TLS failed: {reason_of(error)}"
        return b"".join(plain)

    def _shake_hands(self) -> None:
        if not self.is_handshaken:
            self._connection.do_handshake()
            self.is_handshaken = True

    def send(self, data: bytes) -> bytes:
        """The cipher text of plain text. TlsError if the connection has failed."""
        left = memoryview(data)
        try:
            while left:
                left = left[self._connection.write(left) :]
        except ssl.SSLError as error:
            raise TlsError(f"TLS failed: {reason_of(error)}") from error
        return self.outgoing()

    def end(self) -> bytes:
        """The close_notify alert, unless the connection failed or its handshake is not over."""
        with contextlib.suppress(ssl.SSLError):
            self._connection.unwrap()
        return self.outgoing()

    def outgoing(self) -> bytes:
        """The bytes that TLS has to send."""
        return self._outgoing.read()


def reason_of(error: ssl.SSLError) -> str:
    """OpenSSL's reason."""
    return error.reason or str(error)


NAMES_MAX = 64  # of a certificate
# What a URI begins with: a scheme that cannot be the beginning of an IPv6 address.
SCHEME = re.compile(r"(?=[^:]*[g-zG-Z])[A-Za-z][A-Za-z0-9+.-]*:")


def names_in(der: bytes) -> tuple[str, ...]:
    """The names in a certificate. Without one, or if it cannot be read, there are none."""
    from cryptography.x509 import load_der_x509_certificate

    try:
        return names_of(load_der_x509_certificate(der)) if der else ()
    except ValueError:
        return ()


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
