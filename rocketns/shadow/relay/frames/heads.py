"""What the relay reads of a frame: opaque, flag and code, from the first bytes of its header. Never a body."""

from __future__ import annotations

import re
from typing import NamedTuple

from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import FLAG_ONEWAY, FLAG_RESPONSE

WORDS_BYTES = 8  # the length, and the word with the header's length
HEADER_BYTES_MAX = 64 * 1024
_BINARY_BYTES = 13  # to the end of the flag
# Clients write the header by hand, some with spaces. Texts in it cannot look like this: their quotes are escaped.
_NUMBERS = re.compile(rb'"(opaque|flag|code)"\s*:\s*(-?[0-9]{1,10})\s*[,}]')

# As Java's peers and name servers write it: three times as fast. No text in the ext fields can look like what follows.
_USUAL = re.compile(
    rb'\{"code":([0-9]{1,5}),(?:"extFields":\{[^{}]*\},)?"flag":([0-9]{1,3}),"language":"[A-Z_]{1,16}","opaque":([0-9]{1,10}),'
)


class Head(NamedTuple):
    """``opaque`` says which answer belongs to which request."""

    opaque: int
    code: int
    is_answer: bool
    is_oneway: bool


def header_end(start: bytes) -> int:
    """Where the header of a frame ends, from its first `WORDS_BYTES`."""
    return WORDS_BYTES + int.from_bytes(start[5:8], "big")


def head_of(start: bytes, end: int) -> Head | None:
    """The head of a frame whose header ends at ``end``; None where it has no opaque, or several.

    ``start`` are the first bytes of a frame, to the end of its header or behind it.
    """
    if start[4] == SerializeType.ROCKETMQ:
        return _binary(start, end)
    usual = _USUAL.match(start, WORDS_BYTES, end)
    if usual is not None:
        code, flag, opaque = map(int, usual.groups())
        return _head(opaque, code, flag)
    found = _NUMBERS.findall(start, WORDS_BYTES, end)
    numbers = dict(found)
    if len(found) > len(numbers) or b"opaque" not in numbers:
        return None
    return _head(int(numbers[b"opaque"]), int(numbers.get(b"code", 0)), int(numbers.get(b"flag", 0)))


def _binary(start: bytes, end: int) -> Head | None:
    if end < WORDS_BYTES + _BINARY_BYTES:
        return None
    code = int.from_bytes(start[8:10], "big", signed=True)
    opaque = int.from_bytes(start[13:17], "big", signed=True)
    return _head(opaque, code, start[20])


def _head(opaque: int, code: int, flag: int) -> Head:
    return Head(opaque, code, flag & FLAG_RESPONSE != 0, flag & FLAG_ONEWAY != 0)
