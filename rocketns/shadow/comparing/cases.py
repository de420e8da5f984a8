"""A request and its answers as values, for what decides by their content. Every member is a peer's."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from rocketns.errors import MalformedFrame
from rocketns.protocol.codes import RequestCode, SerializeType
from rocketns.protocol.command import FLAG_ONEWAY, RemotingCommand, decode
from rocketns.shadow.frames import header_text, split
from rocketns.shadow.pairs import Pair
from rocketns.shadow.tree import Node, UnreadableError, parse_compact

UNREADABLE = -1
_CODE = re.compile(r'"code":(-?\d{1,9})')
_REMARK = re.compile(r'"remark":("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True)
class ReadRequest:
    """A request. ``code`` is UNREADABLE where rocketns would close the connection."""

    frame: bytes
    command: RemotingCommand | None

    @property
    def code(self) -> int:
        """Its number."""
        return UNREADABLE if self.command is None else self.command.code

    @property
    def is_oneway(self) -> bool:
        """Whether no answer is due."""
        return self.command is not None and bool(self.command.flag & FLAG_ONEWAY)

    @property
    def fields(self) -> Mapping[str, str | None]:
        """Its extFields."""
        return {} if self.command is None else self.command.ext_fields or {}

    @property
    def header(self) -> bytes:
        """Its header as bytes."""
        return self.frame[8 : 8 + int.from_bytes(self.frame[5:8], "big")]

    @property
    def body(self) -> bytes:
        """Its body, empty for none."""
        return b"" if self.command is None else self.command.body or b""

    @property
    def has_no_opaque(self) -> bool:
        """Whether it leaves the opaque of its answer to the server. A binary header always has one."""
        return self.frame[4:5] == bytes([SerializeType.JSON]) and b'"opaque"' not in self.header


def asked(frame: bytes) -> ReadRequest:
    """A request from its frame."""
    try:
        return ReadRequest(frame, decode(frame))
    except MalformedFrame:
        return ReadRequest(frame, None)


@dataclass(frozen=True)
class ReadAnswer:
    """An answer, as far as it is one."""

    frame: bytes
    header: str = field(init=False)
    body: str = field(init=False)

    def __post_init__(self) -> None:
        try:
            parts = split(self.frame)
            text, body = header_text(parts), parts.body.decode("latin-1")
        except UnreadableError:
            text, body = "", ""
        object.__setattr__(self, "header", text)
        object.__setattr__(self, "body", body)

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
