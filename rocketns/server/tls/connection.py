"""TLS without a socket, by the standard library: one connection's bytes in and out. For HTTP ports and the shadow."""

from __future__ import annotations

import contextlib
import ssl
from functools import cached_property

from rocketns.errors import TlsError

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
