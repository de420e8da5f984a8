"""The request code of a frame, or the opaque of an answer, read without decoding the header."""

from __future__ import annotations

import re

from rocketns.errors import MalformedFrame
from rocketns.processor.requests import REQUESTS, Access
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import FLAG_RESPONSE

UNKNOWN = -1
# Longer headers are not searched.
HEADER_BYTES_MAX = 4_096
_HEAD = 8
_BINARY_HEADER_MIN = 13  # to the end of the flag
_NUMBERS = re.compile(rb'"(opaque|flag)":(-?[0-9]{1,10})[,}]')
_CODE = re.compile(rb'"code":([0-9]{1,5})[,}]')

(_LOOKUP,) = (code for code, row in REQUESTS.items() if row.access is Access.LOOKUP)
_JSON_LOOKUP = b'"code":%d,' % _LOOKUP
_LOOKUP_ENDS = _HEAD + 256
_BINARY_LOOKUP = _LOOKUP.to_bytes(2, "big")


def header_end(frame: bytes | memoryview) -> int:
    """Where the header ends and the body begins. ``frame`` is whole, as `next_frame` found it."""
    return _HEAD + int.from_bytes(frame[5:8], "big")


def seems_lookup(frame: bytes | memoryview) -> bool:
    """Whether the frame is a route lookup as clients write it. It decides only the queue in which the frame counts."""
    if isinstance(frame, memoryview):  # far larger than a lookup
        return False
    return frame.find(_JSON_LOOKUP, _HEAD, _LOOKUP_ENDS) > 0 or frame.startswith(_BINARY_LOOKUP, _HEAD)


def request_code(frame: bytes | memoryview) -> int:
    """The code, or UNKNOWN. A returned code is right, unless the header is malformed or has no code.

    ``frame`` is whole, as `next_frame` found it.
    """
    end = header_end(frame)
    if frame[4] == SerializeType.ROCKETMQ:
        return int.from_bytes(frame[_HEAD : _HEAD + 2], "big", signed=True) if end >= _HEAD + 2 else UNKNOWN
    if end > HEADER_BYTES_MAX:
        return UNKNOWN
    header = bytes(frame[_HEAD:end])
    found = _CODE.search(header)
    # With two keys of that name, or one with escapes, only the decoder knows which one counts.
    if found is None or header.count(b"code") != 1 or b"\\" in header:
        return UNKNOWN
    return int(found[1])


def answer_opaque(serialize_type: int, header: bytes) -> int | None:
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
