"""A request and its answers as values, for what decides by their content. Every member is a peer's."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from rocketns.errors import MalformedFrame
from rocketns.protocol.codes import RequestCode, SerializeType
from rocketns.protocol.command import RemotingCommand, decode
from rocketns.shadow.frames import header_text, split
from rocketns.shadow.pairs import Pair
from rocketns.shadow.tree import BYTES, Node, UnreadableError, parse_compact

UNREADABLE = -1
_CODE = re.compile(r'"code":(-?\d{1,9})')
_REMARK = re.compile(r'"remark":("(?:[^"\\]|\\.)*")')


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


@dataclass(frozen=True)
class Case:
    """A pair that differs. An answer is None where none came, or the connection was closed instead."""

    asked: ReadRequest
    java: ReadAnswer | None
    own: ReadAnswer | None

    def codes(self, java: int, own: int, *requests: RequestCode) -> bool:
        """Whether both answered one of these requests with such codes. Without requests: any."""
        if self.java is None or self.own is None or (requests and self.asked.code not in requests):
            return False
        return (self.java.code, self.own.code) == (java, own)


def case_of(pair: Pair, request: ReadRequest) -> Case:
    """A pair as values."""
    java, own = (None if answer is None else ReadAnswer(answer) for answer in (pair.upstream, pair.own))
    return Case(request, java, own)
