"""TLS under an HTTP connection, by the standard library, with the certificate of the name server's own port.

asyncio's own TLS would do handshakes at once, whoever asks, and tells the protocol above it late that a peer does not
take its answers. Here hosts take turns at handshakes.

Reading stops while a handshake waits for its turn, while the protocol above has no room, and while the peer does not
take what it is sent. So a connection holds two records at the most, beside what OpenSSL holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from rocketns.errors import TlsError
from rocketns.server.http.connections import HttpConnection
from rocketns.server.tls.connection import RECORD_BYTES, TlsStream
from rocketns.server.tls.contexts import TlsContexts
from rocketns.server.turns import PacedTurns

# After a handshake the next one waits for so many times its length: together they take at most a quarter of a core,
# about 250 handshakes a second with RSA of 2,048 bits.
HANDSHAKES_REST = 3.0


class TlsPort:
    """What the connections of one port share. The port's loop is not control's."""

    def __init__(self, contexts: TlsContexts) -> None:
        self.contexts = contexts
        self.handshakes: PacedTurns[Secured] = PacedTurns(at_once=1, rest=HANDSHAKES_REST)
        self.succeeded = self.failed = 0  # handshakes that ended
        self.buffer = bytearray(RECORD_BYTES)  # of whatever connection is read; emptied at once

    def under(self, make: Callable[[], HttpConnection]) -> Callable[[], Secured]:
        """A factory of protocols: TLS, and above it one that ``make`` makes."""
        return lambda: Secured(self, make())


class Secured(asyncio.BufferedProtocol, asyncio.Transport):
    """One connection: the protocol of cipher text for the socket, and the transport of plain text for `above`."""

    _below: asyncio.Transport
    _stream: TlsStream

    def __init__(self, port: TlsPort, above: HttpConnection) -> None:
        super().__init__()
        self._port = port
        self._above = above
        self._arrived = b""  # cipher text of a handshake that waits for its turn
        self._plain = bytearray()  # that the protocol above has no room for
        self._waits_for_turn = self._waits_above = self._waits_for_peer = False
        self.host = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        context = self._port.contexts.context
        if context is None:  # it never was usable
            transport.abort()
            return
        self._below, self._stream = transport, TlsStream(context)
        self._above.connection_made(self)
        self.host = self._above.host

    def connection_lost(self, exc: Exception | None) -> None:
        if self.host:
            self._port.failed += not self._stream.is_handshaken
            self._above.connection_lost(exc)

    def get_buffer(self, _sizehint: int) -> bytearray:
        return self._port.buffer

    def buffer_updated(self, nbytes: int) -> None:
        received = bytes(memoryview(self._port.buffer)[:nbytes])
        if self._stream.is_handshaken:
            self._receive(received)
        else:
            self._arrived, self._waits_for_turn = received, True
            self._port.handshakes.want(self)
        self._read_if_possible()

    def next_turn(self) -> None:
        """Go on with its handshake."""
        received, self._arrived, self._waits_for_turn = self._arrived, b"", False
        if not self.is_closing():
            self._receive(received)

    def _receive(self, received: bytes) -> None:
        stream, was_handshaken = self._stream, self._stream.is_handshaken
        self._plain += stream.receive(received)
        self._below.write(stream.outgoing())
        self._port.succeeded += stream.is_handshaken and not was_handshaken
        self._pass_on()
        if stream.ended is not None:
            self.close()

    def _pass_on(self) -> None:
        """Plain text to the protocol above, as much as it has room for."""
        while self._plain and not self._waits_above and not self.is_closing():
            room = self._above.get_buffer(-1)
            size = min(len(room), len(self._plain))
            if not size:
                break
            room[:size] = self._plain[:size]
            del self._plain[:size]
            self._above.buffer_updated(size)
        self._read_if_possible()

    def _read_if_possible(self) -> None:
        waits = self._waits_for_turn or self._waits_above or self._waits_for_peer or self._plain
        self._below.pause_reading() if waits else self._below.resume_reading()

    def pause_writing(self) -> None:
        self._waits_for_peer = True
        self._read_if_possible()
        self._above.pause_writing()

    def resume_writing(self) -> None:
        self._waits_for_peer = False
        self._read_if_possible()
        self._above.resume_writing()

    def pause_reading(self) -> None:
        self._waits_above = True
        self._read_if_possible()

    def resume_reading(self) -> None:
        """The protocol above is not called before this returns."""
        self._waits_above = False
        self._read_if_possible()
        if self._plain:
            asyncio.get_running_loop().call_soon(self._pass_on)

    def is_reading(self) -> bool:
        return self._below.is_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._stream.context if name == "sslcontext" else self._below.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        return self._below.get_write_buffer_size()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.is_closing() or not data:
            return
        try:
            self._below.write(self._stream.send(bytes(data)))
        except TlsError:
            self.abort()

    def is_closing(self) -> bool:
        return self._below.is_closing()

    def close(self) -> None:
        if not self.is_closing():
            self._below.write(self._stream.end())
            self._below.close()

    def abort(self) -> None:
        self._below.abort()
