"""The ends of a session: the client, plain or with TLS that ends here, and a leg to each of the two servers."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from abc import ABC, abstractmethod
from typing import Protocol

from rocketns.addresses import unmapped, with_port
from rocketns.errors import TlsError
from rocketns.server.tls.connection import HANDSHAKE_MAGIC_CODE, TlsStream
from rocketns.server.tls.contexts import TlsContexts
from rocketns.shadow.relay.frames import Account, Cutter

HANDSHAKE_WITHIN_S = 10.0
# asyncio would take 256 KiB: 2,600 small requests, which keep all others waiting for a tenth of a second and longer.
READ_BYTES_MAX = 32 * 1024
# SO_LINGER with no time: the close is a reset.
_RESETS = struct.pack("ii", 1, 0)
# What was written is sent in this time after the end.
FLUSH_S = 10.0

# One for all connections: what is read is handed on before the event loop reads anything else.
_buffer = bytearray(READ_BYTES_MAX)
_view = memoryview(_buffer)


class InTurns(asyncio.BufferedProtocol, ABC):
    """`data_received` gets READ_BYTES_MAX at a time. The relay has one event loop in its process."""

    def get_buffer(self, _sizehint: int) -> memoryview:
        """Where the event loop puts what it reads."""
        return _view

    def buffer_updated(self, nbytes: int) -> None:
        """So much was read."""
        self.data_received(bytes(_view[:nbytes]))

    @abstractmethod
    def data_received(self, data: bytes) -> None:
        """Bytes of the peer."""


class RelaySession(Protocol):
    """It is called for what a client's connection and its legs do."""

    is_tls: bool

    def begin(self) -> None: ...
    def client_data(self, data: bytes, /) -> None: ...
    def client_ended(self) -> None: ...
    def client_lost(self, *, was_reset: bool) -> None: ...
    def client_full(self, is_full: bool, /) -> None: ...
    def leg_opened(self, leg: Leg, /) -> None: ...
    def leg_data(self, leg: Leg, data: bytes, /) -> None: ...
    def leg_lost(self, leg: Leg, /) -> None: ...
    def read_if_accepted(self) -> None: ...


class Leg(InTurns):
    """Opening, open, or over. What is written while it opens waits. ``is_own``: to the half, not to the upstream.

    ``is_full``: the server does not take what is written. ``was_reset``: how it ended.
    """

    def __init__(self, session: RelaySession, account: Account, frame_bytes_max: int, *, is_own: bool) -> None:
        self._session, self._account = session, account
        self.is_own = is_own
        self.cutter = Cutter(account, frame_bytes_max)
        self.transport: asyncio.Transport | None = None
        self.is_over = self.is_full = self.was_reset = False
        self._waiting: list[bytes] = []
        self._ends = False  # an end of the stream waits
        self._is_read = True
        self._charged = 0

    @property
    def is_open(self) -> bool:
        return self.transport is not None and not self.is_over

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        if self.is_over:
            transport.abort()
            return
        self.transport = transport
        if self._waiting:
            transport.write(b"".join(self._waiting))
            self._waiting.clear()
            self._charge(0)
        if not self._is_read:
            transport.pause_reading()
        if self._ends:
            transport.write_eof()
        self._session.leg_opened(self)

    def data_received(self, data: bytes) -> None:
        if not self.is_over:
            self._session.leg_data(self, data)

    def eof_received(self) -> None:
        """The server sends nothing more: name servers end both directions at once."""
        self.connection_lost(None)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.is_over:
            self.was_reset = error is not None
            self._session.leg_lost(self)

    def pause_writing(self) -> None:
        self.is_full = True
        self._session.read_if_accepted()

    def resume_writing(self) -> None:
        self.is_full = False
        self._charge(0)
        self._session.read_if_accepted()

    def write(self, data: bytes) -> bool:
        """Whether there was room. For the upstream there always is: the client waits for it."""
        transport = self.transport
        if transport is None:
            self._waiting.append(data)
            return self._charge(self._charged + len(data))
        if not transport.is_closing():
            transport.write(data)
        return not self.is_full or self._charge(transport.get_write_buffer_size())

    def write_eof(self) -> None:
        """The client sends nothing more."""
        if self.transport is None:
            self._ends = True
        elif not self.is_over and self.transport.can_write_eof():
            with contextlib.suppress(OSError):  # the server has reset the connection, which is noticed soon
                self.transport.write_eof()

    def read(self, is_read: bool) -> None:
        """Read the server, or do not."""
        if self.is_open and is_read != self._is_read:
            assert self.transport is not None
            (self.transport.resume_reading if is_read else self.transport.pause_reading)()
        self._is_read = is_read

    def close(self, *, reset: bool = False, at_once: bool = False) -> None:
        """Over: nothing that comes counts. What was written is sent in `FLUSH_S`, unless it is to end ``at_once``."""
        self.is_over = True
        self._waiting.clear()
        self._charge(0)
        self.cutter.drop()
        if self.transport is not None:
            if reset:
                reset_at_close(self.transport)
            if reset or at_once:
                self.transport.abort()
                return
            self.transport.close()
            if self.is_full:
                asyncio.get_running_loop().call_later(FLUSH_S, self.transport.abort)

    def _charge(self, size: int) -> bool:
        """Account for so many bytes that the half has not taken."""
        more = size - self._charged if self.is_own else 0
        if more > 0 and not self._account.charge(more):
            return False
        if more < 0:
            self._account.release(-more)
        self._charged += more
        return True


def reset_at_close(transport: asyncio.BaseTransport) -> None:
    """Let the close of a connection be a reset, as its other side had one."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESETS)


class Acceptor(Protocol):
    """The relay: it makes a session for each client, or None where there is no room."""

    def accepted(self, client: PlainClient, /) -> RelaySession | None: ...


class PlainClient(InTurns):
    """What a session writes goes out as it is."""

    transport: asyncio.Transport
    session: RelaySession

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
