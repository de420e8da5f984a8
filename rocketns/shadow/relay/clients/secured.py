"""A client's connection where the shadow has the keys: plain, or TLS that ends here."""

from __future__ import annotations

import asyncio
import ssl

from rocketns.errors import TlsError
from rocketns.server.tls.connection import HANDSHAKE_MAGIC_CODE, TlsStream
from rocketns.server.tls.contexts import TlsContexts
from rocketns.shadow.relay.clients.plain import PlainClient, Relay

HANDSHAKE_WITHIN_S = 10.0


class EitherClient(PlainClient):
    """The first byte says whether it speaks TLS. The session has plain text in both cases."""

    def __init__(self, relay: Relay, contexts: TlsContexts) -> None:
        super().__init__(relay)
        self._contexts = contexts
        self._is_first = True
        self._stream: TlsStream | None = None

    def data_received(self, data: bytes) -> None:
        if self._is_first:
            self._is_first = False
            if data[0] == HANDSHAKE_MAGIC_CODE:
                self._begin_tls(data)
                return
        if self._stream is None:
            super().data_received(data)
        else:
            self._receive(self._stream, data)

    def _begin_tls(self, data: bytes) -> None:
        self.session.is_tls = True
        self.transport.pause_reading()
        self._contexts.when_ready(lambda context: self._shake_hands(context, data))

    def _shake_hands(self, context: ssl.SSLContext | None, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if context is None:
            self.transport.abort()
            return
        self._stream = TlsStream(context)
        self.transport.resume_reading()
        asyncio.get_running_loop().call_later(HANDSHAKE_WITHIN_S, self._end_slow)
        self._receive(self._stream, data)

    def _end_slow(self) -> None:
        if self._stream is not None and not self._stream.is_handshaken:
            self.transport.abort()

    def _receive(self, stream: TlsStream, data: bytes) -> None:
        plain = stream.receive(data)
        out = stream.outgoing()
        if out:
            self.transport.write(out)
        if plain:
            self.session.client_data(plain)
        if stream.ended is not None:
            self.transport.close()

    def write(self, data: bytes) -> None:
        """To the client."""
        if self._stream is None:
            super().write(data)
            return
        try:
            self.transport.write(self._stream.send(data))
        except TlsError:
            self.transport.abort()

    def write_eof(self) -> None:
        """TLS has no half-closed connections."""
        if self._stream is None:
            super().write_eof()
        else:
            self.close()

    def close(self) -> None:
        """End TLS, too."""
        if self._stream is not None and not self.transport.is_closing():
            self.transport.write(self._stream.end())
        super().close()
