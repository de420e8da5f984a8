"""The asyncio lane: the listening socket and all its connections, with their idle limits and their number."""

from __future__ import annotations

import asyncio
import logging
import socket
from itertools import islice

from rocketns.config import Configuration
from rocketns.errors import StartupError
from rocketns.routeinfo.events import Cause
from rocketns.server.connections.channel import INPUT, OUTPUT, Channel
from rocketns.server.connections.holders import Holders
from rocketns.server.control import Control
from rocketns.server.jobs import IDLE_CHECK, IDLE_CHECK_INTERVAL_MS
from rocketns.server.peer import host_of
from rocketns.server.reactors.reactor_channel import TOO_MUCH_UNFINISHED, TOO_MUCH_UNSENT
from rocketns.server.reactors.reactors import ReactorLane
from rocketns.server.stall import Stall
from rocketns.server.tls.contexts import WATCH_INTERVAL_MS, TlsContexts
from rocketns.server.tls.handshakes import Handshakes

log = logging.getLogger("rocketns.lane")

BACKLOG = 1024  # NettyRemotingServer ignores serverSocketBacklog too
# Few enough that those beyond connectionsMax are closed before the files in reserve for them run out.
ACCEPTED_AT_ONCE_MAX = 16
CLOSED_AT_ONCE_MAX = 1_000  # the next check closes more


