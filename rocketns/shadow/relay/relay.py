"""The shadow's connections: clients' bytes go to both servers, the upstream's come back, the half's are compared."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass

from rocketns._fast.codec.proxy_header import DETECTION_BYTES, is_header, parse
from rocketns.addresses import with_port
from rocketns.errors import MalformedFrame
from rocketns.protocol.codes import RequestCode
from rocketns.server.tls.connection import HANDSHAKE_MAGIC_CODE
from rocketns.shadow.half import OwnHalf
from rocketns.shadow.relay.ends import Leg, PlainClient
from rocketns.shadow.relay.frames import Account, BufferBudget, Cutter, RelayedFrame
from rocketns.shadow.relay.pairing import Judge, OpenRequests, Pairing, RelayCounts

log = logging.getLogger("rocketns.shadow")

UPSTREAM_WITHIN_S = 3.0  # as Java's connect timeout
OWN_WITHIN_S = 1.0
TICK_S = 0.25
# Connections whose client is gone, and that stay for rocketns' last answers; and of those that there may be, one in
# LINGERING_PART.
LINGERING_MAX, LINGERING_PART = 1_000, 10
# A connection to the half that ended is not opened again before.
REOPEN_S = 1.0


@dataclass(slots=True)
class Upstream:
    """``trouble`` says why the last connection to it could not be opened; empty if it was opened."""

    host: str
    port: int
    trouble: str = ""

    def __str__(self) -> str:
        return with_port(self.host, self.port)


class Relay:
    """`start`, then `accept` for each listening socket. Everything is on one event loop."""

    def __init__(self, upstream: Upstream, half: OwnHalf, judge: Judge, *, frame_bytes_max: int, connections_max: int,
                 proxy_protocol: bool = False, upstream_tls: ssl.SSLContext | None = None,
                 ends_tls: bool = False, budget: BufferBudget | None = None,
                 now: Callable[[], float] = time.monotonic) -> None:  # fmt: skip
        """``ends_tls``: clients may speak TLS, which ends here; ``upstream_tls`` is for those, None for plain."""
        self.upstream, self.half = upstream, half
        self.frame_bytes_max, self.ends_tls, self.now = frame_bytes_max, ends_tls, now
        self.counts = RelayCounts()
        self.budget = budget or BufferBudget()
        self.pairing = Pairing(self.counts, judge, self.now, time.time)
        self.sessions: set[ClientSession] = set()
        self._connections_max = connections_max
        self._lingering: set[ClientSession] = set()
        self._lingering_max = min(LINGERING_MAX, connections_max // LINGERING_PART)
        self._proxy_protocol, self._upstream_tls = proxy_protocol, upstream_tls
        self._opening: set[asyncio.Task[None]] = set()
        self._said_unread = False
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """On the running loop."""
        self._timer = asyncio.get_running_loop().call_later(TICK_S, self.start)
        self.tick()

    def tick(self) -> None:
        """What is due: a few times a second."""
        self.pairing.sweep()
        for session in [one for one in self._lingering if not one.requests.count]:
            session.finish()

    def stop(self) -> None:
        """End all connections."""
        self._lingering_max = 0
        if self._timer is not None:
            self._timer.cancel()
        for session in list(self.sessions):
            session.requests.forget_all()
            session.client.close()
            session.finish()
        for task in list(self._opening):
            task.cancel()

    def accepted(self, client: PlainClient) -> ClientSession | None:
        """A client connected. None if there is no room for it."""
        counts = self.counts
        if counts.open >= self._connections_max:
            counts.refused += 1
            return None
        counts.connections += 1
        counts.open += 1
        session = ClientSession(self, counts.connections, client)
        self.sessions.add(session)
        return session

    def ended(self, session: ClientSession) -> None:
        """A session is over."""
        self.counts.open -= 1
        self.sessions.discard(session)
        self._lingering.discard(session)

    def may_linger(self, session: ClientSession) -> bool:
        """Whether a session whose client is gone may stay for rocketns' answers."""
        if len(self._lingering) >= self._lingering_max:
            return False
        self._lingering.add(session)
        return True

    def open_upstream(self, session: ClientSession) -> Leg:
        """A new leg to the upstream, which opens."""
        leg = Leg(session, session.account, self.frame_bytes_max, is_own=False)
        if self._proxy_protocol:
            leg.write(session.client.proxy_header())
        tls = self._upstream_tls if session.is_tls else None
        self._open(leg, self.upstream.host, self.upstream.port, UPSTREAM_WITHIN_S, tls)
        return leg

    def open_own(self, session: ClientSession) -> Leg:
        """A new leg to the own half, which runs."""
        assert self.half.port is not None
        leg = Leg(session, session.account, self.frame_bytes_max, is_own=True)
        self._open(leg, "127.0.0.1", self.half.port, OWN_WITHIN_S)
        return leg

    def _open(self, leg: Leg, host: str, port: int, within_s: float, tls: ssl.SSLContext | None = None) -> None:
        task = asyncio.get_running_loop().create_task(self._connect(leg, host, port, within_s, tls))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _connect(self, leg: Leg, host: str, port: int, within_s: float, tls: ssl.SSLContext | None) -> None:
        try:
            async with asyncio.timeout(within_s):
                await asyncio.get_running_loop().create_connection(lambda: leg, host, port, ssl=tls)
        except (OSError, ValueError) as error:  # ValueError: a host that cannot be one
            if not leg.is_own:
                self.note_upstream(str(error) or "no answer in time")
            leg.connection_lost(None)

    def note_upstream(self, trouble: str | None) -> None:
        """A connection to the upstream was opened, or was not."""
        was, self.upstream.trouble = self.upstream.trouble, trouble or ""
        if trouble and not was:
            log.warning("the upstream %s takes no connections: %s", self.upstream, trouble)
        elif was and not trouble:
            log.info("the upstream %s takes connections", self.upstream)

    def say_unread(self) -> None:
        """A client speaks TLS, and there are no keys."""
        if not self._said_unread:
            self._said_unread = True
            log.warning("a client speaks TLS: its bytes pass to the upstream unread, and are not compared. To compare "
                        "them start the shadow with the keys: -Dtls.test.mode.enable=false -Dtls.server.certPath=… "
                        "-Dtls.server.keyPath=…")  # fmt: skip


