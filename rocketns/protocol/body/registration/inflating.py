"""Inflates a compressed registration up to the end of its blocks. Every fault is a BodyDecodeError."""

from __future__ import annotations

import zlib
from typing import Any

from isal import isal_zlib

from rocketns._fast.codec import registration_blocks
from rocketns.errors import BodyDecodeError
from rocketns.protocol.bounds import INFLATED_BYTES_MAX, INFLATED_RATIO_MAX, BlockLimits

INFLATED_AT_FIRST_BYTES = 64 * 1024
BLOCK_LIMITS = BlockLimits()


def inflate(body: bytes | memoryview, mappings: bool) -> bytearray:
    """The inflated blocks. Like Java, it inflates nothing that follows the last block.

    isal is tried first, because it is faster. Where it fails, zlib decides, and its message is passed on.
    """
    try:
        return _inflate_by(isal_zlib.decompressobj(), body, mappings)
    except isal_zlib.error:  # type: ignore[misc]  # isal's stub takes the class for an instance
        pass
    try:
        return _inflate_by(zlib.decompressobj(), body, mappings)
    except zlib.error as error:
        raise BodyDecodeError(str(error)) from error


def _inflate_by(inflater: Any, body: bytes | memoryview, mappings: bool) -> bytearray:
    data, bytes_max = bytearray(), min(INFLATED_BYTES_MAX, INFLATED_RATIO_MAX * len(body))
    rest, most = body, max(INFLATED_AT_FIRST_BYTES, len(body))
    while True:
        more = inflater.decompress(rest, min(most, bytes_max - len(data)))
        data += more
        rest = inflater.unconsumed_tail
        if inflater.eof or not (more or rest) or not registration_blocks.needs_more(data, mappings, BLOCK_LIMITS):
            return data
        if len(data) >= bytes_max:
            raise BodyDecodeError(f"inflates to more than {bytes_max} bytes")
        most = len(data)
