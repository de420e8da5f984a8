"""All connections of the shadow: where they are accepted, how their legs are opened, and what ticks."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections import deque
from collections.abc import Callable

from rocketns.shadow.relay.clients.plain import PlainClient
from rocketns.shadow.relay.clients.starting import header_for
from rocketns.shadow.relay.counts import RelayCounts
from rocketns.shadow.relay.frames.budget import Budget
from rocketns.shadow.relay.leg import Leg
from rocketns.shadow.relay.pairing import Judge, Pairing
from rocketns.shadow.relay.session import CLOSE_WITHIN_S, Session
from rocketns.shadow.relay.surroundings import Half, Upstream
from rocketns.shadow.switch import Switch

log = logging.getLogger("rocketns.shadow")

UPSTREAM_WITHIN_S = 3.0  # as Java's connect timeout
OWN_WITHIN_S = 1.0
TICK_S = 0.25
PROBE_S = 1.0
# Connections whose client is gone, and that stay for rocketns' last answers; and of those that there may be, one in
# LINGERING_PART.
LINGERING_MAX, LINGERING_PART = 1_000, 10
LOOK_S = 0.05


class Relay:
    """`start`, then `accept` for each listening socket. Everything is on one event loop."""

    def __init__(self, upstream: Upstream, half: Half, switch: Switch, judge: Judge, *, frame_bytes_max: int,
                 connections_max: int, sends_all: bool = False, proxy_protocol: bool = False,
                 upstream_tls: Callable[[], ssl.SSLContext | None] | None = None, ends_tls: bool = False,
                 budget: Budget | None = None, now: Callable[[], float] = time.monotonic) -> None:  # fmt: skip
        """``ends_tls``: clients may speak TLS, which ends here; ``upstream_tls`` is for those, None for plain."""
        self.upstream, self.half, self.switch = upstream, half, switch
        self.frame_bytes_max = frame_bytes_max
        self.begins_with_first_bytes = ends_tls
        self.counts = RelayCounts()
        self.budget = budget or Budget()
        self.now = now
        self.pairing = Pairing(self.counts, judge, self.now, time.time, sends_all=sends_all)
        self.percent = 0
        self.waiting: set[Session] = set()
        self.sessions: set[Session] = set()
        self._connections_max = connections_max
        self._lingering: set[Session] = set()
        self._lingering_max = min(LINGERING_MAX, connections_max // LINGERING_PART)
        self._proxy_protocol = proxy_protocol
        self._upstream_tls = upstream_tls
        self._closing: deque[tuple[float, Session]] = deque()
        self._opening: set[asyncio.Task[None]] = set()
        self._said_unread = False
        self._taken_skipped = 0
        self._timer: asyncio.TimerHandle | None = None
        self._probe_at = 0.0

    def start(self) -> None:
        """On the running loop."""
        self.switch.follow(self.look_again)
        self._tick_again()

    async def wait_for_answers(self, within_s: float) -> None:
        """Until requests that one server has answered by now have the other answer, too."""
        now = self.now()
        while self.pairing.waits_since(now) and self.now() - now < within_s:
            await asyncio.sleep(LOOK_S)

    def stop(self) -> None:
        """End all connections."""
        self._lingering_max = 0
        if self._timer is not None:
            self._timer.cancel()
        for session in list(self.sessions):
            session.answers.forget_all()
            session.end()
        for task in list(self._opening):
            task.cancel()

    # Connections

    def accepted(self, client: PlainClient) -> Session | None:
        """A client connected. None if there is no room for it."""
        counts = self.counts
        if counts.open >= self._connections_max:
            counts.refused += 1
            return None
        counts.connections += 1
        counts.open += 1
        session = Session(self, counts.connections, client.address(), client)
        self.sessions.add(session)
        return session

    def ended(self, session: Session) -> None:
        """A session is over."""
        self.counts.open -= 1
        self.waiting.discard(session)
        self.sessions.discard(session)
        self._lingering.discard(session)

    def may_linger(self, session: Session) -> bool:
        """Whether a session whose client is gone may stay for rocketns' answers."""
        if len(self._lingering) >= self._lingering_max:
            return False
        self._lingering.add(session)
        return True

    def open_upstream(self, session: Session) -> Leg:
        """A new leg to the upstream, which opens."""
        leg = Leg(session, session.account, self.frame_bytes_max, is_own=False)
        client = session.client
        if self._proxy_protocol:
            leg.write(header_for(client.peer(), client.local()), is_bounded=False)
        tls = self._upstream_tls() if self._upstream_tls is not None and session.is_tls else None
        self._open(session, leg, self.upstream.host, self.upstream.port, UPSTREAM_WITHIN_S, tls)
        return leg

    def open_own(self, session: Session) -> Leg:
        """A new leg to the own half, which runs."""
        assert self.half.port is not None
        leg = Leg(session, session.account, self.frame_bytes_max, is_own=True)
        self._open(session, leg, "127.0.0.1", self.half.port, OWN_WITHIN_S)
        return leg

    def _open(
        self, session: Session, leg: Leg, host: str, port: int, within_s: float, tls: ssl.SSLContext | None = None
    ) -> None:
        task = asyncio.get_running_loop().create_task(self._connect(session, leg, host, port, within_s, tls))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _connect(
        self, session: Session, leg: Leg, host: str, port: int, within_s: float, tls: ssl.SSLContext | None
    ) -> None:
        try:
            async with asyncio.timeout(within_s):
                await asyncio.get_running_loop().create_connection(lambda: leg, host, port, ssl=tls)
        except (OSError, ValueError) as error:  # ValueError: a host that cannot be one
            if not leg.is_own:
                self._note_upstream(str(error) or "no answer in time")
            if not leg.is_over:
                session.lose(leg)

    def opened(self, leg: Leg) -> None:
        """A leg is open."""
        if not leg.is_own and self.upstream.is_down:
            self._note_upstream(None)

    def _note_upstream(self, why: str | None) -> None:
        if self.upstream.note(why):
            self.look_again()

    def take_skipped(self) -> int:
        """Pairs that were not compared, since the last call."""
        before, self._taken_skipped = self._taken_skipped, self.counts.skipped
        return self.counts.skipped - before

    # The switch

    def look_again(self) -> None:
        """The switch changed, or the own half, or the upstream."""
        may_serve = self.half.is_settled or self.upstream.is_down
        percent = self.switch.percent if may_serve and self.half.port is not None else 0
        if percent != self.percent:
            self._say_serving(percent)
            self.percent = percent
        for session in list(self.waiting):
            session.look_again()

    def _say_serving(self, percent: int) -> None:
        if percent:
            log.info("rocketns answers %d %% of the connections now", percent)
        elif self.switch.percent:
            log.warning("the upstream answers: rocketns does not know all brokers yet, or does not run")
        else:
            log.info("the upstream answers all connections now")

    def say_unread(self) -> None:
        """A client speaks TLS, and there are no keys."""
        if not self._said_unread:
            self._said_unread = True
            log.warning("a client speaks TLS: its bytes pass to the upstream unread, and are not compared. To compare "
                        "them give the shadow the keys: -Dtls.test.mode.enable=false -Dtls.server.certPath=… "
                        "-Dtls.server.keyPath=…")  # fmt: skip

    # Time

    def note_end(self, session: Session) -> None:
        """One of its servers ended the connection."""
        self._closing.append((self.now() + CLOSE_WITHIN_S, session))

    def _tick_again(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(TICK_S, self._tick_again)
        self.tick()

    def tick(self) -> None:
        """What is due: a few times a second."""
        now = self.now()
        self.pairing.sweep()
        while self._closing and self._closing[0][0] <= now:
            self._closing.popleft()[1].check_end()
        if self.upstream.is_down and now >= self._probe_at:
            self._probe_at = now + PROBE_S
            task = asyncio.get_running_loop().create_task(self._probe())
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)
        self.look_again()

    async def _probe(self) -> None:
        """Whether the upstream is back."""
        try:
            async with asyncio.timeout(UPSTREAM_WITHIN_S):
                _, writer = await asyncio.open_connection(self.upstream.host, self.upstream.port)
        except (OSError, ValueError):
            return
        writer.close()
        self._note_upstream(None)
