"""One connection that the server opens: frames out, and the answers that its requests wait for."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from rocketns.errors import MalformedFrame, RocketnsError
from rocketns.protocol import command
from rocketns.routeinfo.events import Cause
from rocketns.server.outgoing.answers import Answers
from rocketns.server.outgoing.reading import AnswerReader
from rocketns.server.requests.holders import INPUT, OUTPUT, PROGRESS_BYTES
from rocketns.server.requests.traffic import Traffic

log = logging.getLogger("rocketns.client")

IDLE_S = 120.0  # clientChannelMaxIdleTimeSeconds
UNSENT_FRAMES_MAX = 256
UNSENT_BYTES_MAX = 1024 * 1024


class NotSentError(RocketnsError):
    """A request could not be sent, or was not answered in time."""


class Owner(Protocol):
    """What a connection needs of its client."""

    accounts: Accounts
    frame_bytes_max: int

    def forget(self, connection: OutgoingConnection, *, failed: bool) -> None:
        """The connection is gone. ``failed``: its address should not be tried again at once."""


class OutgoingConnection(Traffic, asyncio.Protocol):
    """Open or opening; frames wait while it opens. A `rocketns.routeinfo.connection.Connection`, so that its answers
    wait for their turn like requests. It never registers a broker.
    """

    is_tls = is_full = has_ended = False
    __slots__ = ("_idle_timer", "_is_failed", "_owner", "_reader", "_reason", "_transport", "_unsent", "_written",
                 "address", "answers", "rest_s_max", "used_s")  # fmt: skip

    def __init__(self, owner: Owner, addr: str, host: str, rest_s_max: float) -> None:
        """``host`` is the account that it belongs to. ``rest_s_max``: how long its address rests after failures."""
        super().__init__(0, (host, host))
        self.address, self.rest_s_max = addr, rest_s_max
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._unsent: deque[bytes] = deque()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._reason = ""
        self._written = 0  # bytes that were unsent when the totals were told, and those written since
        self._is_failed = False
        self.answers = Answers(asyncio.get_running_loop().time)
        self._reader = AnswerReader(self.answers.wants, owner.frame_bytes_max)
        self.used_s = 0.0
        self._note_use()

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def is_idle(self) -> bool:
        """Whether nothing would be lost with it."""
        return self.is_open and not self.answers and not self.unsent_bytes

    @property
    def unsent_bytes(self) -> int:
        waiting = sum(map(len, self._unsent))
        return waiting + (0 if self._transport is None else self._transport.get_write_buffer_size())

    @property
    def is_read(self) -> bool:
        return self.is_open

    def count_unsent(self) -> tuple[int, int]:
        """The bytes that are unsent now, and how many the peer took since the last call."""
        left = self.unsent_bytes
        taken, self._written = self._written - left, left
        return left, taken

    def send(self, frame: bytes) -> bool:
        """Whether there was room for the frame."""
        self._note_use()
        if self.unsent_bytes > UNSENT_BYTES_MAX or len(self._unsent) >= UNSENT_FRAMES_MAX:
            return False
        self._written += len(frame)
        if self._transport is None:
            self._unsent.append(frame)
        else:
            self._transport.write(frame)
        self._hold_output()
        return True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._is_failed:
            transport.abort()
            return
        transport.write(b"".join(self._unsent))
        self._unsent.clear()
        self._hold_output()

    def resume_writing(self) -> None:
        """The peer took what waited."""
        self._owner.accounts.hold(OUTPUT, self, *self.count_unsent())

    def data_received(self, data: bytes) -> None:
        if not self.is_open:
            return
        try:
            found = self._reader.feed(data)
        except MalformedFrame as error:
            self.fail(str(error))
            return
        self._owner.accounts.hold(INPUT, self, self._reader.held_bytes, PROGRESS_BYTES if found else len(data))
        self._owner.accounts.enforce_limit(INPUT)
        if not self.is_open:
            return
        for opaque, frame in found:
            self._note_use()
            self._owner.accounts.submit_answer(self, frame, partial(self._take, opaque))

    def _take(self, opaque: int, frame: bytes | memoryview | None) -> None:
        """The answer's turn has come. None: too much waits."""
        if frame is None:
            self.answers.fail(opaque, NotSentError(f"the answer of {self.address} was dropped: too much waits"))
            return
        try:
            answer = command.decode(frame)
        except MalformedFrame:
            self.fail("an answer is no frame")
            return
        self.answers.give(opaque, answer)

    def connection_lost(self, _error: Exception | None) -> None:
        self.lost(self._reason)

    def lost(self, reason: str = "", *, failed: bool = False) -> None:
        """Forget the connection, and fail the requests that wait for its answers."""
        self._keep_nothing()
        self._owner.forget(self, failed=failed or self._is_failed)
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self.answers.fail_all(NotSentError(reason or f"the connection to {self.address} ended"))

    def _hold_output(self) -> None:
        self._owner.accounts.hold(OUTPUT, self, *self.count_unsent())
        self._owner.accounts.enforce_limit(OUTPUT)

    def _note_use(self) -> None:
        """Only what the server sends, or asked for, keeps the connection open."""
        loop = asyncio.get_running_loop()
        self.used_s = loop.time()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._idle_timer = loop.call_later(IDLE_S, self.close, "it was idle")

    def write(self, frame: bytes) -> None:
        """Nothing is answered here."""

    def flush(self) -> None:
        """Nothing is joined here."""

    def fail(self, why: str) -> None:
        """End the connection, because of what its peer sent. Its address is not tried again at once."""
        self._is_failed = True
        log.warning("the connection to %s ended: %s", self.address, why)
        self.close(f"the connection to {self.address} ended: {why}")

    def abort(self, cause: Cause, why: str = "") -> None:
        """Control or the totals end the connection."""
        self.fail(why or cause)

    def close(self, why: str = "") -> None:
        """End the connection at once. One that is being opened ends where the totals or control want it."""
        self._reason = self._reason or why
        self._keep_nothing()
        if self._transport is not None:
            self._transport.abort()
            self._owner.forget(self, failed=self._is_failed)

    def _keep_nothing(self) -> None:
        self._reader.clear()
        self._unsent.clear()
        for kind in (INPUT, OUTPUT):
            self._owner.accounts.hold(kind, self, 0, 0)


@dataclass(frozen=True, slots=True)
class Accounts:
    """What the connections cost the server: the bytes that they hold, and the time of their answers.

    ``hold`` and ``enforce_limit`` are those of `Totals`, ``submit_answer`` is control's. By default nothing is
    counted, and an answer is taken at once: for a program that does nothing else.
    """

    hold: Callable[[int, OutgoingConnection, int, int], object] = lambda _kind, _connection, _size, _moved: None
    enforce_limit: Callable[[int], object] = lambda _kind: None
    submit_answer: Callable[[OutgoingConnection, bytes, Callable[[bytes | memoryview | None], object]], object] = (
        lambda _connection, frame, take: take(frame)
    )
