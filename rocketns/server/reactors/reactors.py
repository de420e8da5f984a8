"""The reactors' connections as control sees them (compiled side: rocketns/_fast/reactor/reactors.pyx).

What `Reactors.take` gives of each kind: OPENED the peer's address, FRAME a request's frame, CLOSED why (`ENDINGS`),
HANDOFF the descriptor of a connection that begins with TLS or a PROXY header, MOVED the connection's new number, TAKEN
nothing, EXCESS the kind of bytes of which the asyncio lane has the connection with the most.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from rocketns._fast.connections.messages import Kind
from rocketns._fast.reactor.reactors import Reactors
from rocketns._fast.routes.routes import RouteSlots
from rocketns.config import Configuration
from rocketns.config.tls import TlsMode
from rocketns.protocol import proxy
from rocketns.protocol.codes import LanguageCode, SerializeType
from rocketns.routeinfo.events import Cause
from rocketns.server.control import WAITING_BYTES_MAX, Control
from rocketns.server.jobs import IDLE_CHECK, IDLE_CHECK_INTERVAL_MS
from rocketns.server.reactors.balance import Balance
from rocketns.server.reactors.reactor_channel import ReactorChannel
from rocketns.server.reactors.usage import Meter, Usage
from rocketns.server.requests.peek import seems_look_up
from rocketns.server.stall import IdleAllowance, Stall

if TYPE_CHECKING:
    from rocketns._fast.reactor.reactors import Limits

log = logging.getLogger("rocketns.reactors")

# Bound once: Kind.FRAME takes half a microsecond each time.
OPENED, FRAME, CLOSED, MOVED = Kind.OPENED, Kind.FRAME, Kind.CLOSED, Kind.MOVED
TAKEN, EXCESS = Kind.TAKEN, Kind.EXCESS
# Topic, client where clients are told apart, language, protocol version, look-ups, and how many found no route.
LookupCount = tuple[str | None, str | None, str | None, int | None, int, int]

MESSAGES_AT_ONCE_MAX = 128
TAKING_US_MAX = 5_000  # then requests are answered, and sockets, signals and timers looked at
REPLIED_BYTES_MAX = 16 * 1024 * 1024  # of answers that reactors have not looked at; control waits beyond it


def limits_of(configuration: Configuration, tls_mode: TlsMode) -> Limits:
    """The reactors' limits, from the configuration."""
    limits, netty = configuration.limits, configuration.netty
    return {
        "frame_bytes_max": limits.frame_bytes_max,
        "in_flight_max": limits.in_flight_max,
        "connections_max": limits.connections_max,
        "held_bytes_max": (limits.incoming_bytes_max, limits.outgoing_bytes_total_max),
        "queued_bytes_max": min(WAITING_BYTES_MAX, limits.incoming_bytes_max // 4),
        "first_frames_bytes_max": limits.incoming_bytes_max // 4,
        "outgoing_bytes_max": limits.outgoing_bytes_max,
        "high_water_bytes": netty.water_marks[1],
        "send_buffer_bytes": netty.server_socket_snd_buf_size,
        "receive_buffer_bytes": netty.server_socket_rcv_buf_size,
        "detection_bytes": proxy.DETECTION_BYTES,
        "serialize_type": SerializeType[configuration.serialize_type],
        "takes_plain": tls_mode is not TlsMode.ENFORCING,
    }


class ReactorLane:
    """Plain connections on the reactors' threads; the others are given to ``take_foreign``, an open socket each."""

    def __init__(
        self,
        configuration: Configuration,
        control: Control,
        slots: RouteSlots,
        tls_mode: TlsMode,
        take_foreign: Callable[[socket.socket], None],
    ) -> None:
        self._control = control
        self._netty = configuration.netty
        self._take_foreign = take_foreign
        self._high_water_bytes = configuration.netty.water_marks[1]
        self.close_largest: Callable[[int], None] | None = None
        self._channels: dict[int, ReactorChannel] = {}
        self._threads: list[threading.Thread] = []
        self._socket: socket.socket | None = None
        self._goes_on = False
        self._allowed = False
        self._allowance = IdleAllowance()
        self._rounds_wanted: list[int] = []
        self.lookups_handed_over = 0
        limits = limits_of(configuration, tls_mode)
        self.reactors = Reactors(slots, configuration.limits.reactor_count, limits)
        self.reactors.limit_idle(self._idle_ms_max)
        self.balance = Balance(self.reactors.count)
        self.read_usage: Callable[[], Usage | None] = lambda: None  # known when the threads run

        journal = configuration.journal
        if journal.journal_path and journal.journal_lookup_seconds:
            self.reactors.count_lookups(journal.journal_lookup_keys_max, journal.journal_lookup_clients)

    @property
    def _idle_ms_max(self) -> int:
        return self._netty.server_channel_max_idle_time_seconds * 1000

    def start(self, listening: socket.socket) -> None:
        """Serve; the socket is this lane's from now on."""
        self._socket = listening
        listening.setblocking(False)
        self.reactors.listen(listening.fileno())
        asyncio.get_running_loop().add_reader(self.reactors.fileno(), self._take)
        for number in range(self.reactors.count):
            thread = threading.Thread(target=self.reactors.run, args=(number,), name=f"reactor-{number}", daemon=True)
            thread.start()
            self._threads.append(thread)
        if self.reactors.count > 1:
            self.read_usage = Meter(self._threads).read
            jobs = self._control.jobs
            first_ms = jobs.due_ms(IDLE_CHECK)
            jobs.add("balanceReactors", self.balance_reactors, first_ms=first_ms, every_ms=IDLE_CHECK_INTERVAL_MS)

    def balance_reactors(self) -> None:
        """Spread the connections over more reactors, or gather them, as the last window's load asks for."""
        usage = self.read_usage() if self._socket is not None else None
        if usage is None:
            return
        before = self.balance.active
        gives = self.balance.decide(usage, self.reactors.carried())
        if self.balance.active != before:
            log.info("%d reactors carry connections, %d before: busy %s, idle cores %.2f", self.balance.active, before,
                     " ".join(f"{share:.2f}" for share in usage.shares), usage.idle)  # fmt: skip
            self.reactors.deal_to(self.balance.active)
        for give in gives:
            self.reactors.give(give.source, give.target, give.thousandths, give.recent_ms)

    def _take(self) -> None:
        """Take what came, for a bounded time."""
        ends_ns = self._control.clock.spent_ns() + TAKING_US_MAX * 1000
        self._take_some()
        while self.reactors.has_more and self._control.clock.spent_ns() < ends_ns:
            self._take_some()
        if self.reactors.has_more and not self._goes_on:
            self._goes_on = True
            asyncio.get_running_loop().call_soon(self._go_on)

    def _take_some(self) -> None:
        for kind, connection, content in self.reactors.take(MESSAGES_AT_ONCE_MAX):
            if kind == FRAME:
                assert not isinstance(content, str | int)
                self._request(self._channels[connection], content)
            elif kind == OPENED:
                self._opened(connection, str(content))
            elif kind == CLOSED:
                self._closed(connection, int(content))
            elif kind == TAKEN:
                self._answers_were_taken(self._channels[connection])
            elif kind == EXCESS:
                assert self.close_largest is not None
                self.close_largest(int(content))
            elif kind == MOVED:
                self._moved(connection, int(content))
            else:
                self._take_foreign(socket.socket(fileno=int(content)))

    def _go_on(self) -> None:
        self._goes_on = False
        if self._socket is not None:
            self._take()

    def _answers_were_taken(self, channel: ReactorChannel) -> None:
        channel.answers_were_taken()
        if not channel.is_full:
            self._control.resume(channel)

    def _opened(self, connection: int, address: str) -> None:
        self._channels[connection] = ReactorChannel(self.reactors, connection, address, self._high_water_bytes)
        log.info("NETTY SERVER PIPELINE: channelActive, the channel[%s]", address)

    def _moved(self, connection: int, to: int) -> None:
        channel = self._channels[to] = self._channels.pop(connection)
        channel.moved(to)
        self._control.resume(channel)

    def _closed(self, connection: int, ending: int) -> None:
        channel = self._channels.pop(connection)
        cause = channel.ended(ending)
        if cause is Cause.CHANNEL_IDLE:
            log.warning("NETTY SERVER PIPELINE: IDLE exception [%s]", channel.address)
        log.info("NETTY SERVER PIPELINE: channelInactive, the channel[%s]", channel.address)
        self._control.on_channel_closed(channel, cause)

    def _request(self, channel: ReactorChannel, frame: bytes | memoryview) -> None:
        if channel.was_ended_here:  # nothing behind that counts
            channel.release(len(frame))
            return
        channel.took_frame()
        self.lookups_handed_over += seems_look_up(frame)
        self._control.submit(channel, frame)

    @property
    def is_behind(self) -> bool:
        return self.reactors.replied_bytes > REPLIED_BYTES_MAX

    def allow(self, allowed: bool) -> None:
        """Whether look-ups may be answered without control. Called after whatever may have changed a property."""
        self.reactors.limit_idle(self._idle_ms_max)
        if allowed is not self._allowed:
            self._allowed = allowed
            self.reactors.enable(allowed)

    def close_idle(self) -> None:
        """End connections without a byte for their limit."""
        self.reactors.close_idle(self._allowance.reduce(self._control.clock.now().ms))

    def forgive(self, stall: Stall) -> int:
        """After a stall: how many connections' idle limits are moved."""
        self._allowance.add(stall, self._idle_ms_max)
        self._rounds_wanted = [rounds + 2 for rounds in self.reactors.rounds]  # the one under way may be older
        return self.reactors.connections

    def has_read_all(self) -> bool:
        """Whether all that waited in sockets at the last `forgive` has come to control. Wakes idle reactors."""
        came = all(seen >= wanted for seen, wanted in zip(self.reactors.rounds, self._rounds_wanted, strict=False))
        self.reactors.close_idle(0)
        return came and not self.reactors.has_news

    def adopt(self, connection: socket.socket, address: str, received: bytes) -> None:
        """Carry on a connection whose PROXY header was taken off; the socket object may be closed afterwards."""
        self.reactors.adopt(connection.dup().detach(), address.encode("ascii", "replace"), received)

    def drain_lookups(self) -> tuple[list[LookupCount], LookupCount]:
        """What the reactors answered since the last call, and the sum of what did not fit their counters."""
        rows, lookups, misses = self.reactors.drain_lookups()
        counts: list[LookupCount] = [
            (topic, client, _language(code), version, n, miss) for topic, client, code, version, n, miss in rows
        ]
        return counts, (None, None, None, None, lookups, misses)

    def released(self) -> None:
        """A connection that was given away is closed."""
        self.reactors.released()

    def stop(self) -> None:
        """End every connection. Control takes nothing more."""
        if self._socket is None:
            return
        asyncio.get_running_loop().remove_reader(self.reactors.fileno())
        self.reactors.stop()
        for thread in self._threads:
            thread.join()
        self._socket.close()
        self._socket = None
        counted = self.reactors.counters()
        log.info("route look-ups: %d answered by reactors, %d handed over",
                 sum(map(sum, counted)), self.lookups_handed_over)  # fmt: skip


def _language(code: int) -> str | None:
    return LanguageCode(code).name if code in LanguageCode._value2member_map_ else None
