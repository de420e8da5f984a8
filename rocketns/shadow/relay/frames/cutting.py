"""Where frames begin and end in the bytes of one direction. Nothing is delayed for it."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.errors import MalformedFrame
from rocketns.shadow.relay.frames.budget import Account
from rocketns.shadow.relay.frames.frame import Frame
from rocketns.shadow.relay.frames.heads import HEADER_BYTES_MAX, WORDS_BYTES, head_of, header_end
from rocketns.shadow.relay.turns import READ_BYTES_MAX

WHOLE_BYTES_MAX = READ_BYTES_MAX
PIECE_BYTES = 64  # what a piece costs in addition to its bytes: it may have one
_FIRST_BYTE_MAX = 1  # the serialize types are 0 and 1


class Cutter:
    """`pieces` of the bytes as they come. ``frame`` is the one whose end has not come.

    ``pins``: frames begin pinned, since what came of them may have to be passed on later.
    """

    def __init__(self, account: Account, frame_bytes_max: int, *, pins: bool) -> None:
        self._account = account
        self._pins = pins
        self._frame_bytes_max = frame_bytes_max
        self.frame: Frame | None = None

    def pieces(self, data: bytes) -> Iterator[tuple[Frame, bytes, bool]]:
        """Each piece of a frame, and whether the frame ends with it. MalformedFrame where no frame can follow."""
        at, end = 0, len(data)
        while at < end:
            frame = self.frame
            if frame is None:
                if end - at >= WORDS_BYTES and (frame := self._whole(data, at)) is not None:
                    at += frame.size
                    yield frame, frame.piece(), True
                    continue
                frame = self.frame = Frame(is_pinned=self._pins)
            take = min((frame.size or WORDS_BYTES) - frame.came, end - at)
            if not frame.came and end - at >= WORDS_BYTES:
                self._begin(frame, data[at : at + WORDS_BYTES])
                take = min(frame.size, end - at)
            piece = data if take == end else data[at : at + take]
            at += take
            self._keep(frame, piece)
            if frame.came == frame.size:
                self.frame = None
                yield frame, piece, True
            else:
                yield frame, piece, False

    def _whole(self, data: bytes, at: int) -> Frame | None:
        """The frame that begins here, if all of it is here and can be kept: the usual case, in the fewest steps."""
        length = int.from_bytes(data[at : at + 4], "big", signed=True)
        size = 4 + length
        end = at + size
        if length < WORDS_BYTES - 4 or end > len(data) or size > WHOLE_BYTES_MAX:
            return None
        header_bytes = int.from_bytes(data[at + 5 : at + WORDS_BYTES], "big")
        if data[at + 4] > _FIRST_BYTE_MAX or header_bytes > size - WORDS_BYTES or header_bytes > HEADER_BYTES_MAX:
            return None
        if not self._account.take(size):
            return None
        frame = Frame(is_pinned=self._pins)
        frame.size = frame.came = frame.kept = size
        frame.header_end = WORDS_BYTES + header_bytes
        piece = data if size == len(data) else data[at:end]
        frame.parts = [piece]
        frame.is_readable = True
        frame.head = head_of(piece, frame.header_end)
        return frame

    def drop(self) -> None:
        """Forget the frame that is not whole."""
        if self.frame is not None:
            self.release(self.frame)
            self.frame = None

    def release(self, frame: Frame) -> None:
        """Keep no bytes of it."""
        self._account.give(frame.kept)
        frame.kept = 0
        frame.parts = None

    def _begin(self, frame: Frame, words: bytes) -> None:
        length = int.from_bytes(words[:4], "big", signed=True)
        if not WORDS_BYTES - 4 <= length <= self._frame_bytes_max - 4 or words[4] > _FIRST_BYTE_MAX:
            raise MalformedFrame("these bytes are no frame of RocketMQ's protocol")
        frame.size, frame.header_end = 4 + length, header_end(words)
        if frame.header_end > frame.size:
            raise MalformedFrame("a header is longer than its frame")

    def _keep(self, frame: Frame, piece: bytes) -> None:
        frame.came += len(piece)
        if frame.parts is not None:
            size = PIECE_BYTES + len(piece)
            if not frame.size:  # fewer than 8 bytes
                frame.parts.append(piece)
            elif self._account.take(size, by_force=frame.is_pinned):
                frame.kept += size
                frame.parts.append(piece)
            else:
                self.release(frame)
        if not frame.size and frame.came == WORDS_BYTES:
            self._begin(frame, frame.data())
        if not frame.is_readable and frame.size:
            self._read(frame)

    def _read(self, frame: Frame) -> None:
        """A header that is too long is not waited for."""
        is_long = frame.header_end > HEADER_BYTES_MAX
        frame.is_readable = is_long or frame.came >= frame.header_end
        if frame.is_readable and not is_long and frame.parts is not None:
            frame.head = head_of(frame.data(), frame.header_end)