class ClientSession:
    """One client's connection. ``up`` and ``own`` are the legs, None where there is none now.

    ``is_compared``: the bytes of both directions are frames so far. Others pass, and the half gets no more.
    """

    def __init__(self, relay: Relay, number: int, client: PlainClient) -> None:
        self.relay, self.client = relay, client
        self._counts = relay.counts
        self.account = Account(relay.budget)
        self._frames = Cutter(self.account, relay.frame_bytes_max)
        self.requests = OpenRequests(number, client.address(), self.account, relay.pairing)
        self.up: Leg | None = None
        self.own: Leg | None = None
        self.is_compared, self._is_fresh, self._is_client_read = True, True, True
        self._own_again_at = float("-inf")
        self._has_ended = self._is_gone = False  # the client
        self.is_over = self.is_tls = self._has_registered = False

    # The client

    def begin(self) -> None:
        """The client is there. It is not read before the upstream is."""
        if not self.relay.ends_tls:
            self._open_up()

    def client_data(self, data: bytes) -> None:
        """Bytes of the client: to both servers at once, then they are looked at."""
        skipped = 0
        if self._is_fresh:
            self._is_fresh = False
            skipped = self._first(data)
        elif self.own is None and self.is_compared and not self._frames.is_amid:
            self._reopen_own()
        if self.up is not None:
            self.up.write(data)
        if self.own is not None and not self.own.write(data):
            self._lose_own()
        if not self.is_compared:
            return
        try:
            for frame in self._frames.feed(data[skipped:] if skipped else data):
                self._asked(frame)
        except MalformedFrame:
            self._do_not_compare()

    def _first(self, data: bytes) -> int:
        """Open the legs. How many bytes come before the first frame: those of a PROXY header."""
        if self.up is None:
            self._open_up()
        if data[0] == HANDSHAKE_MAGIC_CODE:
            self._counts.tls += 1
            self.relay.say_unread()
            self.is_compared = False
            return 0
        size = 0
        if is_header(data[:DETECTION_BYTES]):
            try:
                header = parse(data)
            except ValueError:
                header = None
            if header is None:
                self._do_not_compare()
                return 0
            size, _ = header
        self._reopen_own()
        return size

    def _asked(self, frame: RelayedFrame) -> None:
        head, counts = frame.head, self._counts
        counts.requests += 1
        if head is not None:
            self._has_registered |= head.code == RequestCode.REGISTER_BROKER
            counts.oneway += head.is_oneway
        has_answer = head is None or not (head.is_answer or head.is_oneway)
        may_pair = has_answer and self.up is not None and self.own is not None
        if not (may_pair and head is not None and frame.data is not None and self.requests.add(head, frame.data)):
            counts.skipped += has_answer
            self.account.release(len(frame.data or b""))

    def client_ended(self) -> None:
        """The client sends nothing more. It may still read."""
        self._has_ended = True
        for leg in (self.up, self.own):
            if leg is not None:
                leg.write_eof()

    def client_full(self, is_full: bool) -> None:
        """Whether the client does not take its answers: then the upstream is not read."""
        if self.up is not None:
            self.up.read(not is_full)

    def client_lost(self, *, was_reset: bool) -> None:
        """The connection is gone. The half's may stay for answers that are compared."""
        self._is_gone = True
        if self.up is not None:
            self.up.close(reset=was_reset)
            self.up = None
        self.requests.without_upstream()
        if self.own is not None and self.requests.count and self.relay.may_linger(self):
            self.own.write_eof()
        else:
            self.finish()

    def read_if_accepted(self) -> None:
        """The client is read while the upstream takes what it sends."""
        is_accepted = self.up is not None and self.up.is_open and not self.up.is_full
        if is_accepted != self._is_client_read:
            self._is_client_read = is_accepted
            self.client.read(is_accepted)

    # The servers

    def _open_up(self) -> None:
        self.up = self.relay.open_upstream(self)
        self.read_if_accepted()

    def _reopen_own(self) -> None:
        """At the beginning of a frame: the half gets whole ones."""
        if self.relay.half.port is not None and self.relay.now() >= self._own_again_at:
            self._counts.reopened += self._own_again_at > float("-inf")
            self.own = self.relay.open_own(self)

    def leg_opened(self, leg: Leg) -> None:
        """A leg is open."""
        if not leg.is_own:
            self.relay.note_upstream(None)
            self.read_if_accepted()

    def leg_data(self, leg: Leg, data: bytes) -> None:
        """Bytes of a server."""
        if not leg.is_own:
            self.client.write(data)
        if not self.is_compared:
            return
        try:
            for frame in leg.cutter.feed(data):
                self.requests.answer(frame, own=leg.is_own)
        except MalformedFrame:
            if leg.is_own:
                self._counts.garbage += 1
                self._lose_own()
            else:
                self._do_not_compare()
        if self._is_gone and not self.requests.count:
            self.finish()

    def leg_lost(self, leg: Leg) -> None:
        """A server ended the connection, or it could not be opened."""
        if leg is self.own:
            self._lose_own()
        elif leg is self.up:
            leg.close(at_once=leg.was_reset)
            self.up = None
            (self.client.reset if leg.was_reset else self.client.close)()

    def _lose_own(self) -> None:
        """The half ended the connection, does not keep up with the client, or gets no more."""
        own, self.own = self.own, None
        if own is None:
            return
        is_leaving = self._has_ended or self._is_gone
        own.close(at_once=not is_leaving)
        self._own_again_at = self.relay.now() + REOPEN_S
        if not is_leaving:
            self._counts.abandoned += 1
            if self._has_registered:
                self.relay.half.unsettle("the connection of a broker to rocketns' own half ended")
        self.requests.without_half(skipped=not is_leaving)
        if self._is_gone:
            self.finish()

    def _do_not_compare(self) -> None:
        """What comes is no frame. From now on bytes pass unread."""
        self._counts.garbage += 1
        self.is_compared = False
        self.requests.forget_all()
        self._frames.drop()
        self._lose_own()

    def finish(self) -> None:
        """The session is over."""
        if self.is_over:
            return
        self.is_over = True
        self.requests.forget_all()
        for leg in (self.up, self.own):
            if leg is not None:
                leg.close()
        self.up = self.own = None
        self._frames.drop()
        self.relay.ended(self)