class Lane:
    """Accepts, counts and ends connections. Everything runs on the event loop's thread."""

    def __init__(self, configuration: Configuration, control: Control) -> None:
        self.control = control
        self.configuration = configuration
        self.netty = configuration.netty
        self.limits = configuration.limits
        self._holders: tuple[Holders[Channel], Holders[Channel]] = (Holders(), Holders())
        self.channels: set[Channel] = set()
        self.tls = TlsContexts(configuration.read_tls)
        self.handshakes = Handshakes(control.clock.spent_ns)
        self._closing: set[Channel] = set()
        self._server: asyncio.Server | None = None
        self.reactors: ReactorLane | None = None
        self._arriving: set[asyncio.Task[object]] = set()
        self._send_buffer_bytes = self.netty.server_socket_snd_buf_size
        self._receive_buffer_bytes = self.netty.server_socket_rcv_buf_size
        self._low_water_bytes, self._high_water_bytes = self.netty.water_marks
        first_ms = self.now_ms() + IDLE_CHECK_INTERVAL_MS
        control.jobs.add(IDLE_CHECK, self.close_idle, first_ms=first_ms, every_ms=IDLE_CHECK_INTERVAL_MS)
        first_ms = self.now_ms() + WATCH_INTERVAL_MS
        control.stalls.forgive, control.stalls.has_read_all = self._forgive, self._has_read_all
        control.jobs.add("FileWatchService", self.tls.check_files, first_ms=first_ms, every_ms=WATCH_INTERVAL_MS)

    def _forgive(self, stall: Stall) -> int:
        for channel in self.channels:
            channel.last_active_ms += stall.missed_ms
        return len(self.channels) if self.reactors is None else self.reactors.forgive(stall)

    def _has_read_all(self) -> bool:
        return self.reactors is None or self.reactors.has_read_all()

    def now_ms(self) -> int:
        return self.control.clock.now().ms

    async def listen(self) -> int:
        """Bind and accept; the port. StartupError where that fails."""
        await self.tls.start()
        host, port = self.netty.bind_address, self.netty.listen_port
        loop = asyncio.get_running_loop()
        try:
            listening = socket.create_server((host, port), family=_family(host))
            port = int(listening.getsockname()[1])
            if self.limits.reactor_count:
                listening.listen(BACKLOG)
                self._start_reactors(listening)
                return port
            # asyncio takes its backlog for the number of connections to accept in one go as well
            self._server = await loop.create_server(lambda: Channel(self), sock=listening, backlog=ACCEPTED_AT_ONCE_MAX)
            listening.listen(BACKLOG)
        except (OSError, OverflowError, TypeError, ValueError) as error:
            raise StartupError(f"Failed to bind to {host}:{port}: {error}") from error
        return port

    def _start_reactors(self, listening: socket.socket) -> None:
        slots = self.control.publisher.slots
        self.reactors = ReactorLane(self.configuration, self.control, slots, self.tls.mode, self._take_foreign)
        self.reactors.close_largest = self.hold_to
        self.control.fast_lane = self.reactors
        self.reactors.start(listening)
        self.control.update_fast_lane()

    def _take_foreign(self, connection: socket.socket) -> None:
        """A reactor's connection that is for this lane: nothing was read of it."""

        async def take() -> None:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: Channel(self), connection)

        task = asyncio.get_running_loop().create_task(take())
        self._arriving.add(task)
        task.add_done_callback(self._arriving.discard)

    def give_back(self, channel: Channel, connection: socket.socket, received: bytes) -> bool:
        """A reactor carries a plain connection on, which is then no longer this lane's; False without reactors."""
        if self.reactors is None:
            return False
        self.channels.discard(channel)
        self.reactors.adopt(connection, channel.address, received)
        return True

    def opened(self, channel: Channel, transport: asyncio.Transport) -> None:
        """A connection was accepted: over the limit it is closed at once."""
        peer = transport.get_extra_info("peername")
        channel.address = f"{peer[0]}:{peer[1]}" if peer else "?"
        channel.host = host_of(channel.address)
        channel.last_active_ms = self.now_ms()
        channel.idle_ms_max = self.netty.server_channel_max_idle_time_seconds * 1000
        self.channels.add(channel)
        if len(self.channels) > self.limits.connections_max:
            channel.abort(Cause.CHANNEL_CLOSE, f"more than {self.limits.connections_max} connections")
            return
        self._set_options(transport)
        log.info("NETTY SERVER PIPELINE: channelActive, the channel[%s]", channel.address)

    def _set_options(self, transport: asyncio.Transport) -> None:
        transport.set_write_buffer_limits(high=self._high_water_bytes, low=self._low_water_bytes)
        connection: socket.socket = transport.get_extra_info("socket")
        if self._send_buffer_bytes > 0:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._send_buffer_bytes)
        if self._receive_buffer_bytes > 0:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer_bytes)

    def closed(self, channel: Channel, cause: Cause) -> None:
        """A connection is gone, whoever ended it."""
        if channel not in self.channels:
            return  # a reactor has it
        self.channels.discard(channel)
        if self.reactors is not None:
            self.reactors.released()
        self._closing.discard(channel)
        log.info("NETTY SERVER PIPELINE: channelInactive, the channel[%s]", channel.address)
        self.control.on_channel_closed(channel, cause)

    @property
    def incoming_bytes(self) -> int:
        """What came of frames that are not complete, or must wait."""
        return self._holders[INPUT].total

    def hold(self, kind: int, channel: Channel, size: int) -> int:
        """The connection holds so many bytes from now on: `INPUT` is what it sent, `OUTPUT` answers that wait.

        How many more that is.
        """
        holders = self._holders[kind]
        changed = holders.hold(channel, size)
        if changed and self.reactors is not None:
            self.reactors.reactors.hold_here(kind, changed, holders.largest()[1])
        return changed

    def hold_to(self, kind: int) -> None:
        """Over the limit, end the connection that holds the most, if it is here: what others send gets through."""
        while self._is_to_close(kind):
            largest, _ = self._holders[kind].largest()
            assert largest is not None, "the total is the sum of all"
            if kind == OUTPUT and self.hold(OUTPUT, largest, largest.unsent_bytes) < 0:
                continue  # its peer took some meanwhile
            largest.abort(Cause.CHANNEL_CLOSE, TOO_MUCH_UNSENT if kind == OUTPUT else TOO_MUCH_UNFINISHED)

    def _is_to_close(self, kind: int) -> bool:
        if self.reactors is not None:
            return self.reactors.reactors.is_to_close_here(kind)
        limits = self.limits
        most = limits.outgoing_bytes_total_max if kind == OUTPUT else limits.incoming_bytes_max
        return self._holders[kind].total > most

    def close_idle(self) -> None:
        """End connections without a byte for their limit, and those that could not finish closing for a round."""
        if self.reactors is not None:
            self.reactors.close_idle()
            self.control.update_fast_lane()
        for channel in list(islice(self._closing & self.channels, CLOSED_AT_ONCE_MAX)):
            channel.abort(Cause.CHANNEL_CLOSE, "its last answers were not taken")
        now_ms = self.now_ms()
        idle = (one for one in self.channels if 0 < one.idle_ms_max <= now_ms - one.last_active_ms and one.is_open)
        for channel in list(islice(idle, CLOSED_AT_ONCE_MAX)):
            log.warning("NETTY SERVER PIPELINE: IDLE exception [%s]", channel.address)
            channel.abort(Cause.CHANNEL_IDLE)
        self._closing = {channel for channel in self.channels if not channel.is_open}

    async def stop(self) -> None:
        """Stop accepting and end every connection."""
        if self._server is not None:
            self._server.close()
        if self.reactors is not None:
            self.reactors.stop()
        for channel in list(self.channels):
            channel.abort(Cause.CHANNEL_CLOSE, "the server stops")
        await asyncio.sleep(0)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
