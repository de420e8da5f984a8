"""The request code of a frame, read without decoding the header."""

from __future__ import annotations

import re

from rocketns.access.classes import Access
from rocketns.processor.requests import REQUESTS
from rocketns.protocol.codes import SerializeType

UNKNOWN = -1
# Longer headers are not searched.
HEADER_BYTES_MAX = 4_096
_HEAD = 8
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
