"""RemotingCommand: one frame as a value, decoded from bytes; `encoding` is the way back.

Sources: RemotingCommand.decode, RocketMQSerializable, LanguageCode of RocketMQ 5.5.0.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from construct import ConstructError

from rocketns.errors import BodyDecodeError, MalformedFrame
from rocketns.protocol import fastjson, spec
from rocketns.protocol.codes import LanguageCode, SerializeType
from rocketns.protocol.lenient import NumberText

# Headers are decoded while they are read, before their connection has to wait for its turn.
LENIENT_HEADER_BYTES_MAX = 16 * 1024

FLAG_RESPONSE = 1 << 0
FLAG_ONEWAY = 1 << 1

# RemotingCommand.requestId: what a header without `opaque` gets, and every request of the server's own.
_request_ids = itertools.count()


def next_request_id() -> int:
    """RemotingCommand.createNewRequestId; wraps around as a Java int."""
    return next(_request_ids) & 0x7FFFFFFF


@dataclass(slots=True)
class RemotingCommand:
    """A request as it came. ``ext_fields`` is None where the request had no map at all; ``body`` None where empty.

    ``data`` is the body as it lies in the frame, which may be megabytes that are not worth a copy.
    """

    code: int
    version: int
    opaque: int
    flag: int
    ext_fields: dict[str, str | None] | None
    data: bytes | memoryview | None
    language: str | None = "JAVA"

    @property
    def body(self) -> bytes | None:
        return None if self.data is None else bytes(self.data)

    @property
    def is_response(self) -> bool:
        return bool(self.flag & FLAG_RESPONSE)

    @property
    def is_oneway(self) -> bool:
        return bool(self.flag & FLAG_ONEWAY)

    def ext(self, name: str) -> str | None:
        """One ext field, None when it or the whole map is missing."""
        return None if self.ext_fields is None else self.ext_fields.get(name)


@dataclass(slots=True)
class Reply:
    """What a processor answers. ``ext_fields`` None leaves the key out; ``{}`` writes it (a header was made).

    ``after``, where given, is called once, with what to call when the answer may be sent: with None, or with the remark
    of the SYSTEM_ERROR that is answered instead.
    """

    code: int = 0
    remark: str | None = None
    ext_fields: dict[str, str | None] | None = None
    body: bytes | None = None
    after: Callable[[Callable[[str | None], None]], None] | None = field(default=None, compare=False, repr=False)


def decode(frame: bytes | memoryview) -> RemotingCommand:
    """A whole frame, length field included, whose size `next_frame` found. MalformedFrame where Java closes."""
    try:
        head = spec.FRAME_HEAD.parse(bytes(frame[:8]))
        body_start = 8 + head.header_length
        if body_start > len(frame):
            raise MalformedFrame("the header is longer than the frame")
        if head.serialize_type == SerializeType.ROCKETMQ:
            return _decode_binary(bytes(frame[8:]), head.header_length)
        header = bytes(frame[8:body_start])
        command = fastjson.read(header, _command_of, numeric_keys=False, lenient_bytes_max=LENIENT_HEADER_BYTES_MAX)
    except ConstructError as error:
        raise MalformedFrame(f"header: {error}") from error
    except BodyDecodeError as error:
        raise MalformedFrame(f"JSON header: {error}") from error
    command.data = frame[body_start:] if body_start < len(frame) else None
    return command


def _decode_binary(data: bytes, header_length: int) -> RemotingCommand:
    header = spec.BINARY_HEADER.parse(data, header_length=header_length)
    pairs = header.ext or ()
    # a zero length is Java's null: such a value is as good as absent, such a key can never be asked for
    ext = {_utf8(p.key): _utf8(p.value) or None for p in pairs if p.key} if header.ext_length > 0 else None
    body_length = len(data) - header_length
    body = data[header.end : header.end + body_length]
    if len(body) < body_length:
        raise MalformedFrame("the header's fields reach into the body")
    return RemotingCommand(
        header.code, header.version, header.opaque, header.flag, ext, body or None, _language(header.language)
    )


def _utf8(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _language(code: int) -> str | None:
    return LanguageCode(code).name if code in LanguageCode._value2member_map_ else None


def _command_of(value: Any) -> RemotingCommand:
    fields = fastjson.as_object(value)
    if fields is None:
        raise MalformedFrame("the header is null")
    ext = fastjson.as_object(fields.get("extFields"))
    ext_texts = None if ext is None else {key: fastjson.exact_text(item) for key, item in ext.items()}
    _check_enum(fields.get("serializeTypeCurrentRPC"), len(SerializeType))
    return RemotingCommand(
        code=fastjson.as_int(fields.get("code")),
        version=fastjson.as_int(fields.get("version")),
        opaque=fastjson.as_int(fields["opaque"]) if "opaque" in fields else next_request_id(),
        flag=fastjson.as_int(fields.get("flag")),
        ext_fields=ext_texts,
        data=None,
        language=_check_enum(fields.get("language", "JAVA"), len(LanguageCode)),
    )


def _check_enum(value: Any, ordinals: int) -> str | None:
    """JSONReader's enum rule: any text passes, a number must be an ordinal, nothing else is taken."""
    if value is None:
        return None
    if isinstance(value, str) and not isinstance(value, NumberText):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BodyDecodeError("an enum is text or an ordinal")
    ordinal = fastjson.as_int(value)
    if not 0 <= ordinal < ordinals:
        raise BodyDecodeError(f"no enum ordinal {ordinal}")
    return LanguageCode(ordinal).name
