"""The binary layouts as Construct declarations: written definition, parser of the control lane, and test oracle.

Only layouts live here; which values are refused beyond the layout is said where they are read. Integers are big-endian.
Sources: RemotingCommand, RocketMQSerializable and RegisterBrokerBody of RocketMQ 5.5.0.
"""

from __future__ import annotations

from typing import Any

from construct import (
    Array,
    Bytes,
    Check,
    Default,
    ExplicitError,
    If,
    Int8ub,
    Int16sb,
    Int24ub,
    Int32sb,
    Rebuild,
    RepeatUntil,
    Struct,
    Tell,
    len_,
    this,
)

# NettyDecoder and RemotingCommand.decode: total length, then one word of serialize type and header length.
FRAME_HEAD = Struct(
    "length" / Int32sb,
    "serialize_type" / Int8ub,
    Check(this.serialize_type <= 1),
    "header_length" / Int24ub,
)

# Java takes as many as a frame holds, but a request has a dozen, and each costs some microseconds here.
EXT_PAIRS_MAX = 1024

# RocketMQSerializable.readStr: every length is checked against a limit, the whole section that the string is in.
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


# RocketMQSerializable.rocketMQProtocolDecode. Parse with header_length=H, over the header and what follows it: Java
# does not stop at H, so `end` says where the fields ended and the body begins. Build with header_length=HEADER_MAX.
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

_BLOCK = Struct("length" / Int32sb, "data" / Bytes(this.length))


def _count(context: Any) -> int:
    return max(0, int(context.count))  # Java's loops do not run for a negative count


# RegisterBrokerBody.decode of a compressed body, after inflating. Parse with mappings=True for brokers from V5_0_0.
COMPRESSED_REGISTRATION = Struct(
    "data_version" / _BLOCK,
    "topics" / Struct("count" / Int32sb, "lines" / Array(_count, _BLOCK)),
    "filter_servers" / _BLOCK,
    "mappings" / If(this._params.mappings, Struct("count" / Int32sb, "infos" / Array(_count, _BLOCK))),
)
