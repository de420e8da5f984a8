"""One connection that is opened: frames out, and the answers that its requests wait for; and one of the server's own,
whose answers are counted and take turns.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

from rocketns.client.answers import Answers
from rocketns.client.reading import AnswerReader
from rocketns.config.limits import FRAME_BYTES_MAX
from rocketns.errors import MalformedFrame, RocketnsError
from rocketns.protocol import command
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import Cause

log = logging.getLogger("rocketns.client")

IDLE_S = 120.0  # clientChannelMaxIdleTimeSeconds
UNSENT_FRAMES_MAX = 256
UNSENT_BYTES_MAX = 128 * 1024


class NotSentError(RocketnsError):
    """A request could not be sent, or was not answered in time."""


class RefusedError(NotSentError):
    """The address refused the connection."""


class OutgoingConnection(asyncio.Protocol):
    """Open or opening; frames wait while it opens. A subclass may count what it holds of answers, and let them wait."""

    def __init__(self, forget: Forget, addr: str, account: str, rest_s_max: float) -> None:
        """``account`` is the host to which it is charged. ``rest_s_max``: how long its address rests after failures."""
        self.address, self.account, self.rest_s_max = addr, account, rest_s_max
        self._forget = forget
        self._transport: asyncio.Transport | None = None
        self._unsent: deque[bytes] = deque()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._reason = ""
        self._is_failed = False
        self.answers = Answers(asyncio.get_running_loop().time)
        self._reader = AnswerReader(self.answers.wants, FRAME_BYTES_MAX)
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

    def send(self, frame: bytes) -> bool:
        """Whether there was room for the frame."""
        self._note_use()
        if self.unsent_bytes > UNSENT_BYTES_MAX or len(self._unsent) >= UNSENT_FRAMES_MAX:
            return False
        if self._transport is None:
            self._unsent.append(frame)
        else:
            self._transport.write(frame)
        return True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._is_failed:
            transport.abort()
            return
        transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def data_received(self, data: bytes) -> None:
        if not self.is_open:
            return
        try:
            frames = self._reader.feed(data)
        except MalformedFrame as error:
            self.fail(str(error))
            return
        self.note_unfinished(self._reader.charged_bytes)
        if not self.is_open:
            return
        for opaque, frame in frames:
            self._note_use()
            self.receive(opaque, frame)

    def note_unfinished(self, size: int) -> None:
        """So many bytes of a frame are kept. It may end this."""

    def receive(self, opaque: int, frame: bytes) -> None:
        """An answer came."""
        self.resolve(opaque, frame)

    def resolve(self, opaque: int, frame: bytes | memoryview) -> None:
        """Decode an answer for the request that waits for it."""
        try:
            answer = command.decode(frame)
        except MalformedFrame:
            self.fail("an answer is no frame")
            return
        self.answers.resolve(opaque, answer)

    def connection_lost(self, _error: Exception | None) -> None:
        self.lost(self._reason)

    def lost(
        self, reason: str = "", *, failed: bool = False, error: type[NotSentError] = NotSentError,
        cause: Exception | None = None,
    ) -> None:  # fmt: skip
        """Forget the connection, and fail the requests that wait for its answers. ``cause`` is the error's cause."""
        self.keep_nothing()
        reason = reason or f"the connection to {self.address} ended"
        self._forget(self, reason if failed or self._is_failed else "")
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        failure = error(reason)
        failure.__cause__ = cause
        self.answers.fail_all(failure)

    def _note_use(self) -> None:
        """Only what is sent, or was asked for, keeps the connection open."""
        loop = asyncio.get_running_loop()
        self.used_s = loop.time()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._idle_timer = loop.call_later(IDLE_S, self.close, "it was idle")

    def fail(self, why: str) -> None:
        """End the connection, because of what its peer sent. Its address is not tried again at once."""
        self._is_failed = True
        log.warning("the connection to %s ended: %s", self.address, why)
        self.close(f"the connection to {self.address} ended: {why}")

    def close(self, why: str = "") -> None:
        """End the connection at once. One that is being opened keeps nothing, and ends when it is open."""
        self._reason = self._reason or why
        self.keep_nothing()
        if self._transport is not None:
            self._transport.abort()
            self._forget(self, self._reason if self._is_failed else "")

    def keep_nothing(self) -> None:
        """Forget what was not sent, and what came of an answer."""
        self._reader.clear()
        self._unsent.clear()


# Told of the end of a connection, and whether its address should not be tried again at once.
Forget = Callable[[OutgoingConnection, str], None]


class Submit(Protocol):
    """Lets an answer wait until its host has its turn: see `rocketns.server.control.control.Control.submit`."""

    def __call__(
        self, connection: Connection, frame: bytes, *, on_answer: Callable[[bytes | memoryview | None], object]
    ) -> None: ...


class ChargedConnection(OutgoingConnection, Connection):  # type: ignore[override]  # asyncio says whether it is open
    """Its unfinished answers count in the reactors' total, and answers take turns, as those of peers. Control only.

    It never registers a broker, and nothing is answered here.
    """

    def __init__(
        self, count_here: Callable[[int], bool], submit: Submit, forget: Forget, addr: str, account: str,
        rest_s_max: float,
    ) -> None:  # fmt: skip
        """``count_here`` counts bytes, False where there is no room for them."""
        OutgoingConnection.__init__(self, forget, addr, account, rest_s_max)
        Connection.__init__(self, addr, account, 0)
        self._count_here = count_here
        self._submit = submit
        self._counted_bytes = 0

    def note_unfinished(self, size: int) -> None:
        change, self._counted_bytes = size - self._counted_bytes, size
        if change and not self._count_here(change):
            self.fail("over the limit for unfinished frames (incomingBytesMax), and nobody else is to be closed")

    def keep_nothing(self) -> None:
        super().keep_nothing()
        self._count_here(-self._counted_bytes)
        self._counted_bytes = 0

    def receive(self, opaque: int, frame: bytes) -> None:
        """Give it when its host has its turn."""
        self._submit(self, frame, on_answer=partial(self._receive_in_turn, opaque))

    def _receive_in_turn(self, opaque: int, frame: bytes | memoryview | None) -> None:
        """None: too much waits."""
        if frame is None:
            self.answers.fail(opaque, NotSentError(f"the answer of {self.address} was dropped: too much waits"))
        else:
            self.resolve(opaque, frame)

    def abort(self, cause: Cause, why: str = "") -> None:
        """Control ends the connection."""
        self.fail(why or cause)
