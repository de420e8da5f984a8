"""A frame in its parts, and its header with some of its texts changed; all else stays as it was, byte for byte."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rocketns.protocol.bounds import FRAME_SIZE_MAX_BYTES
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import next_frame
from rocketns.shadow.recording.tree import Members, Node, UnreadableError, parse, text_of, token_of, write

# Name and text of an ext field to its new text; None leaves the field out.
ChangeField = Callable[[str, str], str | None]
ChangeRemark = Callable[[str], str]

HEAD_BYTES = 8
_HEAD = struct.Struct(">iI")
_HEADER_LENGTH_BITS = 24
_BEFORE_REMARK_BYTES = struct.calcsize(">hBhii")
_LENGTH = struct.Struct(">i")
_KEY_LENGTH = struct.Struct(">h")


class Parts(NamedTuple):
    """One frame."""

    kind: int
    header: bytes
    body: bytes


def split(frame: bytes) -> Parts:
    """The parts of one whole frame. UnreadableError where it is none."""
    if next_frame(frame, 0, FRAME_SIZE_MAX_BYTES) != len(frame):
        raise UnreadableError("no whole frame")
    _, word = _HEAD.unpack_from(frame)
    end = HEAD_BYTES + (word & (1 << _HEADER_LENGTH_BITS) - 1)
    return Parts(word >> _HEADER_LENGTH_BITS, frame[HEAD_BYTES:end], frame[end:])


def joined(parts: Parts) -> bytes:
    """The frame of these parts."""
    word = parts.kind << _HEADER_LENGTH_BITS | len(parts.header)
    return _HEAD.pack(4 + len(parts.header) + len(parts.body), word) + parts.header + parts.body


def changed_header(parts: Parts, field: ChangeField, remark: ChangeRemark) -> bytes:
    """The header with each ext field and the remark as these say; the same object if nothing changed."""
    change = _changed_json if parts.kind == SerializeType.JSON else _changed_binary
    return change(parts.header, field, remark)


def _changed_json(header: bytes, field: ChangeField, remark: ChangeRemark) -> bytes:
    root = parse(header)
    if not isinstance(root, Members):
        raise UnreadableError("a header that is no object")
    changed = Members(_changed_member(key, value, field, remark) for key, value in root)
    return header if changed == root else write(changed)


def _changed_member(key: str, value: Node, field: ChangeField, remark: ChangeRemark) -> tuple[str, Node]:
    match text_of(key):
        case "extFields" if isinstance(value, Members):
            return key, Members(_changed_ext(value, field))
        case "remark" if isinstance(value, str):
            return key, _changed_text(value, remark(text_of(value)))
    return key, value


def _changed_ext(fields: Members, change: ChangeField) -> Iterator[tuple[str, Node]]:
    for key, value in fields:
        # Java takes the JSON of a value that is no string as its text.
        token = value if isinstance(value, str) else write(value).decode("latin-1")
        text = change(text_of(key), text_of(token))
        if text is not None:
            yield key, value if text == text_of(token) else token_of(text)


def _changed_text(token: str, text: str) -> str:
    return token if text == text_of(token) else token_of(text)


def _changed_binary(header: bytes, field: ChangeField, remark: ChangeRemark) -> bytes:
    try:
        fixed, text, pairs, rest = _read_binary(header)
    except (struct.error, ValueError) as error:
        raise UnreadableError("a binary header whose lengths do not add up") from error
    changed = [
        (key, data if new == _utf8(data) else new.encode("utf-8", "replace"))
        for key, data in pairs
        if (new := field(_utf8(key), _utf8(data))) is not None
    ]
    shown = remark(_utf8(text))
    if changed == pairs and shown == _utf8(text):
        return header
    if rest:
        raise UnreadableError("something follows the fields of a binary header")
    ext = b"".join(_KEY_LENGTH.pack(len(k)) + k + _LENGTH.pack(len(v)) + v for k, v in changed)
    said = text if shown == _utf8(text) else shown.encode("utf-8", "replace")
    return fixed + _LENGTH.pack(len(said)) + said + _LENGTH.pack(len(ext)) + ext


def _read_binary(header: bytes) -> tuple[bytes, bytes, list[tuple[bytes, bytes]], bytes]:
    """What is before the remark, the remark, the ext fields, and what follows them. ValueError or struct.error."""
    fixed = header[:_BEFORE_REMARK_BYTES]
    remark, at = _taken(header, _LENGTH, len(fixed))
    ext, at = _taken(header, _LENGTH, at)
    pairs, start = [], 0
    while start < len(ext):
        key, start = _taken(ext, _KEY_LENGTH, start)
        value, start = _taken(ext, _LENGTH, start)
        pairs.append((key, value))
    return fixed, remark, pairs, header[at:]


def _taken(data: bytes, length: struct.Struct, at: int) -> tuple[bytes, int]:
    """The bytes behind their length, and where they end. Java reads no bytes where the length is below 1."""
    (size,) = length.unpack_from(data, at)
    start = at + length.size
    end = start + max(0, size)
    if end > len(data):
        raise ValueError("a length beyond the end")
    return data[start:end], end


def _utf8(data: bytes) -> str:
    return data.decode("utf-8", "replace")
