"""The answers that the requests of a connection wait for, and what its peer sends beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rocketns.errors import MalformedFrame
from rocketns.protocol.command import RemotingCommand

# Frames and bytes that nobody asked for, within the window. A connection with more is ended.
UNASKED_FRAMES_MAX = 64
UNASKED_BYTES_MAX = 1024 * 1024
UNASKED_WINDOW_S = 60.0
# Requests that were given up. Their answers may still come, and count as asked for.
LATE_MAX = 1_024

Read = Callable[[RemotingCommand], Any]


@dataclass(slots=True)
class _Expected:
    answer: asyncio.Future[Any]
    read: Read
    bytes_max: int
    is_arriving: bool = False


class Answers:
    """By opaque. ``now_s`` is a clock in seconds."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._expected: dict[int, _Expected] = {}
        self._late: dict[int, None] = {}
        self._window_began_s = now_s()
        self._frames = self._bytes = 0

    def __len__(self) -> int:
        return len(self._expected)

    def expect(self, opaque: int, read: Read, bytes_max: int) -> asyncio.Future[Any]:
        """The future answer as ``read`` gives it. `forget` it when nobody waits any more."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._expected[opaque] = _Expected(answer, read, bytes_max)
        return answer

    def forget(self, opaque: int) -> bool:
        """Nobody waits for the answer any more. Whether a part of it has come."""
        expected = self._expected.pop(opaque, None)
        if expected is None:
            return False
        if not expected.is_arriving:
            self._late[opaque] = None
            if len(self._late) > LATE_MAX:
                del self._late[next(iter(self._late))]
        return expected.is_arriving

    def wants(self, opaque: int | None, size: int) -> bool:
        """Whether a frame of so many bytes is kept: the first answer to a request that waits. None: it is no answer.

        MalformedFrame if the connection must end: the answer is too large, or too much came that nobody asked for.
        """
        expected = None if opaque is None else self._expected.get(opaque)
        if expected is None or expected.is_arriving:
            if opaque in self._late:
                del self._late[opaque]
            else:
                self._count_unasked(size)
            return False
        if size > expected.bytes_max:
            raise MalformedFrame(f"an answer has {size} bytes, and at most {expected.bytes_max} are read")
        expected.is_arriving = True
        return True

    def _count_unasked(self, size: int) -> None:
        now_s = self._now_s()
        if now_s - self._window_began_s >= UNASKED_WINDOW_S:
            self._window_began_s, self._frames, self._bytes = now_s, 0, 0
        self._frames += 1
        self._bytes += size
        if self._frames > UNASKED_FRAMES_MAX or self._bytes > UNASKED_BYTES_MAX:
            raise MalformedFrame(f"it sent {self._frames} frames with {self._bytes} bytes that nobody asked for")

    def resolve(self, opaque: int, answer: RemotingCommand) -> None:
        """The answer came."""
        expected = self._expected.pop(opaque, None)
        if expected is None or expected.answer.done():
            return
        try:
            expected.answer.set_result(expected.read(answer))
        except Exception as error:
            expected.answer.set_exception(error)

    def fail(self, opaque: int, error: Exception) -> None:
        """The answer came, and cannot be used."""
        expected = self._expected.pop(opaque, None)
        if expected is not None and not expected.answer.done():
            expected.answer.set_exception(error)

    def fail_all(self, error: Exception) -> None:
        """No answer will come."""
        for opaque in list(self._expected):
            self.fail(opaque, error)
