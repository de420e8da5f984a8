"""Where one frame ends and the next begins in received bytes (NettyDecoder): what `_fast.codec.wire` is compared with.

Reads only the length field and the header word, never a header or a body.
"""

from __future__ import annotations

from rocketns.protocol.bounds import MALFORMED, NEED_MORE

_LENGTH_BYTES = 4
_WORD_BYTES = 4
_JSON, _ROCKETMQ = 0, 1


def next_frame(buffer: bytes | bytearray | memoryview, start: int, frame_size_max: int) -> int:
    """The size of the frame at ``start`` in bytes, its 4 length bytes included (8 or more).

    NEED_MORE (0) = more bytes are needed, MALFORMED (-1) = close the connection. ``frame_size_max`` is
    the largest whole frame in bytes, below 2**32. ValueError if ``start`` is outside the buffer.
    """
    available = len(buffer) - start
    if start < 0 or available < 0:
        raise ValueError(f"start {start} is outside a buffer of {len(buffer)} bytes")
    if available < _LENGTH_BYTES:
        return NEED_MORE
    length = int.from_bytes(buffer[start : start + _LENGTH_BYTES], "big", signed=True)
    size = _LENGTH_BYTES + length
    if length < 0 or size > frame_size_max:
        return MALFORMED
    if available < size:
        return NEED_MORE
    word_at = start + _LENGTH_BYTES
    word = int.from_bytes(buffer[word_at : word_at + _WORD_BYTES], "big")
    return size if length >= _WORD_BYTES and _word_fits(word, length) else MALFORMED


def _word_fits(word: int, length: int) -> bool:
    """Whether RemotingCommand.decode accepts a header word in a frame of this length field."""
    serialize_type, header_length = word >> 24, word & 0xFFFFFF
    if serialize_type not in (_JSON, _ROCKETMQ) or header_length > length - _WORD_BYTES:
        return False
    return header_length > 0 or serialize_type != _JSON
