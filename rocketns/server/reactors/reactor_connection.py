"""One connection of a reactor as control sees it: answers that are joined and given to the reactor, and its end."""

from __future__ import annotations

import logging

from rocketns._fast.reactor.reactors import Reactors
from rocketns.routeinfo.events import Cause
from rocketns.server.requests.host import host_of

log = logging.getLogger("rocketns.reactors")

JOINED_BYTES_MAX = 64 * 1024  # answers are joined up to here and sent together

TOO_MUCH_UNFINISHED = "over the limit for unfinished frames (incomingBytesMax), and this connection holds the most"
TOO_MUCH_UNSENT = "over the limit for unsent answers (outgoingBytesTotalMax), and this connection holds the most"

# What a connection ended of, by messages.Ending; and why, where the reactor decided it.
ENDINGS = (
    (Cause.CHANNEL_CLOSE, ""),
    (Cause.CHANNEL_EXCEPTION, ""),
    (Cause.CHANNEL_IDLE, "IDLE"),
    (Cause.CHANNEL_CLOSE, "malformed frame"),
    (Cause.CHANNEL_CLOSE, ""),
    (Cause.CHANNEL_CLOSE, "too many unsent bytes"),
    (Cause.CHANNEL_CLOSE, TOO_MUCH_UNFINISHED),
    (Cause.CHANNEL_CLOSE, TOO_MUCH_UNSENT),
)


class ReactorConnection:
    """A peer by identity, like `rocketns.server.connections.asyncio_connection.Channel`; its socket is a reactor's."""

    __slots__ = (
        "_awaited",
        "_cause",
        "_high_water_bytes",
        "_id",
        "_reactors",
        "_replies",
        "_reply_bytes",
        "_taken",
        "_untaken",
        "address",
        "has_ended",
        "host",
        "in_flight",
        "is_open",
        "was_ended_here",
    )

    def __init__(self, reactors: Reactors, connection: int, address: str, high_water_bytes: int) -> None:
        self._reactors = reactors
        self._id = connection
        self._high_water_bytes = high_water_bytes
        self._replies: list[bytes] = []
        self._reply_bytes = 0
        self._untaken = 0  # bytes of answers given to the reactor, of which it has not said that the peer took them
        self._awaited = 0  # of these, those that it was asked about
        self._taken = 0
        self._cause: Cause | None = None
        self.address = address
        self.host = host_of(address)
        self.in_flight = 0
        self.is_open = True
        self.was_ended_here = False
        self.has_ended = False

    def took_frame(self) -> None:
        """Every frame counts as in flight at the reactor until a `flush` that finds it answered."""
        self._taken += 1

    def release(self, size: int) -> None:
        """The reactors may hand over as many bytes more."""
        self._reactors.done_with(size)

    def write(self, frame: bytes) -> None:
        """Add an answer; it is sent with the next `flush`, or now if much has come together."""
        self._replies.append(frame)
        self._reply_bytes += len(frame)
        if self._reply_bytes >= JOINED_BYTES_MAX:
            self.flush()

    @property
    def is_full(self) -> bool:
        return self.is_open and self._untaken + self._reply_bytes > self._high_water_bytes

    def flush(self) -> None:
        """Send the answers added so far, and let the reactor read on for as many requests."""
        done, self._taken = self._taken - self.in_flight, self.in_flight
        replies, self._replies = self._replies, []
        self._untaken += self._reply_bytes
        self._reply_bytes = 0
        if self.is_open and (done or replies):
            self._give(done, replies[0] if len(replies) == 1 else b"".join(replies))

    def _give(self, done: int, answers: bytes) -> None:
        """Half of the high-water mark ahead, so that a peer that takes its answers need not wait for the news."""
        awaits = not self._awaited and self._untaken > self._high_water_bytes // 2
        if awaits:
            self._awaited = self._untaken
        self._reactors.reply(self._id, done, answers, awaits)

    def answers_were_taken(self) -> None:
        """Those that the reactor was asked about."""
        self._untaken -= self._awaited
        self._awaited = 0
        if self.is_full:
            self._give(0, b"")

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
        """Another reactor has it. Only a connection whose answers were all taken moves.

        The last order to the former reactor may have come too late, so it is given again.
        """
        self._id = connection
        self._untaken = self._awaited = 0
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
