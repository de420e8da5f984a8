"""A pair whose names are hashed, in its three frames and its peer's address."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from rocketns.javatext import parse_boolean
from rocketns.protocol.codes import V5_0_0, RequestCode
from rocketns.protocol.command import RemotingCommand
from rocketns.shadow.pairs import Pair
from rocketns.shadow.recording.bodies import hashed_blocks, hashed_json, hashed_properties
from rocketns.shadow.recording.frames import Parts, changed_header, joined, split
from rocketns.shadow.recording.hashing import Names
from rocketns.shadow.recording.secrets import decoded

BODY_CRC32 = "bodyCrc32"
_CRC_MASK = 0x7FFFFFFF
# Some brokers of 5.x deflate the body and say that they did not.
_ZLIB_MAGIC = b"\x78"
# An item's value: order configuration, or anything else.
_VALUE = "value"


def hashed(pair: Pair, names: Names) -> Pair:
    """The pair with hashed names. UnreadableError if it has a body in which nobody knows what is a name."""
    command = decoded(pair.request)
    known: dict[str, str] = {}
    request = _request(pair.request, command, names, known)
    answers = (_answer(frame, command.code, names, known) for frame in (pair.upstream, pair.own))
    upstream, own = answers
    return pair._replace(peer=names.text(pair.peer), request=request, upstream=upstream, own=own)


def _request(frame: bytes, command: RemotingCommand, names: Names, known: dict[str, str]) -> bytes:
    """``known`` gets the names that were found in its fields."""
    parts = split(frame)
    body = _request_body(parts.body, command, names)

    def field(name: str, text: str) -> str:
        if name == BODY_CRC32 and body != parts.body and text != "0":
            return str(zlib.crc32(body) & _CRC_MASK)
        changed = _field(name, text, names)
        if changed != text:
            known[text] = changed
        return changed

    return _with(parts, changed_header(parts, field, lambda text: names.remark(text, known)), body, frame)


def _request_body(body: bytes, command: RemotingCommand, names: Names) -> bytes:
    if command.code == RequestCode.UPDATE_NAMESRV_CONFIG:
        return hashed_properties(body, names)
    is_deflated = parse_boolean(command.ext("compressed")) or body.startswith(_ZLIB_MAGIC)
    if command.code == RequestCode.REGISTER_BROKER and body and is_deflated:
        return hashed_blocks(body, command.version >= V5_0_0, names)
    return hashed_json(body, names)


def _answer(frame: bytes | None, code: int, names: Names, known: Mapping[str, str]) -> bytes | None:
    if frame is None:
        return None
    parts = split(frame)
    of_properties = code == RequestCode.GET_NAMESRV_CONFIG
    body = hashed_properties(parts.body, names) if of_properties else hashed_json(parts.body, names)
    header = changed_header(parts, lambda name, text: _field(name, text, names), lambda text: names.remark(text, known))
    return _with(parts, header, body, frame)


def _field(name: str, text: str, names: Names) -> str:
    return names.order(text) if name == _VALUE else names.text(text)


def _with(parts: Parts, header: bytes, body: bytes, frame: bytes) -> bytes:
    changed = Parts(parts.kind, header, body)
    return frame if changed == parts else joined(changed)
