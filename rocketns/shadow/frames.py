"""A frame in its parts, its header as text or without some of its fields; a request and an answer as values.

Every member is a peer's.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import NamedTuple

from construct import ConstructError

from rocketns.errors import MalformedFrame
from rocketns.protocol import spec
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import RemotingCommand, decode, next_frame
from rocketns.shadow.tree import BYTES, Node, UnreadableError, parse, parse_compact, text_of, write

HEAD_BYTES = 8
_HEAD = struct.Struct(">iI")
_HEADER_LENGTH_BITS = 24
UNREADABLE = -1
_CODE = re.compile(r'"code":(-?\d{1,9})')
_REMARK = re.compile(r'"remark":("(?:[^"\\]|\\.)*")')

# Whether a field of this name is left out.
LeaveOut = Callable[[str], bool]


class Parts(NamedTuple):
    """One frame. ``kind`` is its serialize type."""

    kind: int
    header: bytes
    body: bytes


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
    with _readable():
        found = spec.BINARY_HEADER.parse(parts.header, header_length=len(parts.header))
    members = {name: found[name] for name in ("code", "flag", "language", "opaque", "version")}
    remark, fields = _utf8(found.remark), {_utf8(one.key): _utf8(one.value) for one in found.ext or ()}
    members |= ({"remark": remark} if remark else {}) | ({"extFields": fields} if fields else {})
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False)


def without_fields(parts: Parts, leave_out: LeaveOut) -> Parts:
    """The frame without some ext fields; all else stays as it was, byte for byte. UnreadableError."""
    if parts.kind == SerializeType.ROCKETMQ:
        with _readable():
            found = spec.BINARY_HEADER.parse(parts.header, header_length=len(parts.header))
            members = {name: found[name] for name in ("code", "language", "version", "opaque", "flag", "remark")}
            members["ext"] = [one for one in found.ext or () if not leave_out(_utf8(one.key))]
            return parts._replace(header=spec.BINARY_HEADER.build(members, header_length=spec.HEADER_MAX))
    root = parse(parts.header.decode(BYTES))
    if not isinstance(root, dict):
        raise UnreadableError("a header that is no object")
    for key, value in root.items():
        if text_of(key) == "extFields" and isinstance(value, dict):
            root[key] = {name: one for name, one in value.items() if not leave_out(text_of(name))}
    return parts._replace(header=write(root).encode(BYTES))


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except (ConstructError, OverflowError) as error:
        raise UnreadableError("a binary header whose lengths do not add up") from error


def _utf8(data: bytes) -> str:
    return data.decode("utf-8", "replace")


class ReadRequest:
    """A request. ``code`` is UNREADABLE where rocketns would close the connection; ``body`` is empty for none.

    ``is_binary``: its header is RocketMQ's own. ``has_no_opaque``: it leaves that of its answer to the server.
    """

    def __init__(self, frame: bytes) -> None:
        self.frame = frame
        self.command: RemotingCommand | None
        try:
            self.command = decode(frame)
        except MalformedFrame:
            self.command = None
        command = self.command
        self.code = UNREADABLE if command is None else command.code
        self.is_oneway = command is not None and command.is_oneway
        self.fields: Mapping[str, str | None] = (command and command.ext_fields) or {}
        self.body = (command and command.body) or b""
        self.header = frame[8 : 8 + int.from_bytes(frame[5:8], "big")]
        self.is_binary = frame[4:5] == bytes([SerializeType.ROCKETMQ])
        self.has_no_opaque = not self.is_binary and b'"opaque"' not in self.header


class ReadAnswer:
    """An answer. Header and body are empty texts where it is no frame."""

    def __init__(self, frame: bytes) -> None:
        self.header = self.body = ""
        try:
            parts = split(frame)
            self.header, self.body = header_text(parts), parts.body.decode(BYTES)
        except UnreadableError:
            pass

    @property
    def code(self) -> int | None:
        """The response code."""
        found = _CODE.search(self.header)
        return None if found is None else int(found[1])

    @property
    def remark(self) -> str:
        """The remark, empty for none."""
        found = _REMARK.search(self.header)
        try:
            return "" if found is None else str(json.loads(found[1], strict=False))
        except ValueError:
            return ""

    @cached_property
    def tree(self) -> Node:
        """The body as JSON; an empty text where it is none."""
        try:
            return parse_compact(self.body) if self.body else ""
        except UnreadableError:
            return ""
