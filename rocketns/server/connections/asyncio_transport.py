"""The asyncio transport: its connections, their number, their idle limits, and the bytes that they hold."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from itertools import islice

from rocketns._fast.reactor.reactors import Reactors
from rocketns.config import Configuration
from rocketns.routeinfo.events import Cause
from rocketns.server.clock import Clock
from rocketns.server.connections.asyncio_connection import (
    MALFORMED_FRAME,
    STALLED_HANDSHAKE,
    TOO_MUCH_UNSENT_HERE,
    AsyncioConnection,
)
from rocketns.server.connections.handshake import UNTRUSTED
from rocketns.server.connections.strangers import Strangers
from rocketns.server.connections.totals import Totals
from rocketns.server.connections.trusted import TrustedProxies
from rocketns.server.control.control import Control
from rocketns.server.listening import Listening
from rocketns.server.requests.holders import (
    INPUT,
    OUTPUT,
    STALLED_ANSWERS,
    STALLED_FRAME,
    TOO_MUCH_UNFINISHED,
    TOO_MUCH_UNSENT,
)
from rocketns.server.requests.rates import HostRates, Rates
from rocketns.server.stall import Stall
from rocketns.server.tls.contexts import TlsContexts
from rocketns.server.tls.handshakes import Handshakes

log = logging.getLogger("rocketns.transport")

NOT_TAKEN = "its last answers were not taken"
TOO_MANY = "more connections than connectionsMax"
STRANGER = "the access policy allows its address nothing"
TOO_FAST = "its host opens more connections than hostConnectionsPerSecond"
OTHER_END = "other"
ENDS = frozenset({
    NOT_TAKEN, STRANGER, TOO_FAST, TOO_MANY, TOO_MUCH_UNFINISHED, TOO_MUCH_UNSENT, TOO_MUCH_UNSENT_HERE,
    MALFORMED_FRAME, STALLED_ANSWERS, STALLED_FRAME, STALLED_HANDSHAKE, UNTRUSTED, str(Cause.CHANNEL_IDLE),
})  # fmt: skip
HANDSHAKE_MS_MAX = 10_000  # as Netty's SslHandler
CLOSED_AT_ONCE_MAX = 1_000  # the next check closes more


class AsyncioTransport:
    """Runs on the event loop's thread. With ``reactors`` it carries no connection.

    ``opened_total`` counts, ``ended`` by the reason why the server ended them:
    any thread may read both.
    """

    def __init__(
        self, configuration: Configuration, control: Control, clock: Clock, tls: TlsContexts,
        reactors: Reactors | None,
    ) -> None:  # fmt: skip
        self.control = control
        self.limits = configuration.limits
        self.tls = tls
        self.totals = Totals(configuration.limits, reactors, clock)
        self.trusted = TrustedProxies(configuration.access.proxies)
        self._trusts_announced = bool(configuration.access.proxies)
        self.strangers = Strangers()
        self.handshakes = Handshakes(clock.spent_ns)
        self.rates: Rates = HostRates() if reactors is None else reactors.rates
        self.connections: set[AsyncioConnection] = set()
        self.opened_total = 0
        self.ended: Counter[str] = Counter()
        self._clock = clock
        self._netty = configuration.netty
        self._reactors = reactors
        self._closing: set[AsyncioConnection] = set()
        self._server: asyncio.Server | None = None
        self._arriving: set[asyncio.Task[object]] = set()
        self._send_buffer_bytes = self._netty.server_socket_snd_buf_size
        self._receive_buffer_bytes = self._netty.server_socket_rcv_buf_size
        self._low_water_bytes, self._high_water_bytes = self._netty.water_marks

    async def accept(self, listening: Listening) -> None:
        """Accept all connections of a socket, which is this transport's from now on."""
        self._server = await listening.serve(lambda: AsyncioConnection(self))

    def may_ask(self, connection: AsyncioConnection) -> bool:
        """Take the token of a request. The socket's host counts, unless only trusted proxies announce hosts."""
        host = connection.place[1 if self._trusts_announced else 0]
        return self.rates.may_ask(host, connection.is_known, self.now_ms())

    def now_ms(self) -> int:
        return self._clock.now().ms

    def now_epoch_ms(self) -> int:
        return self._clock.now().epoch_ms

    @property
    def idle_ms_max(self) -> int:
        return self._netty.idle_ms_max

    def opened(self, connection: AsyncioConnection, transport: asyncio.Transport) -> None:
        """A connection was accepted. Beyond ``connectionsMax``, or the rate of its host, it is closed at once."""
        self.connections.add(connection)
        self.opened_total += 1
        if self._reactors is None and not self.rates.may_connect(connection.place[0], self.now_ms()):
            connection.abort(Cause.CHANNEL_CLOSE, TOO_FAST)
            return
        if len(self.connections) > self.limits.connections_max:
            connection.abort(Cause.CHANNEL_CLOSE, TOO_MANY)
            return
        if self.strangers.is_one(connection.address):
            connection.abort(Cause.CHANNEL_CLOSE, STRANGER)
            return
        self._set_options(transport)
        log.info("NETTY SERVER PIPELINE: channelActive, the channel[%s]", connection.address)

    def _set_options(self, transport: asyncio.Transport) -> None:
        transport.set_write_buffer_limits(high=self._high_water_bytes, low=self._low_water_bytes)
        accepted: socket.socket = transport.get_extra_info("socket")
        if self._send_buffer_bytes > 0:
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer_bytes)
        if self._receive_buffer_bytes > 0:
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer_bytes)

    def note_end(self, why: str) -> None:
        """The server ends a connection. Only reasons that are constants are kept apart: peers influence the others."""
        self.ended[why if why in ENDS else OTHER_END] += 1

    def closed(self, connection: AsyncioConnection, cause: Cause) -> None:
        """A connection is gone, whoever ended it."""
        if connection not in self.connections:
            return  # a reactor has it
        self.connections.discard(connection)
        if self._reactors is not None:
            self._reactors.released()
        self._closing.discard(connection)
        log.info("NETTY SERVER PIPELINE: channelInactive, the channel[%s]", connection.address)
        self.control.connection_closed(connection, cause)

    @property
    def incoming_bytes(self) -> int:
        """Bytes of frames that are not complete, or must wait."""
        return self.totals.bytes_of(INPUT)

    @property
    def outgoing_bytes(self) -> int:
        """Bytes of answers that peers have not taken."""
        return self.totals.bytes_of(OUTPUT)

    def close_idle(self) -> None:
        """End connections that are idle, or take long for their handshake, or have not finished closing since the last
        call."""
        for connection in list(islice(self._closing & self.connections, CLOSED_AT_ONCE_MAX)):
            connection.abort(Cause.CHANNEL_CLOSE, NOT_TAKEN)
        now_ms = self.now_ms()
        idle = (one for one in self.connections if 0 < one.idle_ms_max <= now_ms - one.last_active_ms and one.is_open)
        for connection in list(islice(idle, CLOSED_AT_ONCE_MAX)):
            log.warning("NETTY SERVER PIPELINE: IDLE exception [%s]", connection.address)
            connection.abort(Cause.CHANNEL_IDLE)
        late_ms = min(self.limits.progress_seconds * 1000, HANDSHAKE_MS_MAX)
        for connection in list(islice((one for one in self.connections if one.is_late(late_ms)), CLOSED_AT_ONCE_MAX)):
            connection.abort(Cause.CHANNEL_CLOSE, STALLED_HANDSHAKE)
        self._closing = {connection for connection in self.connections if not connection.is_open}

    def forgive(self, stall: Stall) -> int:
        """Move all idle limits by the length of a stall. Returns the number of connections."""
        for connection in self.connections:
            connection.forgive(stall.missed_ms)
        self.totals.forgive(stall)
        return len(self.connections)

    def has_read_all(self) -> bool:
        """Yes: between two periodic jobs the event loop reads all sockets that are ready."""
        return True

    async def stop(self) -> None:
        """Stop accepting, and end every connection."""
        if self._server is not None:
            self._server.close()
        for connection in list(self.connections):
            connection.abort(Cause.CHANNEL_CLOSE, "the server stops")
        await asyncio.sleep(0)
