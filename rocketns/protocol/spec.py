"""The binary layouts as Construct declarations. They are the written definition: tests compare the codecs with them.

`rocketns decode` reads frames by them. The server does not import this module. Construct takes about 16 µs for each
field, and its results are reference cycles, which keep the whole input in memory until the garbage collector runs. The
declarations describe layouts only; the readers say which values they refuse. Integers are big-endian.
Sources: RemotingCommand, RocketMQSerializable and RegisterBrokerBody of RocketMQ 5.5.0.
"""

from __future__ import annotations

from typing import Any

from construct import (
    BitStruct,
    Bytes,
    Check,
    Construct,
    Default,
    ExplicitError,
    If,
    Int8ub,
    Int16sb,
    Int16ub,
    Int24ub,
    Int32sb,
    Nibble,
    Rebuild,
    RepeatUntil,
    StreamError,
    Struct,
    Tell,
    len_,
    this,
)

from rocketns.protocol.bounds import (
    BLOCK_BYTES_MAX,
    BLOCKS_MAX,
    EXT_PAIRS_MAX,
    MAPPING_BYTES_MIN,
    MAPPINGS_MAX,
    TOPIC_LINE_BYTES_MIN,
)

# NettyDecoder and RemotingCommand.decode: total length, then one word of serialize type and header length.
FRAME_HEAD = Struct(
    "length" / Int32sb,
    "serialize_type" / Int8ub,
    Check(this.serialize_type <= 1),
    "header_length" / Int24ub,
)

# RocketMQSerializable.readStr: the limit of every length is the length of the section that the string is in.
EXT_PAIR = Struct(
    "key_length" / Rebuild(Int16sb, len_(this.key)),
    Check(lambda ctx: ctx.key_length <= ctx._.ext_length),
    "key" / Bytes(this.key_length),
    "value_length" / Rebuild(Int32sb, len_(this.value)),
    Check(lambda ctx: ctx.value_length <= ctx._.ext_length),
    "value" / Bytes(this.value_length),
)


def _ext_bytes(context: Any) -> int:
    return sum(6 + len(pair["key"]) + len(pair["value"]) for pair in context.ext)


def _ext_complete(_pair: Any, pairs: Any, context: Any) -> bool:
    if len(pairs) > EXT_PAIRS_MAX:
        raise ExplicitError(f"more than {EXT_PAIRS_MAX} fields")
    return bool(context._io.tell() >= context.ext_start + context.ext_length)


# RocketMQSerializable.rocketMQProtocolDecode. Parse with header_length=H, over the header and the body: Java does not
# stop at H. `end` is where the fields end and the body begins. Build with header_length=HEADER_MAX.
BINARY_HEADER = Struct(
    "code" / Int16sb,
    "language" / Int8ub,
    "version" / Int16sb,
    "opaque" / Int32sb,
    "flag" / Int32sb,
    "remark_length" / Rebuild(Int32sb, len_(this.remark)),
    Check(lambda ctx: ctx.remark_length <= ctx._params.header_length),
    "remark" / Default(Bytes(this.remark_length), b""),
    "ext_length" / Rebuild(Int32sb, _ext_bytes),
    Check(lambda ctx: ctx.ext_length <= ctx._params.header_length),
    "ext_start" / Tell,
    "ext" / If(this.ext_length > 0, RepeatUntil(_ext_complete, EXT_PAIR)),
    "end" / Tell,
)
HEADER_MAX = (1 << 24) - 1

_BLOCK = Struct(
    "length" / Rebuild(Int32sb, len_(this.data)), Check(this.length <= BLOCK_BYTES_MAX), "data" / Bytes(this.length)
)


class Blocks(Construct):  # type: ignore[misc]
    """The data of ``count`` `_BLOCK`s, each of at least ``bytes_min`` bytes.

    Means the same as Array(count, _BLOCK), but is faster: brokers send 10,000 blocks, and hostile peers millions.
    """

    def __init__(self, bytes_min: int) -> None:
        super().__init__()
        self.bytes_min = bytes_min

    def _parse(self, stream: Any, context: Any, path: str) -> list[bytes]:
        return [self._read(stream, path) for _ in range(context.count)]  # Java's loops take a negative count too

    def _read(self, stream: Any, path: str) -> bytes:
        head: bytes = stream.read(4)
        length = int.from_bytes(head, "big", signed=True)
        data: bytes = stream.read(max(0, length))
        if len(head) < 4 or not self.bytes_min <= length <= BLOCK_BYTES_MAX or len(data) < length:
            raise StreamError(f"no block of {self.bytes_min} to {BLOCK_BYTES_MAX} bytes", path)
        return data

    def _build(self, obj: Any, stream: Any, _context: Any, _path: str) -> Any:
        for data in obj:
            stream.write(len(data).to_bytes(4, "big") + data)
        return obj


def _blocks(bytes_min: int, most: int) -> Any:
    return Struct(
        "count" / Rebuild(Int32sb, len_(this.blocks)),
        Check(this.count <= most),
        "blocks" / Blocks(bytes_min),
    )


# RegisterBrokerBody.decode of a compressed body, after inflating. With mappings=True for brokers from V5_0_0.
COMPRESSED_REGISTRATION = Struct(
    "data_version" / _BLOCK,
    "topics" / _blocks(TOPIC_LINE_BYTES_MIN, BLOCKS_MAX),
    "filter_servers" / _BLOCK,
    "mappings" / If(this._params.mappings, _blocks(MAPPING_BYTES_MIN, MAPPINGS_MAX)),
)

# PROXY protocol, version 2: the fixed part of the header, which addresses and extensions follow.
PROXY_V2_HEAD = Struct(
    "signature" / Bytes(12),
    "version_command" / BitStruct("version" / Nibble, "command" / Nibble),
    "family_transport" / BitStruct("family" / Nibble, "transport" / Nibble),
    "length" / Int16ub,
)
