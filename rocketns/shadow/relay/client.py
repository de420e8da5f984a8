"""A client's end of a connection: plain, or TLS that ends here where the shadow has the keys."""

from __future__ import annotations

import asyncio
import ssl
from typing import Protocol

from rocketns.addresses import unmapped, with_port
from rocketns.errors import TlsError
from rocketns.server.tls.connection import HANDSHAKE_MAGIC_CODE, TlsStream
from rocketns.server.tls.contexts import TlsContexts
from rocketns.shadow.relay.leg import FLUSH_S, InTurns, reset_at_close

HANDSHAKE_WITHIN_S = 10.0


class ClientOwner(Protocol):
    """The session: it is called for what a client's connection does."""

    is_tls: bool

    def begin(self) -> None: ...
    def client_data(self, data: bytes, /) -> None: ...
    def client_ended(self) -> None: ...
    def client_lost(self, *, was_reset: bool) -> None: ...
    def client_full(self, is_full: bool, /) -> None: ...


class Acceptor(Protocol):
    """The relay: it makes a session for each client, or None where there is no room."""

    def accepted(self, client: PlainClient, /) -> ClientOwner | None: ...


class PlainClient(InTurns):
    """What a session writes goes out as it is."""

    transport: asyncio.Transport
    session: ClientOwner

    def __init__(self, relay: Acceptor) -> None:
        self._relay = relay
        self._was_reset = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        session = self._relay.accepted(self)
        if session is None:
            transport.abort()
            return
        self.session = session
        session.begin()

    def peer(self) -> tuple[str, int]:
        """The client's address and port."""
        name = self.transport.get_extra_info("peername") or ("?", 0)
        return unmapped(name[0]), name[1]

    def address(self) -> str:
        """The client's, as text."""
        return with_port(*self.peer())

    def proxy_header(self) -> bytes:
        """The PROXY header, version 1, that names the client to the upstream: addresses and ports of both ends."""
        here = self.transport.get_extra_info("sockname") or ("?", 0)
        host, port = self.peer()
        family = "TCP6" if ":" in host else "TCP4"
        source, target = (one.partition("%")[0] for one in (host, unmapped(here[0])))  # a scope means nothing there
        return f"PROXY {family} {source} {target} {port} {here[1]}\r\n".encode("ascii")

    def data_received(self, data: bytes) -> None:
        self.session.client_data(data)

    def eof_received(self) -> bool:
        self.session.client_ended()
        return True

    def connection_lost(self, error: Exception | None) -> None:
        if hasattr(self, "session"):
            self.session.client_lost(was_reset=error is not None and not self._was_reset)

    def pause_writing(self) -> None:
        self.session.client_full(True)

    def resume_writing(self) -> None:
        self.session.client_full(False)

    def write(self, data: bytes) -> None:
        """To the client. One that is gone, which is known soon, gets nothing."""
        if not self.transport.is_closing():
            self.transport.write(data)

    def read(self, is_read: bool) -> None:
        """Read the client, or do not."""
        if not self.transport.is_closing():
            (self.transport.resume_reading if is_read else self.transport.pause_reading)()

    def close(self) -> None:
        """End the connection when what was written is sent, which may take `FLUSH_S`."""
        self.transport.close()
        if self.transport.get_write_buffer_size():
            asyncio.get_running_loop().call_later(FLUSH_S, self.transport.abort)

    def reset(self) -> None:
        """End the connection as a server does that fails."""
        self._was_reset = True
        reset_at_close(self.transport)
        self.transport.abort()


class EitherClient(PlainClient):
    """The first byte says whether it speaks TLS. The session has plain text in both cases."""

    def __init__(self, relay: Acceptor, contexts: TlsContexts) -> None:
        super().__init__(relay)
        self._contexts = contexts
        self._is_first = True
        self._stream: TlsStream | None = None

    def data_received(self, data: bytes) -> None:
        is_first, self._is_first = self._is_first, False
        if is_first and data[0] == HANDSHAKE_MAGIC_CODE:
            self.session.is_tls = True
            self.transport.pause_reading()
            self._contexts.when_ready(lambda context: self._shake_hands(context, data))
        elif self._stream is None:
            super().data_received(data)
        else:
            self._receive(self._stream, data)

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

    def close(self) -> None:
        """End TLS, too."""
        if self._stream is not None and not self.transport.is_closing():
            self.transport.write(self._stream.end())
        super().close()
