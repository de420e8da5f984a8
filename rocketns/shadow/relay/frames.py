"""Where frames begin and end in the bytes of one direction, and how many bytes are kept for comparing them.

Of a frame the relay reads opaque, flag and code, from the first bytes of its header, and never a body. What passes
through is not delayed for it, and is not counted here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rocketns.errors import MalformedFrame
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import FLAG_ONEWAY, FLAG_RESPONSE

TOTAL_BYTES_MAX = 256 * 1024 * 1024
CONNECTION_BYTES_MAX = 40 * 1024 * 1024  # the largest request with its two answers
LITTLE_BYTES = 64 * 1024  # of one connection: usual requests with their answers

WORDS_BYTES = 8  # the length, and the word with the header's length
HEADER_BYTES_MAX = 64 * 1024
_BINARY_BYTES = 13  # to the end of the flag
# Clients write the header by hand, some with spaces. Texts in it cannot look like this: their quotes are escaped.
_NUMBERS = re.compile(rb'"(opaque|flag|code)"\s*:\s*(-?[0-9]{1,10})\s*[,}]')
# As Java's peers and name servers write it: three times as fast. No text in the ext fields can look like what follows.
_USUAL = re.compile(
    rb'\{"code":([0-9]{1,5}),(?:"extFields":\{[^{}]*\},)?"flag":([0-9]{1,3}),"language":"[A-Z_]{1,16}","opaque":([0-9]{1,10}),'
)


class BufferBudget:
    """Bytes that are kept for comparing, of all connections together. `Account` has those of one."""

    def __init__(self, most: int = TOTAL_BYTES_MAX) -> None:
        self.most = most
        self.used = 0


class Account:
    """Bytes of one connection: unfinished frames, open requests with their answers, and what the half has not read."""

    __slots__ = ("_budget", "most", "used")

    def __init__(self, budget: BufferBudget, most: int = CONNECTION_BYTES_MAX) -> None:
        self._budget, self.most = budget, most
        self.used = 0

    def charge(self, size: int, *, by_force: bool = False) -> bool:
        """Whether there was room for so many more. The last quarter of all is for connections that keep little."""
        budget, used = self._budget, self.used + size
        most = budget.most if used <= LITTLE_BYTES else budget.most * 3 // 4
        if not by_force and (used > self.most or budget.used + size > most):
            return False
        self.used = used
        budget.used += size
        return True

    def release(self, size: int) -> None:
        """They are not kept any more."""
        self.used -= size
        self._budget.used -= size

    def close(self) -> None:
        """Nothing of this connection is kept any more."""
        self.release(self.used)


class FrameHead(NamedTuple):
    """``opaque`` says which answer belongs to which request."""

    opaque: int
    code: int
    is_answer: bool
    is_oneway: bool


class RelayedFrame(NamedTuple):
    """``data`` is the whole frame, in the account of its connection; None where there was no room to keep it.
    ``head`` is None where it has no opaque, or several, or did not come before the room was used up."""

    head: FrameHead | None
    data: bytes | None


class Cutter:
    """`feed` it the bytes of one direction as they come."""

    def __init__(self, account: Account, frame_bytes_max: int) -> None:
        self._account, self._frame_bytes_max = account, frame_bytes_max
        self._begun = bytearray()
        self._charged = 0  # bytes of it in the account
        self._left_out = 0  # bytes still to come of a frame without room

    @property
    def is_amid(self) -> bool:
        """Whether a frame has begun and not ended."""
        return bool(self._begun) or self._left_out > 0

    def feed(self, data: bytes) -> Iterator[RelayedFrame]:
        """Frames that end with these bytes, or find no room. The account passes to who gets their data.

        MalformedFrame where no frame can follow.
        """
        if self._left_out:
            passed = min(self._left_out, len(data))
            self._left_out -= passed
            data = data[passed:]
        has_room = self._account.charge(len(data))
        self._charged += len(data) * has_room
        buffer, at = self._begun, 0
        buffer += data
        while len(buffer) - at >= WORDS_BYTES:
            size = self._size(buffer, at)
            if has_room and len(buffer) - at < size:
                break
            frame = bytes(buffer[at : at + size])
            at += len(frame)
            self._left_out = size - len(frame)
            self._charged -= len(frame) * has_room
            yield RelayedFrame(head_of(frame), frame if has_room else None)
        del buffer[:at]
        if not has_room:  # fewer than 8 bytes are left
            self._account.release(self._charged)
            self._charged = len(buffer)
            self._account.charge(self._charged, by_force=True)

    def drop(self) -> None:
        """Forget the frame that is not whole."""
        self._account.release(self._charged)
        self._charged = self._left_out = 0
        self._begun.clear()

    def _size(self, buffer: bytearray, at: int) -> int:
        length = int.from_bytes(buffer[at : at + 4], "big", signed=True)
        if not WORDS_BYTES - 4 <= length <= self._frame_bytes_max - 4 or buffer[at + 4] > SerializeType.ROCKETMQ:
            raise MalformedFrame("these bytes are no frame of RocketMQ's protocol")
        if WORDS_BYTES + int.from_bytes(buffer[at + 5 : at + WORDS_BYTES], "big") > 4 + length:
            raise MalformedFrame("a header is longer than its frame")
        return 4 + length


def head_of(frame: bytes) -> FrameHead | None:
    """The head of a frame, or of its beginning; None where it has no opaque, or several, or its header is cut."""
    end = WORDS_BYTES + int.from_bytes(frame[5:WORDS_BYTES], "big")
    if end > min(len(frame), WORDS_BYTES + HEADER_BYTES_MAX):
        return None
    if frame[4] == SerializeType.ROCKETMQ:
        return _binary(frame, end)
    usual = _USUAL.match(frame, WORDS_BYTES, end)
    if usual is not None:
        code, flag, opaque = map(int, usual.groups())
        return _head(opaque, code, flag)
    found = _NUMBERS.findall(frame, WORDS_BYTES, end)
    numbers = dict(found)
    if len(found) > len(numbers) or b"opaque" not in numbers:
        return None
    return _head(int(numbers[b"opaque"]), int(numbers.get(b"code", 0)), int(numbers.get(b"flag", 0)))


def _binary(frame: bytes, end: int) -> FrameHead | None:
    if end < WORDS_BYTES + _BINARY_BYTES:
        return None
    code = int.from_bytes(frame[8:10], "big", signed=True)
    return _head(int.from_bytes(frame[13:17], "big", signed=True), code, frame[20])


def _head(opaque: int, code: int, flag: int) -> FrameHead:
    return FrameHead(opaque, code, flag & FLAG_RESPONSE != 0, flag & FLAG_ONEWAY != 0)
