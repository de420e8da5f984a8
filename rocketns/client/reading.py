"""Cuts the bytes that a peer sends into frames. What nobody asked for is skipped by its header, and never collected."""

from __future__ import annotations

import re
from collections.abc import Callable

from rocketns.errors import MalformedFrame
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import FLAG_RESPONSE

_LENGTH, _HEAD = 4, 8
# The headers of name servers' answers have some hundred bytes.
HEADER_BYTES_MAX = 64 * 1024
_BINARY_HEADER_MIN = 13  # to the end of the flag
_NUMBERS = re.compile(rb'"(opaque|flag)"[ \t\r\n]*:[ \t\r\n]*(-?[0-9]{1,10})[ \t\r\n]*[,}]')
_SERIALIZE_TYPES = tuple(SerializeType)
NO_FRAME = "an answer is no frame, or too large"


class AnswerReader:
    """``wants`` is asked once for each frame, with its opaque and size; the opaque of a request is None.

    ``charged_bytes`` is what is kept of a frame that is not complete.
    """

    def __init__(self, wants: Callable[[int | None, int], bool], frame_bytes_max: int) -> None:
        self._wants = wants
        self._frame_bytes_max = frame_bytes_max
        self._buffer = bytearray()
        self._skip = 0
        self._wanted: tuple[int, int] | None = None  # opaque and size of the frame at the beginning of the buffer

    @property
    def charged_bytes(self) -> int:
        return len(self._buffer)

    def clear(self) -> None:
        """Keep nothing."""
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """The wanted frames that are complete now, each with its opaque. MalformedFrame if the connection must end."""
        skipped = min(self._skip, len(data))
        self._skip -= skipped
        self._buffer += data[skipped:]
        frames: list[tuple[int, bytes]] = []
        at = 0
        while not self._skip and (frame := self._wanted or self._look_at(at)) is not None:
            opaque, size = frame
            end = at + size
            if opaque is None:
                self._skip = max(0, end - len(self._buffer))
                at = min(end, len(self._buffer))
            elif end > len(self._buffer):
                self._wanted = opaque, size
                break
            else:
                self._wanted = None
                frames.append((opaque, bytes(memoryview(self._buffer)[at:end])))
                at = end
        del self._buffer[:at]
        return frames

    def _look_at(self, at: int) -> tuple[int | None, int] | None:
        """Opaque and size of the frame at this place, the opaque None if it is to be skipped. None: header unknown."""
        head = self._buffer[at : at + _HEAD]
        length, header_bytes = int.from_bytes(head[:4], "big", signed=True), int.from_bytes(head[5:], "big")
        size = 4 + length
        if len(head) >= _LENGTH and not 4 <= length <= self._frame_bytes_max - 4:
            raise MalformedFrame(NO_FRAME)
        if len(head) < _HEAD:
            return None
        if head[4] not in _SERIALIZE_TYPES or not 0 < header_bytes <= min(length - 4, HEADER_BYTES_MAX):
            raise MalformedFrame(NO_FRAME)
        if len(self._buffer) - at < _HEAD + header_bytes:
            return None
        opaque = _answer_opaque(head[4], bytes(self._buffer[at + _HEAD : at + _HEAD + header_bytes]))
        return (opaque if self._wants(opaque, size) else None), size


def _answer_opaque(serialize_type: int, header: bytes) -> int | None:
    """The opaque of a response as name servers write it; None of a request.

    MalformedFrame if the header does not say it, or not in the usual form.
    """
    if serialize_type == SerializeType.ROCKETMQ:
        if len(header) < _BINARY_HEADER_MIN:
            raise MalformedFrame("a binary header is too short")
        opaque, flag = int.from_bytes(header[5:9], "big", signed=True), int.from_bytes(header[9:13], "big")
    else:
        found = _NUMBERS.findall(header)
        numbers = dict(found)
        if len(found) > len(numbers) or b"opaque" not in numbers:
            raise MalformedFrame("a header has no opaque, or several")
        opaque, flag = int(numbers[b"opaque"]), int(numbers.get(b"flag", 0))
    return opaque if flag & FLAG_RESPONSE else None
