"""The reactors' connections as control sees them (compiled side: rocketns/_fast/reactor/reactors.pyx)."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections import Counter
from collections.abc import Collection, Iterator

from rocketns._fast.connections.connection import Ending
from rocketns._fast.reactor.reactors import Reactors
from rocketns.addresses import host_of, unpacked
from rocketns.config import Configuration
from rocketns.logs import LogLimiter
from rocketns.protocol.codes import language_name
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import Cause
from rocketns.server.clock import Clock
from rocketns.server.control.control import Control
from rocketns.server.missing import Counted, TopicAsker
from rocketns.server.process import be_nicer
from rocketns.server.reactors.handle import HANDSHAKE_MS_MAX
from rocketns.server.stall import Stall
from rocketns.server.tls.connection import names_in
from rocketns.server.tls.contexts import TlsContexts

log = logging.getLogger("rocketns.reactors")

# Answers are joined and sent at the end of a turn, or as soon as there are so many bytes.
JOINED_BYTES_MAX = 64 * 1024

# Why the reactor closed a connection, for the log. The peer itself ended the others.
REASONS: dict[int, str] = {
    Ending.IDLE: "IDLE",
    Ending.MALFORMED_FRAME: "malformed frame",
    Ending.TOO_MUCH_UNSENT: "too many unsent bytes",
    Ending.TOO_MUCH_UNFINISHED:
        "over the limit for unfinished frames (incomingBytesMax), and this connection is the first to go",
    Ending.TOO_MUCH_UNSENT_IN_ALL:
        "over the limit for unsent answers (outgoingBytesTotalMax), and this connection is the first to go",
    Ending.STALLED_FRAME: "too little of its unfinished frame came (progressSeconds)",
    Ending.STALLED_ANSWERS: "too little of its unsent answers was taken (progressSeconds)",
    Ending.STRANGER: "no network of the access policy has its address",
    Ending.TLS_FAILED: "TLS failed",
    Ending.TLS_DISABLED: "it wants TLS, and tls.server.mode is disabled",
    Ending.NOT_TLS: "it does not use TLS, and tls.server.mode is enforcing",
    Ending.NO_CERTIFICATE: "it wants TLS, and there is no usable certificate",
    Ending.STALLED_HANDSHAKE: "its TLS handshake, or its PROXY header, did not end within 10 s",
    Ending.UNTRUSTED_PROXY: "a PROXY header from an address that is not in rocketns.trustedProxies",
    Ending.WRONG_PROXY_HEADER: "a wrong PROXY header",
}  # fmt: skip
CAUSES: dict[int, Cause] = {Ending.FAILED: Cause.CHANNEL_EXCEPTION, Ending.IDLE: Cause.CHANNEL_IDLE}


class ReactorConnection(Connection):
    """One connection of a reactor: joins answers for the reactor, and ends the connection."""

    __slots__ = (
        "_allowed_in", "_answered", "_awaited", "_cause", "_high_water_bytes", "_host_number", "_number", "_reactors",
        "_replies", "_reply_bytes", "_reported", "_untaken", "has_ended", "is_open", "was_ended_here",
    )  # fmt: skip

    def __init__(
        self, reactors: Reactors, number: int, host_number: int, address: str, high_water_bytes: int,
        since_epoch_ms: int, host: str | None = None, *, is_tls: bool = False, is_announced: bool = False,
    ) -> None:  # fmt: skip
        """``host_number`` is the reactors' own. ``host``: if it is not the address's."""
        super().__init__(address, host or host_of(address), since_epoch_ms, is_announced=is_announced)
        self._reactors = reactors
        self._number = number
        self._host_number = host_number
        self._high_water_bytes = high_water_bytes
        self._replies: list[bytes] = []
        self._reply_bytes = 0
        self._untaken = 0  # bytes of answers given to the reactor, and not known to be taken by the peer
        self._awaited = 0  # of these, the bytes that the reactor was asked about
        self._reported = 0  # requests of which the reactor was told that they are done
        self._cause: Cause | None = None
        self._allowed_in = 0  # for the next answer, see `allow_lookups`
        self._answered = 0  # lookups that reactors answered, when they were read last
        self.is_open = True
        self.is_tls = is_tls
        self.was_ended_here = False
        self.has_ended = False

    @property
    def requests(self) -> int:
        """After its end, with the lookups that were known before."""
        self._answered = max(self._answered, self._reactors.lookups_of(self._number))
        return self.received + self._answered

    def release(self, frame_bytes: int) -> None:
        self._reactors.done_with(frame_bytes, self._host_number)

    def write(self, frame: bytes) -> None:
        """Add an answer. It is sent with the next `flush`, or now if many bytes are joined."""
        self._replies.append(frame)
        self._reply_bytes += len(frame)
        if self._reply_bytes >= JOINED_BYTES_MAX:
            self.flush()

    @property
    def is_full(self) -> bool:
        return self.is_open and self._untaken + self._reply_bytes > self._high_water_bytes

    def flush(self) -> None:
        """Send the answers added so far, and let the reactor, which counts requests in flight, read as many more."""
        done = self.received - self.in_flight - self._reported
        self._reported += done
        replies, self._replies = self._replies, []
        self._untaken += self._reply_bytes
        self._reply_bytes = 0
        if self.is_open and (done or replies):
            self._reply(done, replies[0] if len(replies) == 1 else b"".join(replies))

    def allow_lookups(self) -> None:
        """The reactor hears of it with the next answer, so before the peer can send a request that follows it."""
        self._allowed_in = self._reactors.access_generation

    def _reply(self, done: int, answers: bytes) -> None:
        """Ask the reactor to report when the answers are taken: at half of the high-water mark, so that a peer that
        takes its answers never waits for the report."""
        awaits = not self._awaited and self._untaken > self._high_water_bytes // 2
        if awaits:
            self._awaited = self._untaken
        allowed_in, self._allowed_in = self._allowed_in, 0
        self._reactors.reply(self._number, done, answers, awaits, self.is_broker, allowed_in)

    def answers_were_delivered(self) -> None:
        """The peer took the answers that the reactor was asked about."""
        self._untaken -= self._awaited
        self._awaited = 0
        if self.is_full:
            self._reply(0, b"")

    def close(self, why: str) -> None:
        """End the connection after the answers already written."""
        if self.is_open:
            log.info("closeChannel: close the connection to remote address[%s]: %s", self.address, why)
            self.flush()
            self.is_open, self.was_ended_here = False, True
            self._reactors.end(self._number)

    def abort(self, cause: Cause, why: str = "") -> None:
        """End the connection at once. The broker on it is unregistered for ``cause``."""
        if not self.has_ended:
            log.info("closeChannel: close the connection to remote address[%s]: %s", self.address, why or cause)
            self._cause = cause
            self.is_open, self.was_ended_here = False, True
            self._reactors.abort(self._number)

    def ended(self, ending: int) -> Cause:
        """The reactor closed the connection. Returns the cause."""
        why = REASONS.get(ending, "")
        if why and self._cause is None:
            log.info("closeChannel: close the connection to remote address[%s]: %s", self.address, why)
        self.is_open, self.has_ended = False, True
        return self._cause or CAUSES.get(ending, Cause.CHANNEL_CLOSE)


MESSAGES_AT_ONCE_MAX = 128
HANDSHAKES = "tls-handshakes"
HANDSHAKE_NICENESS = 5  # how much nicer its thread is than the reactors, as control is
PROXIES_LOGGED_EVERY_MS = 1_000
DELIVERING_US_MAX = 5_000  # then requests are answered, and sockets, signals and timers get their turn


def _gone(packed: bytes) -> TopicAsker:
    """A peer whose connection has ended: its port is not known any more."""
    host = unpacked(packed)
    return TopicAsker(host_of(f"{host}:0"), host)


class ReactorTransport:
    """All connections. Runs on control's thread.

    It is the `Receiver` of the reactors' messages: `frame`, `opened` and so on.

    ``opened_total`` and ``opened_with_tls`` count, ``endings`` by `Ending`, ``open_with_tls`` only those that are open.
    Any thread may read them.
    """

    def __init__(
        self, configuration: Configuration, reactors: Reactors, control: Control, clock: Clock,
        tls: TlsContexts,
    ) -> None:  # fmt: skip
        self._netty = configuration.netty
        self._trusts_announced = bool(configuration.access.proxies)
        self._progress_ms_max = configuration.limits.progress_seconds * 1000
        self._reactors = reactors
        self._control = control
        self._clock = clock
        self._tls = tls
        self._proxy_lines = LogLimiter(PROXIES_LOGGED_EVERY_MS)
        self._high_water_bytes = configuration.netty.water_marks[1]
        self._connections: dict[int, ReactorConnection] = {}
        self._threads = [
            threading.Thread(target=reactors.run, args=(number,), name=f"reactor-{number}", daemon=True)
            for number in range(reactors.count)
        ]
        self._threads.append(threading.Thread(target=self._shake_hands, name=HANDSHAKES, daemon=True))
        self._listening: tuple[socket.socket, ...] = ()
        self._goes_on = False
        self._missed_ms = self._missed_until_ms = 0  # by a stall: see `close_idle`
        self._rounds_wanted: list[int] = []
        self.opened_total = self.opened_with_tls = self.open_with_tls = 0
        self.endings: Counter[int] = Counter()

    def _shake_hands(self) -> None:
        """The handshake thread: lookups go first where both want the same core."""
        be_nicer(HANDSHAKE_NICENESS)
        self._reactors.run(self._reactors.count)

    @property
    def connections(self) -> Collection[ReactorConnection]:
        """The open connections. Control only."""
        return self._connections.values()

    def accept(self, *listening: socket.socket) -> None:
        """Accept all connections of the listening sockets, which are this transport's from now on: the first is that of
        listenPort, the others are numbered as listeners from 1.
        """
        self._listening = listening
        for one in listening:
            one.setblocking(False)
            self._reactors.listen(one.fileno())
        asyncio.get_running_loop().add_reader(self._reactors.fileno(), self._deliver)
        for thread in self._threads:
            thread.start()

    def _deliver(self) -> None:
        """Take the waiting messages, for a bounded time."""
        ends_ns = self._clock.spent_ns() + DELIVERING_US_MAX * 1000
        self._reactors.deliver(MESSAGES_AT_ONCE_MAX, self)
        while self._reactors.has_news and self._clock.spent_ns() < ends_ns:
            self._reactors.deliver(MESSAGES_AT_ONCE_MAX, self)
        if self._reactors.has_news and not self._goes_on:
            self._goes_on = True
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._goes_on = False
        if self._listening:
            self._deliver()

    def frame(self, number: int, frame: bytes | memoryview, is_beyond_rate: bool) -> None:
        connection = self._connections[number]
        if connection.was_ended_here:  # frames behind the end do not count
            connection.release(len(frame))
            self._reactors.end_frame()
            return
        self._control.submit(connection, frame, is_beyond_rate=is_beyond_rate, is_awaited=True)

    def answers_delivered(self, number: int) -> None:
        connection = self._connections[number]
        connection.answers_were_delivered()
        if not connection.is_full:
            self._control.resume(connection)

    def opened(self, number: int, host: int, is_tls: bool, peer: tuple[str, str | None, bytes, int]) -> None:
        address, socket_address, certificate, listener = peer
        socket_host = None if socket_address is None or self._trusts_announced else host_of(socket_address)
        self.opened_total += 1
        self.opened_with_tls += is_tls
        self.open_with_tls += is_tls
        connection = self._connections[number] = ReactorConnection(
            self._reactors, number, host, address, self._high_water_bytes, self._clock.now().epoch_ms,
            socket_host, is_tls=is_tls, is_announced=socket_address is not None,
        )  # fmt: skip
        connection.listener = listener
        connection.peer_names = names_in(certificate) if certificate else ()
        log.info("NETTY SERVER PIPELINE: channelActive, the channel[%s]", address)

    def closed(self, number: int, ending: int) -> None:
        connection = self._connections.pop(number)
        self.open_with_tls -= connection.is_tls
        self.endings[ending] += 1
        cause = connection.ended(ending)
        if cause is Cause.CHANNEL_IDLE:
            log.warning("NETTY SERVER PIPELINE: IDLE exception [%s]", connection.address)
        log.info("NETTY SERVER PIPELINE: channelInactive, the channel[%s]", connection.address)
        self._control.connection_closed(connection, cause)

    def looked_up(self, number: int, language: int, version: int) -> None:
        self._connections[number].note_sender(language_name(language), version)

    def refused(self, ending: int, address: str, reason: str) -> None:
        """A connection ended before its first frame."""
        self.endings[ending] += 1
        if ending == Ending.UNTRUSTED_PROXY and (count := self._proxy_lines.due(self._clock.now().ms)):
            log.warning("closed the connection of %s: it began with a PROXY header, and its address is not in "
                        "rocketns.trustedProxies. Closed for that since the last such line: %d. If it is a load "
                        "balancer, add its address", address, count)  # fmt: skip
        why = REASONS.get(ending, "")
        log.info("closeChannel: close the connection to remote address[%s]: %s", address,
                 f"{why}: {reason}" if reason else why)  # fmt: skip

    def tls_wanted(self) -> None:
        self._tls.when_ready(lambda _: None)

    def drain_missing(self) -> Iterator[Counted]:
        """The lookups without a route that reactors answered since the last call. Control only."""
        for topic, lookups, number, address, owner in self._reactors.drain_missing():
            connection = self._connections.get(number)  # it may have gone
            if connection is not None:
                yield topic, lookups, TopicAsker(connection.host, connection.address), owner
            else:
                yield topic, lookups, None if address is None else _gone(address), owner

    def close_idle(self) -> None:
        """End the connections that were idle for their limit, by the time that the reactors are given.

        A connection that was silent since before a stall gets the missed time. One that was heard after it cannot reach
        its limit before the missed time no longer counts.
        """
        now_ms = self._clock.now().ms
        if now_ms >= self._missed_until_ms:
            self._missed_ms = 0
        self._reactors.close_idle(now_ms - self._missed_ms)

    def forgive(self, stall: Stall) -> int:
        """Move all idle limits by the length of a stall. Returns the number of connections, with those given away."""
        self._missed_ms += stall.missed_ms
        self._missed_until_ms = stall.ended_ms + max(self._netty.idle_ms_max, self._progress_ms_max, HANDSHAKE_MS_MAX)
        self._rounds_wanted = [rounds + 2 for rounds in self._reactors.rounds]  # the present round may be older
        return self._reactors.connections

    def has_read_all(self) -> bool:
        """Whether control has received everything that waited in sockets at the last `forgive`. Wakes idle reactors."""
        came = all(seen >= wanted for seen, wanted in zip(self._reactors.rounds, self._rounds_wanted, strict=False))
        self._reactors.close_idle(0)
        return came and not self._reactors.has_news

    def stop(self) -> None:
        """End every connection. Control receives nothing more."""
        if not self._listening:
            return
        asyncio.get_running_loop().remove_reader(self._reactors.fileno())
        self._reactors.stop()
        for thread in self._threads:
            thread.join()
        for one in self._listening:
            one.close()
        self._listening = ()
        log.info("route lookups: %d answered by reactors, %d handed over",
                 sum(self._reactors.lookups), self._control.lookups)  # fmt: skip
