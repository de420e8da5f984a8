"""The reactors' connections as control sees them (compiled side: rocketns/_fast/reactors.pyx).

What `Reactors.take` gives of each kind: OPENED the peer's address, FRAME a request's frame, CLOSED why (`ENDINGS`),
FOREIGN the descriptor of a connection that begins with TLS or a PROXY header, MOVED the connection's new number.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from rocketns._fast.reactors import Reactors
from rocketns._fast.routes import RouteSlots
from rocketns.config import Configuration
from rocketns.config.tls import TlsMode
from rocketns.errors import MalformedFrame
from rocketns.protocol import command, proxy
from rocketns.protocol.codes import LanguageCode, RequestCode, SerializeType
from rocketns.routeinfo.events import Cause
from rocketns.server.balance import INTERVAL_MS, Balance
from rocketns.server.control import Control
from rocketns.server.usage import Meter, Usage

log = logging.getLogger("rocketns.reactors")

OPENED, FRAME, CLOSED, FOREIGN, MOVED = 1, 2, 3, 4, 15
# Topic, client where clients are told apart, language, protocol version, look-ups, and how many found no route.
LookupCount = tuple[str | None, str | None, str | None, int | None, int, int]

MESSAGES_AT_ONCE_MAX = 1024
DECODED_AT_ONCE_MAX = 512
QUEUED_BYTES_MAX = 8 * 1024 * 1024  # of frames that control has not decoded
HIGH_WATER_MARK_BYTES = 64 * 1024  # Netty's default

# What a connection ended of, by messages.Ending; and why, where the reactor decided it.
ENDINGS = (
    (Cause.CHANNEL_CLOSE, ""),
    (Cause.CHANNEL_EXCEPTION, ""),
    (Cause.CHANNEL_IDLE, "IDLE"),
    (Cause.CHANNEL_CLOSE, "malformed frame"),
    (Cause.CHANNEL_CLOSE, ""),
    (Cause.CHANNEL_CLOSE, "too many unsent bytes"),
    (Cause.CHANNEL_CLOSE, "it holds the most of too many bytes of unfinished frames"),
)


@dataclass(slots=True)
class ReactorLimits:
    """`rocketns._fast.reactors.ReactorLimits`."""

    frame_bytes_max: int
    in_flight_max: int
    connections_max: int
    incoming_bytes_max: int
    queued_bytes_max: int
    outgoing_bytes_max: int
    high_water_bytes: int
    send_buffer_bytes: int
    receive_buffer_bytes: int

    @classmethod
    def of(cls, configuration: Configuration) -> ReactorLimits:
        limits, netty = configuration.limits, configuration.netty
        return cls(
            limits.frame_bytes_max,
            limits.in_flight_max,
            limits.connections_max,
            limits.incoming_bytes_max,
            min(QUEUED_BYTES_MAX, limits.incoming_bytes_max // 4),
            limits.outgoing_bytes_max,
            netty.write_buffer_high_water_mark or HIGH_WATER_MARK_BYTES,
            netty.server_socket_snd_buf_size,
            netty.server_socket_rcv_buf_size,
        )


class ReactorChannel:
    """A peer by identity, like `rocketns.server.channel.Channel`; its socket is a reactor's."""

    __slots__ = (
        "_cause",
        "_id",
        "_reactors",
        "_replies",
        "_taken",
        "address",
        "frames",
        "has_ended",
        "in_flight",
        "is_open",
        "was_ended_here",
    )

    def __init__(self, reactors: Reactors, connection: int, address: str) -> None:
        self._reactors = reactors
        self._id = connection
        self._replies: list[bytes] = []
        self._taken = 0
        self.frames: deque[bytes | memoryview] | None = None  # an empty one takes 600 bytes
        self._cause: Cause | None = None
        self.address = address
        self.in_flight = 0
        self.is_open = True
        self.was_ended_here = False
        self.has_ended = False

    def took_frame(self) -> None:
        """Every frame counts as in flight at the reactor until a `flush` that finds it answered."""
        self._taken += 1

    def write(self, frame: bytes) -> None:
        """Add an answer; it is sent with the next `flush`."""
        self._replies.append(frame)

    def flush(self) -> None:
        """Send the answers added so far, and let the reactor read on for as many requests."""
        done, self._taken = self._taken - self.in_flight, self.in_flight
        replies, self._replies = self._replies, []
        if self.is_open and (done or replies):
            self._reactors.reply(self._id, done, replies[0] if len(replies) == 1 else b"".join(replies))

    def close(self, why: str) -> None:
        """End the connection after what was already written."""
        if self.is_open:
            log.info("closeChannel: close the connection to remote address[%s]: %s", self.address, why)
            self.flush()
            self.is_open, self.was_ended_here = False, True
            self._reactors.end(self._id)

    def abort(self, cause: Cause, why: str = "") -> None:
        """End the connection at once; ``cause`` is what the broker on it is unregistered for."""
        if not self.has_ended:
            log.info("closeChannel: close the connection to remote address[%s]: %s", self.address, why or cause)
            self._cause = cause
            self.is_open, self.was_ended_here = False, True
            self._reactors.abort(self._id)

    def moved(self, connection: int) -> None:
        """Another reactor has it. What was last said to the former one may have come too late: it is said again."""
        self._id = connection
        if self._cause is not None:
            self._reactors.abort(connection)
        elif self.was_ended_here:
            self._reactors.end(connection)

    def ended(self, ending: int) -> Cause:
        """The reactor closed it; what for."""
        cause, why = ENDINGS[ending]
        if why and self._cause is None:
            log.info("closeChannel: close the connection to remote address[%s]: %s", self.address, why)
        self.is_open, self.has_ended = False, True
        return self._cause or cause


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
        self._channels: dict[int, ReactorChannel] = {}
        self._threads: list[threading.Thread] = []
        self._socket: socket.socket | None = None
        self._turns: deque[ReactorChannel] = deque()
        self._goes_on = False
        self._allowed = False
        self.lookups_handed_over = 0
        self.reactors = Reactors(
            slots,
            configuration.limits.reactor_count,
            ReactorLimits.of(configuration),
            tls_mode is not TlsMode.ENFORCING,
            proxy.DETECTION_BYTES,
            SerializeType[configuration.serialize_type],
            self._idle_ms_max,
        )
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
            first_ms = self._control.clock.now().ms + INTERVAL_MS
            self.read_usage = Meter(self._threads).read
            self._control.jobs.add("balanceReactors", self.balance_reactors, first_ms=first_ms, every_ms=INTERVAL_MS)

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
        """Take what came, then decode one frame of each connection in turn: none waits for the many of another."""
        for kind, connection, content in self.reactors.take(MESSAGES_AT_ONCE_MAX):
            if kind == FRAME:
                assert not isinstance(content, str | int)
                self._queue(self._channels[connection], content)
            elif kind == OPENED:
                self._opened(connection, str(content))
            elif kind == CLOSED:
                self._closed(connection, int(content))
            elif kind == MOVED:
                self._moved(connection, int(content))
            else:
                self._take_foreign(socket.socket(fileno=int(content)))
        for _ in range(DECODED_AT_ONCE_MAX):
            if not self._turns:
                break
            self._decode_next()
        if (self._turns or self.reactors.has_more) and not self._goes_on:
            self._goes_on = True
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._goes_on = False
        if self._socket is not None:
            self._take()

    def _queue(self, channel: ReactorChannel, frame: bytes | memoryview) -> None:
        if channel.frames is None:
            channel.frames = deque()
            self._turns.append(channel)
        channel.frames.append(frame)

    def _decode_next(self) -> None:
        channel = self._turns.popleft()
        assert channel.frames, "only channels with frames take turns"
        frame = channel.frames.popleft()
        if channel.frames:
            self._turns.append(channel)
        else:
            channel.frames = None
        self.reactors.done_with(len(frame))
        self._request(channel, frame)

    def _opened(self, connection: int, address: str) -> None:
        self._channels[connection] = ReactorChannel(self.reactors, connection, address)
        log.info("NETTY SERVER PIPELINE: channelActive, the channel[%s]", address)

    def _moved(self, connection: int, to: int) -> None:
        channel = self._channels[to] = self._channels.pop(connection)
        channel.moved(to)

    def _closed(self, connection: int, ending: int) -> None:
        channel = self._channels.pop(connection)
        cause = channel.ended(ending)
        if cause is Cause.CHANNEL_IDLE:
            log.warning("NETTY SERVER PIPELINE: IDLE exception [%s]", channel.address)
        log.info("NETTY SERVER PIPELINE: channelInactive, the channel[%s]", channel.address)
        self._control.on_channel_closed(channel, cause)

    def _request(self, channel: ReactorChannel, frame: bytes | memoryview) -> None:
        channel.took_frame()
        if channel.was_ended_here:
            return  # nothing behind that counts
        try:
            request = command.decode(frame)
        except MalformedFrame as error:
            channel.close(f"decode error: {error}")
            return
        except Exception:
            log.exception("decode exception, close %s", channel.address)
            channel.close("decode exception")
            return
        if request.is_response:
            channel.flush()
        else:
            self.lookups_handed_over += request.code == RequestCode.GET_ROUTEINFO_BY_TOPIC
            self._control.submit(channel, request, len(frame))

    def allow(self, allowed: bool) -> None:
        """Whether look-ups may be answered without control. Called after whatever may have changed a property."""
        self.reactors.limit_idle(self._idle_ms_max)
        if allowed is not self._allowed:
            self._allowed = allowed
            self.reactors.enable(allowed)

    def close_idle(self) -> None:
        """End connections without a byte for their limit."""
        self.reactors.close_idle(self._control.clock.now().ms)

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
