"""Control: serves the waiting requests in turns of bounded length. Only its thread touches the tables."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Container

from rocketns._fast.reactor.reactors import Reactors
from rocketns.config import Configuration
from rocketns.processor.requests import REQUESTS
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.unregistration import UnregisterRequest
from rocketns.server.clock import Clock
from rocketns.server.control.answering import Answering
from rocketns.server.control.housekeeping import BrokerHousekeeping
from rocketns.server.control.inbox import (
    ANY_SIZE,
    UNKNOWN,
    AnswerHandler,
    Inbox,
    WaitingFrame,
    seems_lookup,
    waiting_bytes_max,
)
from rocketns.server.control.measures import SLOW_NS, LongestRequest, SlowTurns

log = logging.getLogger("rocketns.control")

# A turn ends after this time, even if turnRequestsMax allows more. Then sockets, signals and timers get their turn.
TURN_US_MAX = 5_000
# Unsent answers that the reactors have not looked at yet. Beyond it control makes no further answers.
REPLIED_BYTES_MAX = 16 * 1024 * 1024
# Requests of a closed connection that are still processed.
KEPT_OF_THE_GONE = {code for code, row in REQUESTS.items() if row.has_effect} | {UNKNOWN}
# Larger ones are dropped too when much waits: peers that come, send and go would take all room that others need.
KEPT_OF_THE_GONE_BYTES_MAX = 4 * 1024


class Control:
    """Runs on the event loop's thread. No method waits. ``is_paused``: between `pause` and `unpause`.

    ``lookups`` counts the route lookups that came here.
    """

    def __init__(
        self, configuration: Configuration, clock: Clock, answering: Answering, housekeeping: BrokerHousekeeping,
        reactors: Reactors,
    ) -> None:  # fmt: skip
        limits = configuration.limits
        self._clock = clock
        self._answering = answering
        self._housekeeping = housekeeping
        self._reactors = reactors
        self._turn_requests_max = limits.turn_requests_max
        self._waiting_bytes_max = waiting_bytes_max(limits)
        self._inbox = Inbox(configuration.namesrv)
        self._parked_bytes_max = limits.incoming_bytes_max // 4
        self._turn_is_due = False
        self._stopped = self.is_paused = False
        self.lookups = 0
        self.slow_turns = SlowTurns()

    def submit(
        self, connection: Connection, frame: bytes | memoryview, *, is_beyond_rate: bool = False,
        is_awaited: bool = False, on_answer: AnswerHandler | None = None,
    ) -> None:  # fmt: skip
        """Take a whole frame, which waits undecoded, as a `WaitingFrame` with these fields.

        One that is beyond the rate of its host is refused, and its header is enough then.
        """
        connection.begin_request()
        waiting = WaitingFrame(frame, len(frame), seems_lookup(frame), is_beyond_rate, is_awaited, on_answer)
        self.lookups += waiting.is_lookup
        if self._inbox.submit(connection, waiting):
            self._park(connection)
        self._want_turn()

    @property
    def is_full(self) -> bool:
        """Whether the waiting frames are so many that only connections without a waiting frame should be read."""
        return self._inbox.bytes > self._waiting_bytes_max

    @property
    def waiting_requests(self) -> int:
        """The number of requests that wait: for their turn, for the end of the start, or for their peer to read."""
        return len(self._inbox)

    @property
    def waiting_bytes(self) -> int:
        """Their bytes, with FRAME_COST_BYTES for each."""
        return self._inbox.bytes + self._inbox.parked_bytes

    def stop(self) -> None:
        """Process nothing more. Requests that wait are dropped, as in Java, so slow ones do not delay the exit."""
        self._stopped = True

    def pause(self) -> None:
        """Answer lookups only. Everything else waits for `unpause`, and what its connection sends after it."""
        self.is_paused = True

    def unpause(self) -> None:
        """Answer what waits."""
        self.is_paused = False
        self._inbox.resume_paused()
        self._want_turn()

    def resume(self, connection: Connection) -> None:
        """Answers of the connection were taken, or the connection ended: its parked requests wait for a turn again."""
        self._inbox.resume(connection)
        self._want_turn()

    def connection_closed(self, connection: Connection, cause: Cause) -> None:
        """Drop the waiting requests that would only be answered, and unregister the connection's broker."""
        self.resume(connection)
        self._drop(connection, KEPT_OF_THE_GONE, KEPT_OF_THE_GONE_BYTES_MAX if self.is_full else ANY_SIZE)
        self._housekeeping.connection_closed(connection, cause)
        self._want_turn()

    def unregister(self, request: UnregisterRequest) -> None:
        """Queue an unregistration, which is applied after the next turn."""
        self._housekeeping.submit(request)
        self._want_turn()

    def _want_turn(self) -> None:
        if not self._turn_is_due and not self._stopped:
            self._turn_is_due = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """Answer a bounded number of requests, then apply a batch of unregistrations."""
        self._turn_is_due = False
        if self._stopped:
            return
        began_ns = after_ns = self._clock.spent_ns()
        requests, longest = 0, None
        try:
            served, requests, longest = self._serve_some(began_ns)
            for connection in served:
                connection.flush()
                if connection.has_ended:  # a request that waited beyond the end may have registered a broker
                    self.connection_closed(connection, Cause.CHANNEL_CLOSE)
            after_ns = self._clock.spent_ns()
            if self._housekeeping.has_waiting:
                self._housekeeping.apply()
        finally:  # an unforeseen error must not leave the other requests waiting
            if self._inbox.turns.wanting or self._housekeeping.has_waiting:
                self._want_turn()
            self._answering.deferred.answer_due()
            now_ns = self._clock.spent_ns()
            if now_ns - began_ns >= SLOW_NS:
                self.slow_turns.note(now_ns - began_ns, now_ns - after_ns, requests, longest, now_ns)
            if self._answering.measures is not None:
                self._answering.measures.turns.observe((now_ns - began_ns) / 1e9)

    def _serve_some(self, now_ns: int) -> tuple[set[Connection], int, LongestRequest | None]:
        """Serve the waiting requests for one turn, and charge each connection for its own.

        Returns the connections that were served, the number of their requests, and the longest one.
        """
        served: set[Connection] = set()
        ends_ns, requests, longest_ns, longest = now_ns + TURN_US_MAX * 1000, 0, 0, None
        while requests < self._turn_requests_max:
            if not self._inbox.turns.wanting or self._reactors.replied_bytes > REPLIED_BYTES_MAX:
                break
            connection, waiting = self._inbox.next()
            served.add(connection)
            self._serve(connection, waiting)
            began_ns, now_ns = now_ns, self._clock.spent_ns()
            self._inbox.turns.charge(now_ns - began_ns)
            requests += 1
            if now_ns - began_ns > longest_ns:
                longest_ns, longest = now_ns - began_ns, (now_ns - began_ns, connection, waiting)
            if now_ns >= ends_ns:
                break
        return served, requests, longest

    def _serve(self, connection: Connection, waiting: WaitingFrame) -> None:
        """Answer the frame, or let it wait on. An unforeseen error costs the connection, and nobody else."""
        try:
            if waiting.on_answer is not None:
                self._inbox.remove_first(connection)
                connection.end_request()
                waiting.on_answer(None if waiting.is_refused else waiting.frame)
            elif self.is_paused and not waiting.is_lookup:
                self._inbox.pause(connection)
            elif connection.is_full:
                self._park(connection)
            else:
                self._inbox.remove_first(connection)
                if not waiting.is_released:
                    connection.release(waiting.size)
                may_defer = waiting.is_awaited
                if waiting.is_lookup:  # which does not wait for itself
                    self._end_frame(waiting)
                if not self._answering.serve(connection, waiting, may_defer=may_defer):
                    self._drop(connection)
                self._end_frame(waiting)
        except Exception:
            log.exception("a request of %s failed, close the connection", connection.address)
            connection.abort(Cause.CHANNEL_EXCEPTION, "unforeseen error")
            self._end_frame(waiting)

    def _end_frame(self, waiting: WaitingFrame) -> None:
        """No lookup waits for the effect of this frame."""
        if waiting.is_awaited:
            self._reactors.end_frame()
            waiting.is_awaited = False

    def _park(self, connection: Connection) -> None:
        """The peer does not take its answers: its frames wait until it does."""
        for waiting in self._inbox.park(connection):
            connection.release(waiting.size)
            self._end_frame(waiting)
        if self._inbox.parked_bytes > self._parked_bytes_max:
            longest = self._inbox.parked_longest()
            self._drop(longest)
            why = "too many bytes of its requests wait, because it does not read its answers"
            longest.abort(Cause.CHANNEL_CLOSE, why)

    def _drop(self, connection: Connection, spared: Container[int] = (), spared_bytes_max: int = ANY_SIZE) -> None:
        for waiting in self._inbox.drop(connection, spared, spared_bytes_max):
            connection.end_request()
            if not waiting.is_released:
                connection.release(waiting.size)
            self._end_frame(waiting)
