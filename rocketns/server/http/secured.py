"""TLS under an HTTP connection, by the standard library, with the certificate of the name server's own port.

asyncio's own TLS would do handshakes at once, whoever asks. Here hosts take turns by what their handshakes cost.

Reading stops while a handshake waits for its turn, while the protocol above has no room, and while the peer does not
take what it is sent. So a connection holds two records at the most, beside what OpenSSL holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable
from typing import Any

from rocketns.addresses import host_of
from rocketns.errors import TlsError
from rocketns.server.http.connections import HttpConnection
from rocketns.server.tls.connection import RECORD_BYTES, TlsStream
from rocketns.server.tls.contexts import TlsContexts
from rocketns.server.turns import HostTurns

log = logging.getLogger("rocketns.tls")

# After so long a turn ends: control's turn comes, and sockets, signals and timers are looked at.
TURN_NS = 2_000_000


class Handshakes:
    """Which handshake is continued next: one costs the server up to a millisecond, and its peer nothing.

    Hosts take turns by what their handshakes have cost, and so do the connections of a host: see `HostTurns`.

    After a turn the next one waits for ``rest`` times its length, so handshakes take at most 1 / (1 + rest) of a core.
    """

    def __init__(self, spent_ns: Callable[[], int] = time.thread_time_ns, rest: float = 0) -> None:
        self._spent_ns = spent_ns
        self._rest = rest
        self._rests_until_s = 0.0  # of the loop's clock
        self._turns: HostTurns[Secured] = HostTurns()
        self._turn_is_due = False
        self.succeeded = self.failed = 0

    def note_end(self, *, succeeded: bool) -> None:
        """A handshake is over."""
        self.succeeded += succeeded
        self.failed += not succeeded

    def want(self, peer: Secured) -> None:
        """Continue its handshake when its turn comes."""
        self._turns.want(peer, peer.host)
        self._want_turn()

    def _want_turn(self) -> None:
        if not self._turn_is_due:
            self._turn_is_due = True
            loop = asyncio.get_running_loop()
            if self._rest and loop.time() < self._rests_until_s:
                loop.call_at(self._rests_until_s, self._turn)
            else:
                loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._turn_is_due = False
        began_ns = self._spent_ns()
        ends_ns = began_ns + TURN_NS
        try:
            while self._turns and self._spent_ns() < ends_ns:
                peer = self._turns.next()
                self._turns.withdraw(peer)
                self._serve(peer)
        finally:
            spent_s = (self._spent_ns() - began_ns) / 1e9
            self._rests_until_s = asyncio.get_running_loop().time() + self._rest * spent_s
            if self._turns:
                self._want_turn()

    def _serve(self, peer: Secured) -> None:
        began_ns = self._spent_ns()
        try:
            peer.go_on_with_tls()
        finally:
            self._turns.charge(peer, peer.host, self._spent_ns() - began_ns)


# After a turn of handshakes, in lengths of this turn: they take at most a quarter of a core, about 250 handshakes a
# second with RSA of 2,048 bits.
HANDSHAKES_REST = 3.0


class TlsPort:
    """What the connections of one port share. The port's loop is not control's."""

    def __init__(self, contexts: TlsContexts) -> None:
        self.contexts = contexts
        self.handshakes = Handshakes(rest=HANDSHAKES_REST)
        self.buffer = bytearray(RECORD_BYTES)  # of whatever connection is read; emptied at once
        self._ready = asyncio.Event()

    def begin(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        """Control only, on its running loop. `ready` ends on ``loop`` when there is a context. ``name`` is logged."""
        if self.contexts.test_mode:
            log.warning("%s: nobody can verify its certificate, which is made at each start. Set "
                        "tls.test.mode.enable=false, tls.server.certPath and tls.server.keyPath", name)  # fmt: skip

        def tell(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the port has stopped
                loop.call_soon_threadsafe(self._ready.set)

        self.contexts.when_ready(tell)

    def give_up(self) -> None:
        """The port stops: `ready` ends. A connection is closed then, if there is no context."""
        self._ready.set()

    async def ready(self) -> None:
        """Until then connections wait in the kernel."""
        await self._ready.wait()

    def under(self, make: Callable[[], HttpConnection]) -> Callable[[], Secured]:
        """A factory of protocols: TLS, and above it one that ``make`` makes."""
        return lambda: Secured(self, make())


class Secured(asyncio.BufferedProtocol):
    """One connection: cipher text from and to the socket, plain text to and from the protocol above it."""

    def __init__(self, port: TlsPort, above: HttpConnection) -> None:
        self._port = port
        self._above = above
        self._arrived = b""  # cipher text of a handshake that waits for its turn
        self._plain = bytearray()  # that the protocol above has no room for
        self._waits_for_turn = self._waits_above = self._waits_for_peer = False
        self._transport: SecuredTransport | None = None
        self.host = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        peer = transport.get_extra_info("peername")
        if peer:
            self.host = host_of(f"{peer[0]}:{peer[1]}")
        context = self._port.contexts.context
        if context is None:  # it never was usable
            transport.abort()
            return
        self._transport = SecuredTransport(transport, TlsStream(context), self._above_waits)
        self._above.connection_made(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            if not transport.stream.is_handshaken:
                self._port.handshakes.note_end(succeeded=False)
            transport.forget()
            self._above.connection_lost(exc)

    def get_buffer(self, _sizehint: int) -> bytearray:
        return self._port.buffer

    def buffer_updated(self, nbytes: int) -> None:
        received = bytes(memoryview(self._port.buffer)[:nbytes])
        if self._transport is None:
            return
        if self._transport.stream.is_handshaken:
            self._take(self._transport, received)
        else:
            self._arrived, self._waits_for_turn = received, True
            self._port.handshakes.want(self)
        self._read_if_possible()

    def go_on_with_tls(self) -> None:
        """The turn of its handshake: see `Handshakes`."""
        received, self._arrived, self._waits_for_turn = self._arrived, b"", False
        if self._transport is not None and not self._transport.is_closing():
            self._take(self._transport, received)
            self._read_if_possible()

    def _take(self, transport: SecuredTransport, received: bytes) -> None:
        stream = transport.stream
        was_handshaken = stream.is_handshaken
        self._plain += stream.receive(received)
        transport.flush()
        if stream.is_handshaken and not was_handshaken:
            self._port.handshakes.note_end(succeeded=True)
        self._pass_on()
        if stream.ended is not None:
            transport.close()

    def _pass_on(self) -> None:
        """Plain text to the protocol above, as much as it has room for."""
        while self._plain and not self._waits_above and self._transport is not None:
            room = self._above.get_buffer(-1)
            size = min(len(room), len(self._plain))
            if not size:
                break
            room[:size] = self._plain[:size]
            del self._plain[:size]
            self._above.buffer_updated(size)

    def _above_waits(self, waits: bool) -> None:
        """The protocol above has no room, or has some again. It is not called back before it returns."""
        self._waits_above = waits
        self._read_if_possible()
        if not waits and self._plain:
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._pass_on()
        self._read_if_possible()

    def _read_if_possible(self) -> None:
        if self._transport is not None:
            waits = self._waits_for_turn or self._waits_above or self._waits_for_peer or self._plain
            self._transport.read_socket(not waits)

    def eof_received(self) -> None:
        """The socket is closed, as without TLS."""

    def pause_writing(self) -> None:
        self._waits_for_peer = True
        self._read_if_possible()
        self._above.pause_writing()

    def resume_writing(self) -> None:
        self._waits_for_peer = False
        self._read_if_possible()
        self._above.resume_writing()


class SecuredTransport(asyncio.Transport):
    """The socket's transport for plain text."""

    def __init__(self, below: asyncio.Transport, stream: TlsStream, tell: Callable[[bool], None]) -> None:
        """``tell``: whether the protocol above has no room."""
        super().__init__()
        self._below = below
        self.stream = stream
        self._tell: Callable[[bool], None] | None = tell

    def forget(self) -> None:
        """The connection ended. Nothing keeps its objects but each other: end this too."""
        self._tell = None

    def read_socket(self, wanted: bool) -> None:
        """Read, or pause."""
        self._below.resume_reading() if wanted else self._below.pause_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.stream.context if name == "sslcontext" else self._below.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._below.is_closing()

    def flush(self) -> None:
        """Send what TLS itself has to say."""
        own = self.stream.outgoing()
        if own:
            self._below.write(own)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.is_closing() or not data:
            return
        try:
            self._below.write(self.stream.send(bytes(data)))
        except TlsError:
            self.abort()

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(list_of_data))

    def close(self) -> None:
        if not self.is_closing():
            self._below.write(self.stream.end())
            self._below.close()

    def abort(self) -> None:
        self._below.abort()

    def pause_reading(self) -> None:
        if self._tell is not None:
            self._tell(True)

    def resume_reading(self) -> None:
        if self._tell is not None:
            self._tell(False)

    def is_reading(self) -> bool:
        return self._below.is_reading()

    def get_write_buffer_size(self) -> int:
        return self._below.get_write_buffer_size()
