"""A frame in its parts, its header as text, and its header without some of its fields."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import NamedTuple

from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import next_frame
from rocketns.shadow.tree import BYTES, UnreadableError, parse, text_of, write

HEAD_BYTES = 8
_HEAD = struct.Struct(">iI")
_HEADER_LENGTH_BITS = 24
# code, language, version, opaque, flag
_FIXED = struct.Struct(">hBhii")
_LENGTH, _KEY_LENGTH = struct.Struct(">i"), struct.Struct(">h")

# Whether a field of this name is left out.
LeaveOut = Callable[[str], bool]


class Parts(NamedTuple):
    """One frame. ``kind`` is its serialize type."""

    kind: int
    header: bytes
    body: bytes


class Binary(NamedTuple):
    """A header of RocketMQSerializable. ``fixed`` are its first bytes, ``rest`` those behind its ext fields."""

    fixed: bytes
    remark: bytes
    fields: list[tuple[bytes, bytes]]
    rest: bytes


def split(frame: bytes) -> Parts:
    """The parts of one whole frame. UnreadableError, a ValueError, where it is none."""
    if not frame or next_frame(frame, 0, len(frame)) != len(frame):
        raise UnreadableError("no whole frame")
    _, word = _HEAD.unpack_from(frame)
    end = HEAD_BYTES + (word & (1 << _HEADER_LENGTH_BITS) - 1)
    return Parts(word >> _HEADER_LENGTH_BITS, frame[HEAD_BYTES:end], frame[end:])


def joined(parts: Parts) -> bytes:
    """The frame of these parts."""
    word = parts.kind << _HEADER_LENGTH_BITS | len(parts.header)
    return _HEAD.pack(4 + len(parts.header) + len(parts.body), word) + parts.header + parts.body


def header_text(parts: Parts) -> str:
    """A JSON header with one character a byte, a binary one as the JSON of the same members. UnreadableError."""
    if parts.kind != SerializeType.ROCKETMQ:
        return parts.header.decode(BYTES)
    header = read_binary(parts.header)
    code, language, version, opaque, flag = _FIXED.unpack(header.fixed)
    members = {"code": code, "flag": flag, "language": language, "opaque": opaque, "version": version}
    remark, fields = _utf8(header.remark), {_utf8(key): _utf8(value) for key, value in header.fields}
    members |= ({"remark": remark} if remark else {}) | ({"extFields": fields} if fields else {})
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False)


def without_fields(parts: Parts, leave_out: LeaveOut) -> Parts:
    """The frame without some ext fields; all else stays as it was, byte for byte. UnreadableError."""
    change = _json_without if parts.kind == SerializeType.JSON else _binary_without
    return parts._replace(header=change(parts.header, leave_out))


def _json_without(header: bytes, leave_out: LeaveOut) -> bytes:
    root = parse(header.decode(BYTES))
    if not isinstance(root, dict):
        raise UnreadableError("a header that is no object")
    for key, value in root.items():
        if text_of(key) == "extFields" and isinstance(value, dict):
            root[key] = {name: one for name, one in value.items() if not leave_out(text_of(name))}
    return write(root).encode(BYTES)


def _binary_without(header: bytes, leave_out: LeaveOut) -> bytes:
    found = read_binary(header)
    kept = [(key, value) for key, value in found.fields if not leave_out(_utf8(key))]
    ext = b"".join(_KEY_LENGTH.pack(len(k)) + k + _LENGTH.pack(len(v)) + v for k, v in kept)
    remark = _LENGTH.pack(len(found.remark)) + found.remark
    return found.fixed + remark + _LENGTH.pack(len(ext)) + ext + found.rest


def read_binary(header: bytes) -> Binary:
    """RocketMQSerializable.rocketMQProtocolDecode. UnreadableError where the lengths do not add up."""
    try:
        remark, at = _text(header, _LENGTH, _FIXED.size)
        ext, at = _text(header, _LENGTH, at)
        fields, start = [], 0
        while start < len(ext):
            key, start = _text(ext, _KEY_LENGTH, start)
            value, start = _text(ext, _LENGTH, start)
            fields.append((key, value))
    except struct.error as error:
        raise UnreadableError("a binary header that is cut") from error
    return Binary(header[: _FIXED.size], remark, fields, header[at:])


def _text(data: bytes, length: struct.Struct, at: int) -> tuple[bytes, int]:
    """The bytes behind their length, and where they end. Java reads no bytes where the length is below 1."""
    (size,) = length.unpack_from(data, at)
    start = at + length.size
    end = start + max(0, size)
    if end > len(data):
        raise UnreadableError("a length beyond the end of a binary header")
    return data[start:end], end


def _utf8(data: bytes) -> str:
    return data.decode("utf-8", "replace")
