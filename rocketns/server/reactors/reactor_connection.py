"""One connection of a reactor as control sees it: joins answers for the reactor, and ends the connection."""

from __future__ import annotations

import logging

from rocketns._fast.connections.connection import Ending
from rocketns._fast.reactor.reactors import Reactors
from rocketns.addresses import host_of
from rocketns.routeinfo.events import Cause
from rocketns.server.requests.traffic import Traffic

log = logging.getLogger("rocketns.reactors")

TOO_MUCH_UNFINISHED = "over the limit for unfinished frames (incomingBytesMax), and this connection is the first to go"
TOO_MUCH_UNSENT = "over the limit for unsent answers (outgoingBytesTotalMax), and this connection is the first to go"
STALLED_FRAME = "too little of its unfinished frame came (progressSeconds)"
STALLED_ANSWERS = "too little of its unsent answers was taken (progressSeconds)"
UNTRUSTED = "a PROXY header from an address that is not in rocketns.trustedProxies"
STALLED_HANDSHAKE = "its TLS handshake, or its PROXY header, did not end within 10 s"
# Answers are joined and sent at the end of a turn, or as soon as there are so many bytes.
JOINED_BYTES_MAX = 64 * 1024

# The cause that each ending is reported with; and the reason for the log, where the reactor decided to close.
ENDINGS: dict[int, tuple[Cause, str]] = {
    Ending.PEER_CLOSED: (Cause.CHANNEL_CLOSE, ""),
    Ending.FAILED: (Cause.CHANNEL_EXCEPTION, ""),
    Ending.IDLE: (Cause.CHANNEL_IDLE, "IDLE"),
    Ending.MALFORMED_FRAME: (Cause.CHANNEL_CLOSE, "malformed frame"),
    Ending.ENDED: (Cause.CHANNEL_CLOSE, ""),
    Ending.TOO_MUCH_UNSENT: (Cause.CHANNEL_CLOSE, "too many unsent bytes"),
    Ending.TOO_MUCH_UNFINISHED: (Cause.CHANNEL_CLOSE, TOO_MUCH_UNFINISHED),
    Ending.TOO_MUCH_UNSENT_IN_ALL: (Cause.CHANNEL_CLOSE, TOO_MUCH_UNSENT),
    Ending.STALLED_FRAME: (Cause.CHANNEL_CLOSE, STALLED_FRAME),
    Ending.STALLED_ANSWERS: (Cause.CHANNEL_CLOSE, STALLED_ANSWERS),
    Ending.STRANGER: (Cause.CHANNEL_CLOSE, "no network of the access policy has its address"),
    Ending.TLS_FAILED: (Cause.CHANNEL_CLOSE, "TLS failed"),
    Ending.TLS_DISABLED: (Cause.CHANNEL_CLOSE, "it wants TLS, and tls.server.mode is disabled"),
    Ending.NOT_TLS: (Cause.CHANNEL_CLOSE, "it does not use TLS, and tls.server.mode is enforcing"),
    Ending.NO_CERTIFICATE: (Cause.CHANNEL_CLOSE, "it wants TLS, and there is no usable certificate"),
    Ending.STALLED_HANDSHAKE: (Cause.CHANNEL_CLOSE, STALLED_HANDSHAKE),
    Ending.UNTRUSTED_PROXY: (Cause.CHANNEL_CLOSE, UNTRUSTED),
    Ending.WRONG_PROXY_HEADER: (Cause.CHANNEL_CLOSE, "a wrong PROXY header"),
}


class ReactorConnection(Traffic):
    """A `rocketns.routeinfo.connection.Connection` whose socket is a reactor's."""

    __slots__ = (
        "_allowed_in", "_answered", "_awaited", "_cause", "_high_water_bytes", "_host_number", "_number", "_reactors",
        "_replies", "_reply_bytes", "_taken", "_untaken", "address", "has_ended", "is_open", "is_tls", "was_ended_here",
    )  # fmt: skip

    def __init__(
        self, reactors: Reactors, number: int, host_number: int, address: str, high_water_bytes: int,
        since_epoch_ms: int, host: str | None = None, *, is_tls: bool = False, is_announced: bool = False,
    ) -> None:  # fmt: skip
        """``host_number`` is the reactors' own. ``host``: if it is not the address's."""
        super().__init__(since_epoch_ms, host or host_of(address), is_announced=is_announced)
        self._reactors = reactors
        self._number = number
        self._host_number = host_number
        self._high_water_bytes = high_water_bytes
        self._replies: list[bytes] = []
        self._reply_bytes = 0
        self._untaken = 0  # bytes of answers given to the reactor, and not known to be taken by the peer
        self._awaited = 0  # of these, the bytes that the reactor was asked about
        self._taken = 0
        self._cause: Cause | None = None
        self._allowed_in = 0  # for the next answer, see `allow_lookups`
        self.address = address
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
        """One of its frames no longer waits for control."""
        self._reactors.done_with(frame_bytes, self._host_number)

    def took_frame(self) -> None:
        """The reactor counts a frame as in flight until a `flush` after its answer."""
        self._taken += 1

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
        """Send the answers added so far, and let the reactor read as many further requests."""
        done, self._taken = self._taken - self.in_flight, self.in_flight
        replies, self._replies = self._replies, []
        self._untaken += self._reply_bytes
        self._reply_bytes = 0
        if self.is_open and (done or replies):
            self._give(done, replies[0] if len(replies) == 1 else b"".join(replies))

    def allow_lookups(self) -> None:
        """The reactor hears of it with the next answer, so before the peer can send a request that follows it."""
        self._allowed_in = self._reactors.access_generation

    def _give(self, done: int, answers: bytes) -> None:
        """Ask the reactor to report when the answers are taken: at half of the high-water mark, so that a peer that
        takes its answers never waits for the report."""
        awaits = not self._awaited and self._untaken > self._high_water_bytes // 2
        if awaits:
            self._awaited = self._untaken
        allowed_in, self._allowed_in = self._allowed_in, 0
        self._reactors.reply(self._number, done, answers, awaits, self.is_known, allowed_in)

    def answers_were_taken(self) -> None:
        """The peer took the answers that the reactor was asked about."""
        self._untaken -= self._awaited
        self._awaited = 0
        if self.is_full:
            self._give(0, b"")

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
        cause, why = ENDINGS[ending]
        if why and self._cause is None:
            log.info("closeChannel: close the connection to remote address[%s]: %s", self.address, why)
        self.is_open, self.has_ended = False, True
        return self._cause or cause
