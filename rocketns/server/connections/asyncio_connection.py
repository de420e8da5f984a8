"""One connection of the asyncio transport: bytes in, whole frames to control, answers back, within all limits."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, Protocol

from rocketns._fast.codec.wire import next_frame
from rocketns.addresses import host_of, unmapped
from rocketns.config import Limits
from rocketns.errors import MalformedFrame, TlsError, UntrustedProxy
from rocketns.protocol.bounds import MALFORMED, NEED_MORE
from rocketns.routeinfo.events import Cause
from rocketns.server.connections.handshake import Handshake
from rocketns.server.connections.totals import Totals
from rocketns.server.connections.trusted import TrustedProxies
from rocketns.server.control.control import Control
from rocketns.server.requests.holders import INPUT, OUTPUT, PROGRESS_BYTES
from rocketns.server.requests.traffic import Traffic
from rocketns.server.tls.connection import TlsStream
from rocketns.server.tls.contexts import TlsContexts
from rocketns.server.tls.handshakes import Handshakes

if TYPE_CHECKING:
    from OpenSSL.SSL import Context

log = logging.getLogger("rocketns.channel")

# Answers are joined and sent at the end of a turn, or as soon as there are so many bytes.
JOINED_BYTES_MAX = 64 * 1024
MALFORMED_FRAME = "malformed frame"
TOO_MUCH_UNSENT_HERE = "too many unsent bytes"
STALLED_HANDSHAKE = "its TLS handshake, or its PROXY header, did not end within 10 s"


class Owner(Protocol):
    """What a connection needs of the transport that accepted it."""

    limits: Limits
    control: Control
    tls: TlsContexts
    handshakes: Handshakes
    totals: Totals
    trusted: TrustedProxies

    @property
    def idle_ms_max(self) -> int: ...

    def now_ms(self) -> int: ...

    def now_epoch_ms(self) -> int: ...

    def opened(self, connection: AsyncioConnection, transport: asyncio.Transport) -> None:
        """The connection was accepted."""

    def closed(self, connection: AsyncioConnection, cause: Cause) -> None:
        """The connection is gone, whoever ended it."""

    def may_ask(self, connection: AsyncioConnection) -> bool:
        """Whether its host may make one more request now."""

    def note_end(self, why: str) -> None:
        """The server ends a connection, and this is why."""

    def give_back(self, connection: AsyncioConnection, accepted: socket.socket, received: bytes) -> bool:
        """Let a reactor carry on a plain connection. False if there are no reactors."""


class AsyncioConnection(Traffic, asyncio.Protocol):
    """A `rocketns.routeinfo.connection.Connection`. Closing is final: what is written afterwards is discarded."""

    __slots__ = (
        "_began_ms", "_buffer", "_cause", "_handshake", "_moved", "_owner", "_reading", "_replies", "_reply_bytes",
        "_tls", "_transport", "_writing_paused", "_written", "address", "idle_ms_max", "last_active_ms",
    )  # fmt: skip

    def __init__(self, owner: Owner) -> None:
        super().__init__(owner.now_epoch_ms(), ("?", "?"))
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._handshake: Handshake | None = Handshake(owner.tls.mode)
        self._tls: TlsStream | None = None
        self._buffer = bytearray()
        self._replies: list[bytes] = []
        self._reply_bytes = 0
        self._moved = 0  # bytes that came and are not told to the totals
        self._written = 0  # bytes of answers that asyncio had not sent when the totals were told
        self._reading = False
        self._writing_paused = False
        self._cause = Cause.CHANNEL_CLOSE
        self.address = "?"
        self.idle_ms_max = owner.idle_ms_max
        self.last_active_ms = owner.now_ms()
        self._began_ms = 0  # when the first byte came

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer = transport.get_extra_info("peername")
        if peer:
            self.address = f"{unmapped(peer[0])}:{peer[1]}"
            host = host_of(self.address)
            self.place = host, host
        if self._handshake is not None and not self._owner.trusted.trusts(self.address):
            self._handshake.refuse_proxies()
        self._owner.opened(self, transport)

    def connection_lost(self, error: Exception | None) -> None:
        cause = Cause.CHANNEL_EXCEPTION if error and self._cause is Cause.CHANNEL_CLOSE else self._cause
        self._drop_incoming(len(self._buffer))
        self._transport = None
        self._owner.totals.forget(self)
        self._owner.closed(self, cause)

    def forgive(self, missed_ms: int) -> None:
        """The server did not run for this time, so it does not count as idle."""
        self.last_active_ms += missed_ms
        self._began_ms += missed_ms if self._began_ms else 0

    def is_late(self, handshake_ms_max: int) -> bool:
        """Whether the PROXY header or the TLS handshake before the first frame took longer. 0 is no limit.

        A connection that begins with a 0 has neither: 0 is the first byte of a frame's length. Nobody is late while the
        server makes its certificate.
        """
        has_begun = self._tls is not None or (self._buffer and self._buffer[0] != 0)
        if self._handshake is None or not has_begun or not handshake_ms_max:
            return False
        if self._handshake.is_waiting and self._tls is None:
            return False
        return self._owner.now_ms() - self._began_ms >= handshake_ms_max

    @property
    def is_tls(self) -> bool:
        return self._tls is not None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def has_ended(self) -> bool:
        return self._transport is None

    @property
    def is_read(self) -> bool:
        return self._transport is not None and self._transport.is_reading()

    @property
    def is_full(self) -> bool:
        return self._writing_paused and self.is_open

    @property
    def unsent_bytes(self) -> int:
        """Bytes of answers that the peer has not taken yet."""
        return self._reply_bytes + (0 if self._transport is None else self._transport.get_write_buffer_size())

    def data_received(self, data: bytes) -> None:
        self.last_active_ms = self._owner.now_ms()
        self._began_ms = self._began_ms or self.last_active_ms
        if self._tls is not None and self._handshake is not None:
            self._add_incoming(data)
            self._drop_incoming(0)
            self._owner.handshakes.want(self)
            self._owner.totals.enforce_limit(INPUT, self)
        else:
            self._take(data)

    def _take(self, data: bytes) -> None:
        try:
            self._add_incoming(data if self._tls is None else self._decrypt(self._tls, data))
            if self._handshake is not None:
                self._shake_hands(self._handshake)
            self._read_frames()
        except UntrustedProxy as error:
            self._owner.trusted.note(self.address, self.last_active_ms)
            self.close(str(error))
        except MalformedFrame as error:
            self.close(str(error))
        if self._tls is not None and self._tls.ended is not None:  # after the frames that came before the end
            if self._handshake is not None:
                self._owner.handshakes.note_end(succeeded=False)
            self.close(self._tls.ended)

    def _shake_hands(self, handshake: Handshake) -> None:
        """Remove the bytes that come before the frames. Frames are read when the handshake is over."""
        taken = handshake.take(self._buffer)
        if handshake.source and not self.is_announced:
            self._owner.totals.forget(self)  # what came of the header counted for the socket's host
            self.address, self.is_announced = handshake.source, True
            self.place = self.place[0], host_of(handshake.source)
        self._drop_incoming(taken)
        if handshake.is_plain:
            self._handshake = None
            self._go_to_a_reactor()
        elif handshake.is_tls and not handshake.is_waiting:
            handshake.wait(self._owner.now_ms())
            self._owner.tls.when_ready(self._start_tls)

    def _go_to_a_reactor(self) -> None:
        """Without its PROXY header, a plain connection is like any other."""
        assert self._transport is not None
        connection = self._transport.get_extra_info("socket")
        if self._owner.give_back(self, connection, bytes(self._buffer)):
            self._drop_incoming(len(self._buffer))
            self._transport.abort()

    def _start_tls(self, context: Context | None) -> None:
        if not self.is_open:
            return
        assert self._handshake is not None
        self._began_ms += self._owner.now_ms() - self._handshake.waits_since_ms
        if context is None:
            self.close("it wants TLS, and there is no usable certificate")
            return
        self._tls = TlsStream(context, verifies_peer=self._owner.tls.verifies_peers)
        self._owner.handshakes.want(self)

    def go_on_with_tls(self) -> None:
        """Process the bytes that arrived: the next step of the handshake, and frames after it."""
        if self.is_open:
            received = bytes(self._buffer)
            self._drop_incoming(len(received))
            self._take(received)

    def _decrypt(self, stream: TlsStream, data: bytes) -> bytes:
        plain = stream.receive(data)
        if stream.is_handshaken:
            if self._handshake is not None:
                self._owner.handshakes.note_end(succeeded=True)
                self.peer_names = stream.peer_names()
            self._handshake = None
        if self._transport is not None:
            self._transport.write(stream.outgoing())
        return plain

    def _read_frames(self) -> None:
        """Give control every whole frame, as long as the peer takes its answers. The rest waits in the buffer."""
        if self._reading:
            return
        self._reading = True  # an answer may make room, and then this function is called again
        taken = 0
        while self.is_open and self._handshake is None and not self._must_wait():
            size = next_frame(self._buffer, taken, self._owner.limits.frame_bytes_max)
            if size == NEED_MORE:
                break
            if size == MALFORMED:
                self.close(MALFORMED_FRAME)
                break
            frame = bytes(memoryview(self._buffer)[taken : taken + size])
            self._owner.control.submit(self, frame, is_beyond_rate=not self._owner.may_ask(self))
            taken += size
        self._reading = False
        self._drop_incoming(min(taken, len(self._buffer)))
        self._hold_to_limits()

    def _must_wait(self) -> bool:
        """Whether no further frames may be given to control. The `flush` after the next answer reads on."""
        if self._writing_paused or self.in_flight >= self._owner.limits.in_flight_max:
            return True
        return self.in_flight > 0 and self._owner.control.is_full

    def _hold_to_limits(self) -> None:
        self._owner.totals.enforce_limit(INPUT, self)
        if self._transport is not None and self._must_wait():
            self._transport.pause_reading()

    def _add_incoming(self, data: bytes) -> None:
        self._buffer += data
        self._moved += len(data)

    def _drop_incoming(self, size: int) -> None:
        """These bytes were processed. The bytes after them belong to another frame."""
        del self._buffer[:size]
        self._owner.totals.hold(INPUT, self, len(self._buffer), PROGRESS_BYTES if size else self._moved)
        self._moved = 0

    def write(self, frame: bytes) -> None:
        """Add an answer. It is sent with the next `flush`, or now if many bytes are joined."""
        self._replies.append(frame)
        self._reply_bytes += len(frame)
        if self._reply_bytes >= JOINED_BYTES_MAX:
            self._send()

    def flush(self) -> None:
        """Send the answers added so far, and read on if there is room."""
        self._send()
        if self.is_open and not self._must_wait():
            self._read_on()

    def _send(self) -> None:
        replies, self._replies, self._reply_bytes = self._replies, [], 0
        if not replies or self._transport is None or self._transport.is_closing():
            return
        self.last_active_ms = self._owner.now_ms()
        answers = replies[0] if len(replies) == 1 else b"".join(replies)
        try:
            sent = answers if self._tls is None else self._tls.send(answers)
            self._transport.write(sent)
        except TlsError as error:
            self.abort(self._cause, str(error))
            return
        self._written += len(sent)
        unsent, taken = self.count_unsent()
        if unsent > self._owner.limits.outgoing_bytes_max:
            self.abort(self._cause, TOO_MUCH_UNSENT_HERE)
            return
        self._owner.totals.hold(OUTPUT, self, unsent, taken)
        self._owner.totals.enforce_limit(OUTPUT, self)

    def count_unsent(self) -> tuple[int, int]:
        """The bytes that are unsent now, and how many the peer took since the last call."""
        left = 0 if self._transport is None else self._transport.get_write_buffer_size()
        taken, self._written = self._written - left, left
        return self._reply_bytes + left, taken

    def _read_on(self) -> None:
        assert self._transport is not None
        if not self._transport.is_reading():
            self._owner.totals.renew(self)
            self._transport.resume_reading()
        if self._buffer:
            self._read_frames()

    def pause_writing(self) -> None:
        self._writing_paused = True
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._writing_paused = False
        self._owner.totals.hold(OUTPUT, self, *self.count_unsent())
        self._owner.control.resume(self)
        self.last_active_ms = self._owner.now_ms()  # the peer took answers, so it is not idle
        if self.is_open and not self._must_wait():
            self._read_on()

    def close(self, why: str) -> None:
        """End the connection after the answers already written."""
        self._drop_incoming(len(self._buffer))
        self._send()
        if self._transport is not None and not self._transport.is_closing():
            log.info("closeChannel: close the connection to remote address[%s]: %s", self.address, why)
            self._owner.note_end(why)
            self._transport.write(b"" if self._tls is None else self._tls.end())
            self._transport.close()

    def abort(self, cause: Cause, why: str = "") -> None:
        """End the connection at once. The broker on it is unregistered for ``cause``."""
        if self._transport is not None:
            log.info("closeChannel: close the connection to remote address[%s]: %s", self.address, why or cause)
            self._owner.note_end(why or cause)
            self._cause = cause
            self._drop_incoming(len(self._buffer))
            self._owner.totals.forget(self)
            self._transport.abort()
