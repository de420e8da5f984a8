"""Encodes commands as Java does: answers, and the few requests that a name server sends.

Sources: RemotingCommand.encode and encodeHeader, RocketMQSerializable.rocketMQProtocolEncode.
"""

from __future__ import annotations

import struct
from typing import Any

from rocketns.protocol.codes import V5_5_0, LanguageCode, SerializeType
from rocketns.protocol.command import FLAG_ONEWAY, FLAG_RESPONSE, Reply, next_request_id
from rocketns.protocol.json import fastjson

HEADER_BYTES_MAX = (1 << 24) - 1

# `rocketns.protocol.spec` has the layouts.
_HEAD = struct.Struct(">iI")
_BEFORE_REMARK = struct.Struct(">hBhii")
_LENGTH = struct.Struct(">i")
_KEY_LENGTH = struct.Struct(">h")


def _frame(
    serialize_type: SerializeType, version: int, code: int, flag: int, opaque: int, remark: str | None,
    ext_fields: dict[str, str | None] | None, body: bytes = b"",
) -> bytes:  # fmt: skip
    """The whole frame, of language JAVA. ValueError for a header that is too long."""
    ext = None if ext_fields is None else {key: text for key, text in ext_fields.items() if text is not None}
    if serialize_type == SerializeType.JSON:
        fields: dict[str, Any] = {"code": code}
        if ext is not None:
            fields["extFields"] = ext
        fields |= {"flag": flag, "language": "JAVA", "opaque": opaque}
        if remark is not None:
            fields["remark"] = remark
        fields |= {"serializeTypeCurrentRPC": "JSON", "version": version}
        header = fastjson.dumps(fields)
    else:
        header = _binary(_BEFORE_REMARK.pack(code, LanguageCode.JAVA, version, opaque, flag), remark or "", ext or {})
    if len(header) > HEADER_BYTES_MAX:
        raise ValueError(f"the header has {len(header)} bytes, and at most {HEADER_BYTES_MAX} are possible")
    word = serialize_type << 24 | len(header)
    return b"".join((_HEAD.pack(4 + len(header) + len(body), word), header, body))


def _binary(fixed: bytes, remark: str, ext_fields: dict[str, str]) -> bytes:
    text, pairs = _utf8(remark), [(_utf8(key), _utf8(value)) for key, value in ext_fields.items()]
    ext = b"".join(
        part for key, value in pairs for part in (_KEY_LENGTH.pack(len(key)), key, _LENGTH.pack(len(value)), value)
    )
    return b"".join((fixed, _LENGTH.pack(len(text)), text, _LENGTH.pack(len(ext)), ext))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def encode_reply(reply: Reply, opaque: int, serialize_type: SerializeType, version: int = V5_5_0) -> bytes:
    """The whole frame of an answer."""
    return _frame(serialize_type, version, reply.code, FLAG_RESPONSE, opaque, reply.remark, reply.ext_fields,
                  reply.body or b"")  # fmt: skip


def encode_request(
    code: int,
    ext_fields: dict[str, str | None],
    serialize_type: SerializeType,
    *,
    oneway: bool = False,
    version: int = V5_5_0,
) -> tuple[int, bytes]:
    """The opaque and the whole frame of a new request without a body."""
    opaque = next_request_id()
    return opaque, _frame(serialize_type, version, code, FLAG_ONEWAY if oneway else 0, opaque, None, ext_fields)
