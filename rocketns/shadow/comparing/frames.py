"""What is compared of a frame: its serialize type, its header as text, and its body."""

from __future__ import annotations

import json
import struct
from typing import Any

from rocketns.protocol.codes import SerializeType

HEAD_BYTES = 8
# code, language, version, opaque, flag, bytes of the remark
_BINARY_HEAD = struct.Struct(">hBhiii")
_LENGTH, _KEY_LENGTH = struct.Struct(">i"), struct.Struct(">h")


def split(answer: bytes) -> tuple[bytes, bytes, int]:
    """Header, body and serialize type of one whole frame; ValueError when its lengths do not add up."""
    if len(answer) < HEAD_BYTES:
        raise ValueError(f"a frame of {len(answer)} bytes")
    length, word = struct.unpack_from(">iI", answer)
    end = HEAD_BYTES + (word & 0xFFFFFF)
    if length != len(answer) - 4:
        raise ValueError(f"length field {length} of a frame of {len(answer)} bytes")
    if end > len(answer):
        raise ValueError(f"header length {end - HEAD_BYTES} of a frame of {len(answer)} bytes")
    return answer[HEAD_BYTES:end], answer[end:], word >> 24


def header_text(header: bytes, kind: int) -> str:
    """A JSON header with one character a byte, a binary one as the JSON of the same members; ValueError if it is
    neither."""
    if kind != SerializeType.ROCKETMQ:
        return header.decode("latin-1")
    return json.dumps(_binary_members(header), separators=(",", ":"), ensure_ascii=False)


def _binary_members(header: bytes) -> dict[str, Any]:
    """RocketMQSerializable.rocketMQProtocolDecode, with the names of a JSON header."""
    try:
        code, language, version, opaque, flag, size = _BINARY_HEAD.unpack_from(header)
        at = _BINARY_HEAD.size
        remark, at = _text(header, at, size)
        (size,) = _LENGTH.unpack_from(header, at)
        ext = _binary_ext(header, at + _LENGTH.size, size)
    except struct.error as error:
        raise ValueError("a binary header that is cut") from error
    members = {"code": code, "flag": flag, "language": language, "opaque": opaque, "version": version}
    return members | ({"remark": remark} if remark else {}) | ({"extFields": ext} if size else {})


def _binary_ext(header: bytes, at: int, size: int) -> dict[str, str]:
    ext, end = {}, at + size
    while at < end:
        (length,) = _KEY_LENGTH.unpack_from(header, at)
        key, at = _text(header, at + _KEY_LENGTH.size, length)
        (length,) = _LENGTH.unpack_from(header, at)
        ext[key], at = _text(header, at + _LENGTH.size, length)
    return ext


def _text(header: bytes, at: int, size: int) -> tuple[str, int]:
    """So many bytes as text, and where they end."""
    if not 0 <= size <= len(header) - at:
        raise ValueError(f"a text of {size} bytes in a binary header of {len(header)}")
    return header[at : at + size].decode("utf-8", "replace"), at + size
