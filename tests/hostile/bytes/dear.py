"""The most expensive known frames: each is as large as a frame or a limit in bounds.py allows."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator

from interop.harness import codes
from interop.harness.payloads import register_ext
from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from rocketns.protocol.bounds import (
    BLOCKS_MAX,
    EXT_PAIRS_MAX,
    INFLATED_BYTES_MAX,
    LENIENT_BYTES_MAX,
    LENIENT_HEADER_BYTES_MAX,
    MAPPINGS_MAX,
    ODD_VALUES_MAX,
)
from rocketns.protocol.frame import FRAME_SIZE_MAX_BYTES

# zlib's level at which even zeros stay within INFLATED_RATIO_MAX.
PACKED_LITTLE = 1
ROOM = FRAME_SIZE_MAX_BYTES - 1024
TABLE = b'{"topicConfigSerializeWrapper":{"dataVersion":{"timestamp":1},"topicConfigTable":{'
MAPPINGS = b'{"topicConfigSerializeWrapper":{"topicQueueMappingInfoMap":{'


def repeated(head: bytes, unit: bytes, tail: bytes, size: int = ROOM) -> bytes:
    return head + unit * ((size - len(head) - len(tail)) // len(unit)) + tail


def numbered(head: bytes, unit: bytes, tail: bytes, size: int = ROOM) -> bytes:
    """``unit`` with %d, repeated as often as fits."""
    count = (size - len(head) - len(tail)) // (len(unit) + 6)
    return head + b"".join(unit.replace(b"%d", b"%d" % number) for number in range(count)) + tail


def binary(pairs: bytes) -> bytes:
    """A binary header with these pairs."""
    header = binary_header(codes.GET_ROUTEINFO_BY_TOPIC)[:-4] + struct.pack(">i", len(pairs)) + pairs
    return frame(header, b"", ROCKETMQ)


def pair(key: bytes, value: bytes) -> bytes:
    return struct.pack(">h", len(key)) + key + struct.pack(">i", len(value)) + value


def block(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def blocks(items: list[bytes]) -> bytes:
    return struct.pack(">i", len(items)) + b"".join(map(block, items))


def plain(body: bytes) -> bytes:
    return registration(body, "false")


def compressed(topics: list[bytes] | None = None, mappings: list[bytes] | None = None) -> bytes:
    inflated = block(b"{}") + blocks(topics or []) + block(b"[]") + blocks(mappings or [])
    return registration(zlib.compress(inflated, PACKED_LITTLE), "true")


def registration(body: bytes, is_compressed: str) -> bytes:
    ext = register_ext("Dear", "dear", "10.9.9.8:1", 0, b"", compressed=is_compressed)
    return frame(json_header(codes.REGISTER_BROKER, ext | {"bodyCrc32": "0"}), body)


def mapping(number: int) -> bytes:
    return b'{"bname":"b","currIdMap":{0:0,1:1,2:2},"dirty":false,"epoch":7,"topic":"%d","totalQueues":8}' % number


def topics_and_ids(topics: int, ids: int, tail: bytes = b"") -> bytes:
    """Topics as brokers write them, which are not counted as values, and one static topic with queue ids."""
    table = b",".join(b'"%d":{"topicName":"%d"}' % (number, number) for number in range(topics))
    queues = b",".join(b"%d:1" % number for number in range(ids))
    static = b'},"topicQueueMappingInfoMap":{"a":{"topic":"a","currIdMap":{' + queues + b"}" + tail + b"}}}}"
    return plain(TABLE + table + static)


def filters(unit: bytes, size: int = ROOM) -> bytes:
    return plain(repeated(b'{"filterServerList":[', unit, b"1]}", size))


HEADERS: dict[str, Callable[[], bytes]] = {
    "binary, 1,020 fields": lambda: binary(b"".join(pair(b"%d" % n, b"") for n in range(1020))),
    "binary, as many fields as it may have": lambda: binary(
        b"".join(pair(b"%d" % n, b"v") for n in range(EXT_PAIRS_MAX))
    ),
    "binary, a frame of fields": lambda: binary(b"".join(pair(b"%07d" % n, b"") for n in range(ROOM // 14))),
    "binary, a value that is not UTF-8": lambda: binary(pair(b"k", b"\xff" * (ROOM - 100))),
    "JSON, one string": lambda: frame(repeated(b'{"code":1,"a":"', b"a", b'"}')),
    "JSON, escapes": lambda: frame(repeated(b'{"code":1,"a":"', b"\\u0041", b'"}')),
    "JSON, commas in a string": lambda: frame(repeated(b'{"code":1,"a":"', b",", b'"}')),
    "JSON, a frame of fields": lambda: frame(numbered(b'{"code":1,"extFields":{', b'"%d":1,', b'"a":1}}')),
    "JSON, a frame of lists": lambda: frame(repeated(b'{"code":1,"a":[', b"[],", b"[]]}")),
    "JSON, deep values": lambda: frame(repeated(b'{"code":1,"extFields":{', b'"a":' + b"[" * 100 + b"]" * 100 + b",",
                                               b'"b":1}}', 130_000)),
    "JSON, a number of 16 MB": lambda: frame(repeated(b'{"code":', b"9", b"}")),
    "JSON, a number of 16 MB in quotes": lambda: frame(repeated(b'{"code":"', b"0", b'"}')),
    "JSON, a fraction of 16 MB": lambda: frame(repeated(b'{"code":1,"extFields":{"a":1.', b"9", b"}}")),
    "lenient numbers": lambda: frame(
        repeated(b"{'code':1,'extFields':{'a':[", b"1e5,", b"]}}", LENIENT_HEADER_BYTES_MAX)
    ),
    "lenient comments": lambda: frame(repeated(b"{'code':1", b"/**/", b"}", LENIENT_HEADER_BYTES_MAX)),
}  # fmt: skip

BODIES: dict[str, Callable[[], bytes]] = {
    "empty topics": lambda: plain(numbered(TABLE, b'"%d":{},', b'"a":{}}}}')),
    "as many empty topics as there may be": lambda: plain(numbered(TABLE, b'"%d":{},', b'"a":{}}}}', BLOCKS_MAX * 11)),
    "topics of two members": lambda: plain(numbered(TABLE, b'"%d":{"topicName":"a"},', b'"a":{}}}}')),
    "odd topics": lambda: plain(numbered(TABLE, b'"%d":{"perm":"6"},', b'"a":{}}}}', 2_300_000)),
    "as many odd topics as there may be": lambda: plain(
        numbered(TABLE, b'"%d":{"perm":"6"},', b'"a":{}}}}', ODD_VALUES_MAX * 20)
    ),
    "queue ids": lambda: plain(numbered(MAPPINGS + b'"a":{"currIdMap":{', b"%d:1,", b'"0":0}}}}}', 2_000_000)),
    "as many topics as there may be, and queue ids": lambda: topics_and_ids(BLOCKS_MAX, 240_000),
    "topics, and queue ids beyond the limit": lambda: topics_and_ids(BLOCKS_MAX, 260_000),
    "topics, and static topics that are refused at last": lambda: topics_and_ids(5_000, 220_000, b',"epoch":"x"'),
    "odd queue ids": lambda: plain(numbered(MAPPINGS + b'"a":{"currIdMap":{', b'"+%d":1,', b'"0":0}}}}}', 2_000_000)),
    "lists": lambda: filters(b"[],"),
    "as many lists as there may be": lambda: filters(b"[],", 740_000),
    "numbers": lambda: filters(b"1,", 990_000),
    "lenient numbers": lambda: filters(b"1e5,", LENIENT_BYTES_MAX),
    "lenient objects": lambda: filters(b"{1:'a'},", LENIENT_BYTES_MAX),
    "no JSON: zeros": lambda: plain(bytes(ROOM)),
    "no JSON: quotes": lambda: plain(b'"' * ROOM),
    "no JSON: backslashes": lambda: plain(b'{"a":"' + b"\\" * ROOM),
    "no JSON: brackets": lambda: plain(b"[" * ROOM),
    "no JSON: keys": lambda: plain(b",1" * (ROOM // 2)),
    "no JSON: blanks": lambda: plain(b"{" + b", " * (ROOM // 2)),
    "topic lines": lambda: compressed([b"T%06d 1 1 1 SINGLE_TAG" % n for n in range(BLOCKS_MAX)]),
    "odd topic lines": lambda: compressed([b"T%06d +1 +1 01 SINGLE_TAG" % n for n in range(BLOCKS_MAX)]),
    "topic lines, the last one wrong": lambda: compressed([b"T 1 1 1 SINGLE_TAG"] * (BLOCKS_MAX - 1) + [b"T" * 20]),
    "static topics": lambda: compressed(mappings=[mapping(number) for number in range(MAPPINGS_MAX)]),
    "lenient static topics": lambda: compressed(mappings=[b"{'topic':'M'}".ljust(3000)] * MAPPINGS_MAX),
    "31 MB of zeros": lambda: registration(zlib.compress(bytes(INFLATED_BYTES_MAX - 1_000_000), PACKED_LITTLE), "true"),
    "31 MB of topic lines": lambda: compressed([b"T%06d 1 1 1 SINGLE_TAG ".ljust(315)] * (BLOCKS_MAX - 1)),
}


def every() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """All of them by name."""
    yield from ((f"header: {name}", make) for name, make in HEADERS.items())
    yield from ((f"body: {name}", make) for name, make in BODIES.items())
