"""Encodes commands as Java does: answers, and the few requests that a name server sends.

Sources: RemotingCommand.encode and encodeHeader, RocketMQSerializable.rocketMQProtocolEncode.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
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


@dataclass(slots=True, frozen=True)
class _Header:
    code: int
    flag: int
    opaque: int
    remark: str | None
    ext_fields: dict[str, str | None] | None
    version: int

    def frame(self, serialize_type: SerializeType, body: bytes = b"") -> bytes:
        """The whole frame. ValueError for a header that is too long."""
        header = self._json() if serialize_type == SerializeType.JSON else self._binary()
        if len(header) > HEADER_BYTES_MAX:
            raise ValueError(f"the header has {len(header)} bytes, and at most {HEADER_BYTES_MAX} are possible")
        word = serialize_type << 24 | len(header)
        return b"".join((_HEAD.pack(4 + len(header) + len(body), word), header, body))

    def _json(self) -> bytes:
        fields: dict[str, Any] = {"code": self.code}
        if self.ext_fields is not None:
            fields["extFields"] = {key: value for key, value in self.ext_fields.items() if value is not None}
        fields |= {"flag": self.flag, "language": "JAVA", "opaque": self.opaque}
        if self.remark is not None:
            fields["remark"] = self.remark
        fields |= {"serializeTypeCurrentRPC": "JSON", "version": self.version}
        return fastjson.dumps(fields)

    def _binary(self) -> bytes:
        remark = _utf8(self.remark or "")
        pairs = [(_utf8(key), _utf8(text)) for key, text in (self.ext_fields or {}).items() if text is not None]
        ext = b"".join(
            part for key, text in pairs for part in (_KEY_LENGTH.pack(len(key)), key, _LENGTH.pack(len(text)), text)
        )
        fixed = _BEFORE_REMARK.pack(self.code, LanguageCode.JAVA, self.version, self.opaque, self.flag)
        return b"".join((fixed, _LENGTH.pack(len(remark)), remark, _LENGTH.pack(len(ext)), ext))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def encode_reply(reply: Reply, opaque: int, serialize_type: SerializeType, version: int = V5_5_0) -> bytes:
    """The whole frame of an answer: flag 1, language JAVA."""
    header = _Header(reply.code, FLAG_RESPONSE, opaque, reply.remark, reply.ext_fields, version)
    return header.frame(serialize_type, reply.body or b"")


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
    header = _Header(code, FLAG_ONEWAY if oneway else 0, opaque, None, ext_fields, version)
    return opaque, header.frame(serialize_type)
